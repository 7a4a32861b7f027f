import type { LogicalClusterName } from '@multiplane/apimachinery';
import { type EmbedServer, YamlWorker } from '@multiplane/apiserver';
import { CertificateWatcher, MetricsRegistry } from '@multiplane/component-base';
import {
  ConnectionTable,
  defaultConnectionLimits,
  defaultHandlerChainOptions,
  DispatchedExchange,
  dispatchedAuthenticator,
  Draining,
  nonResourceEndpoints,
  RequestMetrics,
  versionInfo,
} from '@multiplane/generic-server';
import {
  AccessReviewer,
  apiSetHandler,
  DispatchingConnection,
  servicesPrefix,
  VirtualWorkspaceServer,
} from '@multiplane/virtual-framework';
import { ConsumerBindings } from './consumer-bindings.ts';
import type { WorkspaceType } from './lifecycle/lifecycle.ts';
import {
  apiBindings,
  apiExports,
  apiExportScopes,
  apiResourceSchemas,
  cachedResourceEndpointSlices,
  cachedResources,
  type CachedResource,
  type CachedResourceEndpointSlice,
} from '@multiplane/apis';
import { RemoteSources } from './replication/cached-sources.ts';
import { embeddedSources } from './replication/embedded-sources.ts';
import { connectServer } from './server-connection.ts';
import { shardVirtualWorkspaces } from './virtual-workspaces.ts';

export interface EmbeddedVirtualWorkspacesOptions {
  /** Version of this program. */
  readonly version: string;
  /** Kubeconfig for logical clusters of all shards; absent: there is no other shard. */
  readonly externalLogicalClusterAdminKubeconfig?: string | undefined;
  /** Feature gate CacheAPIs; on by default. */
  readonly cacheApis?: boolean | undefined;
}

/** How long review decisions of other shards are cached. */
const reviewTtls = { allowedTtl: 4_000, deniedTtl: 4_000 };
const namespaces = { group: '', version: 'v1', resource: 'namespaces' };
const workspaceTypes = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspacetypes' };

/**
 * The virtual workspaces within a shard's process: like {@link runVirtualWorkspaces}, but requests are forwarded
 * through the shard's handler chain instead of over mTLS.
 */
export function embedVirtualWorkspaces(options: EmbeddedVirtualWorkspacesOptions): EmbedServer {
  return (host) => {
    const { clock, logger, health } = host;
    const connection = new DispatchingConnection({ host });
    const watcher = new CertificateWatcher({}, { clock, logger });
    const { externalLogicalClusterAdminKubeconfig: kubeconfig } = options;
    const allShards = kubeconfig === undefined ? undefined : connectServer({ kubeconfig }, { watcher });
    const ownReviewer = new AccessReviewer(
      // Reviews in process are cheap, so they are not cached and revocations apply immediately.
      { allowedTtl: 0, deniedTtl: 0 },
      { connection, clock, authorizer: host.reviewAuthorizer },
    );
    const reviewer =
      allShards === undefined
        ? ownReviewer
        : new AccessReviewer(reviewTtls, { connection: allShards.connection, clock });
    // Prefixed users have no identity of their own, and this shard knows the RBAC objects of all exports, so it can
    // decide.
    const deepReviewer = new AccessReviewer(
      { allowedTtl: 0, deniedTtl: 0, deep: true },
      { connection, clock, authorizer: host.reviewAuthorizer },
    );
    const types = host.globalInformers.informer<WorkspaceType>(workspaceTypes);
    // The shard records metrics of forwarded requests, so these stay private.
    const registry = new MetricsRegistry();
    const metrics = new RequestMetrics(registry);
    const info = versionInfo(options.version);
    const outer = nonResourceEndpoints({ health, registry, metrics, logger, version: info });
    const draining = new Draining();
    const { cacheServer: transport } = host;
    // Cached objects are read where the shard reads them: from the cache server in another process, else the embedded one.
    const remote =
      transport === undefined ? undefined : new RemoteSources({ transport, clock, logger, random: Math.random });
    const yaml = new YamlWorker({ clock });
    const server = new VirtualWorkspaceServer(
      { ...defaultHandlerChainOptions, alwaysAllowPaths: ['/healthz', '/readyz', '/livez'], version: info.gitVersion },
      {
        clock,
        logger,
        metrics,
        draining,
        // The shard tracks the connections.
        connections: new ConnectionTable(defaultConnectionLimits),
        health,
        audit: host.audit,
        tracer: host.tracer,
        authenticator: {
          authenticate: (exchange, request) =>
            dispatchedAuthenticator.authenticate(exchange, request) ??
            host.authenticator.authenticate(exchange, request),
        },
        onAuthenticationFailure: (error) => logger.debug('credentials refused', { error }),
        delegatedAuthorizer: (exchange) => reviewer.authorizer(exchange),
        workspaces: shardVirtualWorkspaces(
          { ownShard: host.shardName, cacheApis: options.cacheApis ?? true },
          {
            slices: host.globalInformers.informer<CachedResourceEndpointSlice>(cachedResourceEndpointSlices),
            cachedResources: host.globalInformers.informer<CachedResource>(cachedResources),
            namespaces: () => host.informers.informer(namespaces),
            openSource: remote?.open ?? embeddedSources(host),
            connection,
            yaml,
            reviewer,
            ownReviewer,
            clock,
            random: Math.random,
            deepReviewer,
            exports: host.globalInformers.informer(apiExports),
            scopes: host.globalInformers.informer(apiExportScopes),
            schemas: host.globalInformers.informer(apiResourceSchemas),
            bindings: new ConsumerBindings({ informer: host.informers.informer(apiBindings) }),
            faults: host.faults,
            serve: apiSetHandler({ version: info.gitVersion }, { clock, outer, faults: host.faults }),
            findType: async (_parent, cluster, name) =>
              types.get({ cluster: cluster as LogicalClusterName, namespace: '', name }) as WorkspaceType | undefined,
          },
        ),
      },
    );
    const end = {
      name: 'virtual workspaces',
      start: async (): Promise<void> => undefined,
      stop: async (): Promise<void> => {
        draining.begin();
        await yaml.stop();
        await remote?.close();
        await allShards?.close();
      },
    };
    return {
      pathPrefix: servicesPrefix,
      runnables: [watcher, end],
      handle: server.handle,
      dispatch: (exchange, user, url) => server.handle(new DispatchedExchange(exchange, url, user)),
    };
  };
}
