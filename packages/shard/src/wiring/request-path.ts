import type { Runnable } from '@multiplane/component-base';
import {
  type AuditModules,
  ConnectionTable,
  defaultConnectionLimits,
  defaultReauthorizerOptions,
  Draining,
  Reauthorizer,
  StartupGate,
  webhookPolicy,
} from '@multiplane/generic-server';
import { RequestDispatcher } from '../embedded-servers.ts';
import { onPermissionChange } from '../authorization/on-permission-change.ts';
import { HomeWorkspaces } from '../home-workspaces.ts';
import { InactiveClusters } from '../inactive-clusters.ts';
import { mountIdentity } from '../mounts/mount-identity.ts';
import { MountProxy } from '../mounts/mount-proxy.ts';
import type { ShardOptions } from '../options.ts';
import { rootShardName } from '../sharding-options.ts';
import type { ShardUrls } from '../sharding/shard-urls.ts';
import { virtualResources, type VirtualResources } from './virtual-resources.ts';
import type { AccessControl } from './access-control.ts';
import { shardAudit } from './audit.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ReadPath } from './read-path.ts';
import { requestChain, type RequestChains, type RequestFilters } from './request-chain.ts';
import type { WritePath } from './write-path.ts';

export interface RequestPath extends RequestFilters {
  readonly audit: (AuditModules & { readonly runnable: Runnable }) | undefined;
  readonly chains: RequestChains;
  readonly virtualResources: VirtualResources;
}

interface Modules extends Infrastructure, ReadPath, AccessControl, WritePath {
  /** Version of this program. */
  readonly version: string;
  readonly urls: () => ShardUrls;
}

/** The handler chain of the shard, and the filters with state of their own. */
export function requestPath(options: ShardOptions, modules: Modules): RequestPath {
  const { clusters, informers, clock, logger, urls } = modules;
  const draining = new Draining();
  const reauthorizer = new Reauthorizer(defaultReauthorizerOptions, { clock });
  onPermissionChange(modules.globalInformers, reauthorizer.permissionsChanged);
  const filters = {
    connections: new ConnectionTable(defaultConnectionLimits),
    draining,
    reauthorizer,
    starting: new StartupGate(),
    audit: shardAudit(options, { clusters, clock, logger, writeOut: (text) => void process.stdout.write(text) }),
    inactive: new InactiveClusters({ clusters, informers, draining }),
    mounts: mountProxy(options, modules),
    home: homeWorkspaces(options, modules),
  };
  const virtual = virtualResources(options, modules);
  const externalUrl = (): string => urls().externalURL;
  const chains = requestChain(options, { ...modules, ...filters, virtualResources: virtual, externalUrl });
  const dispatcher = new RequestDispatcher(chains.shard);
  filters.mounts?.adopt((exchange, user, url) => dispatcher.dispatch(exchange, user, url));
  return { ...filters, virtualResources: virtual, chains };
}

function mountProxy(options: ShardOptions, modules: Modules): MountProxy | undefined {
  if (!options.features.enabled('WorkspaceMounts')) return undefined;
  const { urls } = modules;
  return new MountProxy(
    {
      ownOrigins: () => [urls().baseURL, urls().externalURL].map((url) => new URL(url).origin),
      forwardsIdentity: options.mountProxyClientCertFile !== undefined,
    },
    { identity: mountIdentity(options, modules), policy: webhookPolicy(options) },
  );
}

function homeWorkspaces(options: ShardOptions, modules: Modules): HomeWorkspaces | undefined {
  if (!options.enableHomeWorkspaces || options.shardName !== rootShardName) return undefined;
  return new HomeWorkspaces(
    { shardName: options.shardName },
    { ...modules, authorizer: modules.authorization.requests },
  );
}
