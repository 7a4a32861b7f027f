import type { UserInfo } from '@multiplane/apimachinery';
import { isCachedResourceStorage } from '@multiplane/apis';
import { clusterServedApis, loopbackUser, type ServedApisOf } from '@multiplane/apiserver';
import { webhookPolicy } from '@multiplane/generic-server';
import type { ShardOptions } from '../options.ts';
import { servicesIdentity } from '../services/services-identity.ts';
import type { ShardUrls } from '../sharding/shard-urls.ts';
import { VirtualResourceBackends, type ExternalServers } from '../virtual-resources/virtual-resource-backends.ts';
import { VirtualResourceDiscovery } from '../virtual-resources/virtual-resource-discovery.ts';
import { VirtualResourceEndpoints } from '../virtual-resources/virtual-resource-endpoints.ts';
import { VirtualResourceProxy } from '../virtual-resources/virtual-resource-proxy.ts';
import { storedServedApis, virtualServedApis } from '../virtual-resources/virtual-served-apis.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ReadPath } from './read-path.ts';

export interface VirtualResources {
  readonly proxy: VirtualResourceProxy;
  readonly backends: VirtualResourceBackends;
  /** The APIs of discovery. */
  readonly servedApisOf: ServedApisOf;
}

interface Modules extends Infrastructure, ReadPath {
  readonly urls: () => ShardUrls;
}

/** A change of verbs at an endpoint is in discovery after this time. */
const discoveryTtlMs = 10_000;
const discoveryRetryMs = 1_000;
/** The user of discovery requests at servers of tenants, which must not see an administrator. */
const discoveryUser: UserInfo = Object.freeze({
  name: 'system:kcp:virtual-resource-discovery',
  uid: '',
  groups: Object.freeze(['system:authenticated']),
  extra: Object.freeze({}),
});

/** Requests to virtual resources and their discovery. */
export function virtualResources(options: ShardOptions, modules: Modules): VirtualResources {
  const { globalInformers, resolver, clock, urls } = modules;
  const external = externalServers(options, modules);
  const endpoints = new VirtualResourceEndpoints(
    {
      shardName: options.shardName,
      virtualWorkspaceUrl: () => urls().virtualWorkspaceURL,
      allowsExternal: external !== undefined,
    },
    { globalInformers },
  );
  const backends = new VirtualResourceBackends({
    ...(options.runVirtualWorkspaces ? {} : { identity: servicesIdentity(options, modules) }),
    external,
  });
  const discovery = new VirtualResourceDiscovery(
    { ttl: discoveryTtlMs, retryInterval: discoveryRetryMs },
    {
      clock,
      endpoints: (resource, virtual) => endpoints.of(resource, virtual),
      document: (found, path, virtual) =>
        backends.document(found, path, isCachedResourceStorage(virtual) ? loopbackUser : discoveryUser),
    },
  );
  return {
    proxy: new VirtualResourceProxy({ endpoints, backends, resolver }),
    backends,
    servedApisOf: options.features.enabled('CacheAPIs')
      ? virtualServedApis({ servedApisOf: clusterServedApis(resolver), discovery })
      : storedServedApis(clusterServedApis(resolver)),
  };
}

/** Undefined unless the operator configured a CA for such servers. */
function externalServers(options: ShardOptions, { certificates }: Modules): ExternalServers | undefined {
  const { virtualResourceCaFile: ca, virtualResourceClientCertFile: cert, virtualResourceClientKeyFile: key } = options;
  if (ca === undefined) return undefined;
  return {
    identity: certificates.watch('virtual resource servers', (read) => ({
      ca: read(ca),
      ...(cert === undefined || key === undefined ? {} : { cert: read(cert), key: read(key) }),
    })),
    forwardsIdentity: cert !== undefined,
    policy: webhookPolicy(options),
  };
}
