import { parseYaml } from '@multiplane/apimachinery';
import { YamlWorker } from '@multiplane/apiserver';
import {
  RemoteInformerFactory,
  RestClient,
  RestClientMetrics,
  RestTransport,
  watchClientConfig,
} from '@multiplane/client';
import {
  openTracer,
  type Tracer,
  addProcessMetrics,
  CertificateWatcher,
  EventLoopMonitor,
  IdleGarbageCollection,
  HealthChecks,
  Lifecycle,
  MetricsRegistry,
  ObjectFaults,
  systemClock,
  type Clock,
  type Logger,
  type Runnable,
} from '@multiplane/component-base';
import {
  auditFromOptions,
  ConnectionTable,
  defaultConnectionLimits,
  defaultHttpServerOptions,
  Draining,
  HttpServer,
  nonResourceEndpoints,
  RequestMetrics,
  versionInfo,
  watchServingCertificate,
} from '@multiplane/generic-server';
import { AccessReviewer, apiSetHandler, TokenReviewer, VirtualWorkspaceServer } from '@multiplane/virtual-framework';
import type { LogicalClusterName } from '@multiplane/apimachinery';
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
import { trimNamespace } from './replication/trim-namespace.ts';
import { ConsumerBindings } from './consumer-bindings.ts';
import { trimBinding } from './apiexport/export-bindings.ts';
import { fetchWorkspaceType } from './lifecycle/workspace-content.ts';
import type { WorkspaceType } from './lifecycle/lifecycle.ts';
import type { VirtualWorkspacesOptions } from './options.ts';
import { requestAuthentication } from './request-authentication.ts';
import { connectServer, type ServerConnection } from './server-connection.ts';
import { shardVirtualWorkspaces } from './virtual-workspaces.ts';

export interface VirtualWorkspacesModules {
  readonly logger: Logger;
  /** Ends the server, gracefully. */
  readonly signal: AbortSignal;
  /** Version of this program. */
  readonly version: string;
}

/** How long access and token reviews are cached; a revoked right stays effective this long. */
const reviewTtls = { allowedTtl: 4_000, deniedTtl: 4_000, tokenTtl: 4_000 };
const namespaces = { group: '', version: 'v1', resource: 'namespaces' };
const workspaceTypes = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspacetypes' };

/**
 * The virtual workspaces of one shard as a process. It stores nothing and accesses the shard over mTLS; any number of
 * instances may run. Runs until the signal aborts; throws on a fatal failure.
 */
export async function runVirtualWorkspaces(
  options: VirtualWorkspacesOptions,
  { logger, signal, version }: VirtualWorkspacesModules,
): Promise<void> {
  const clock = systemClock;
  const health = new HealthChecks();
  const { registry, metrics, faults } = serverMetrics(logger);
  const tracer = await tracerOf(options, version);
  const watcher = new CertificateWatcher({}, { clock, logger });

  const { shard, allShards, transport, cacheTransport } = upstreams(options, { watcher, registry });
  const cached = new RemoteInformerFactory(
    { pathPrefix: '/services/cache/shards/*' },
    { transport: cacheTransport, clock, logger },
  );
  const types = cached.informer<WorkspaceType>(workspaceTypes);
  // Followed once a namespaced virtual resource is read; only the names are kept.
  const ownNamespaces = new RemoteInformerFactory({ transform: () => trimNamespace }, { transport, clock, logger });
  // The consumers of this shard; only the fields that the virtual workspaces read are kept.
  const own = new RemoteInformerFactory({ transform: () => trimBinding }, { transport, clock, logger });

  const sources = new RemoteSources({ transport: cacheTransport, clock, logger, random: Math.random });
  const audit = auditOf(options, { clock, logger });
  const info = versionInfo(version);
  const outer = nonResourceEndpoints({ health, registry, metrics, logger, version: info });
  const reviewer = new AccessReviewer(reviewTtls, { connection: allShards.connection, clock });
  const connections = new ConnectionTable(defaultConnectionLimits);
  const draining = new Draining();
  const yaml = new YamlWorker({ clock });
  const root = new VirtualWorkspaceServer(
    {
      requestTimeoutMs: options.requestTimeout,
      maxReadOnly: options.maxRequestsInflight,
      maxMutating: options.maxMutatingRequestsInflight,
      corsAllowedOrigins: options.corsAllowedOrigins.map((pattern) => new RegExp(pattern)),
      alwaysAllowPaths: options.authorizationAlwaysAllowPaths,
      version: info.gitVersion,
    },
    {
      clock,
      logger,
      metrics,
      draining,
      connections,
      health,
      outer,
      audit,
      tracer,
      authenticator: requestAuthentication(options, {
        watcher,
        clock,
        tokens: new TokenReviewer({ ttl: reviewTtls.tokenTtl }, { client: new RestClient({ transport }), clock }),
      }),
      onAuthenticationFailure: (error) => logger.debug('credentials refused', { error }),
      delegatedAuthorizer: (exchange) => reviewer.authorizer(exchange),
      // As on a shard, RBAC of the root workspace authorizes access to the metrics.
      metricsAccess: (exchange, user) => reviewer.review(exchange, user, 'root', { verb: 'get', path: '/metrics' }),
      workspaces: shardVirtualWorkspaces(
        { ownShard: '', cacheApis: options.features.enabled('CacheAPIs') },
        {
          slices: cached.informer<CachedResourceEndpointSlice>(cachedResourceEndpointSlices),
          cachedResources: cached.informer<CachedResource>(cachedResources),
          namespaces: () => ownNamespaces.informer(namespaces),
          openSource: sources.open,
          connection: shard.connection,
          yaml,
          reviewer,
          ownReviewer: new AccessReviewer(reviewTtls, { connection: shard.connection, clock }),
          clock,
          random: Math.random,
          deepReviewer: new AccessReviewer({ ...reviewTtls, deep: true }, { connection: shard.connection, clock }),
          exports: cached.informer(apiExports),
          scopes: cached.informer(apiExportScopes),
          schemas: cached.informer(apiResourceSchemas),
          bindings: new ConsumerBindings({ informer: own.informer(apiBindings), shard: shard.connection }),
          faults,
          serve: apiSetHandler({ version: info.gitVersion }, { clock, outer, faults }),
          findType: async (parent, cluster, name) =>
            (await fetchWorkspaceType(shard, parent, cluster, name)) ??
            (types.get({ cluster: cluster as LogicalClusterName, namespace: '', name }) as WorkspaceType | undefined),
        },
      ),
    },
  );
  const server = httpServer(options, { watcher, connections, handle: root.handle, clock, metrics });
  health.add('shard', shardCheck(transport), { endpoints: ['readyz'] });
  const clients: Runnable[] = [
    new EventLoopMonitor({}, { logger, metrics: registry, health, clock }),
    new IdleGarbageCollection({ clock }),
    watcher,
    ...[audit?.runnable, tracer].filter((each) => each !== undefined),
    cached,
    own,
    ownNamespaces,
    yaml,
    upstreamConnections([transport, cacheTransport], [shard, allShards, sources]),
  ];
  const lifecycle = new Lifecycle(
    { groups: ['clients', 'serving'], shutdownDelay: options.shutdownDelayDuration },
    { logger, health, clock },
  );
  for (const client of clients) lifecycle.add('clients', client);
  lifecycle.add('serving', listener(server, draining));
  await lifecycle.run(signal, () => logger.info('ready', { port: server.port, shard: transport.origin }));
}

const shardCheck = (transport: RestTransport) => async (): Promise<void> =>
  void (await transport.json({ method: 'GET', path: '/version', signal: AbortSignal.timeout(2_000) }));

/** Closes the connections to other servers when the process stops. */
function upstreamConnections(
  transports: readonly RestTransport[],
  connections: readonly { close(): Promise<void> }[],
): Runnable {
  return {
    name: 'connections to the shard',
    start: async () => undefined,
    stop: async () => {
      for (const transport of transports) transport.close();
      await Promise.all(new Set(connections).values().map((connection) => connection.close()));
    },
  };
}

/** Connections to the shard, to the server for logical clusters of all shards, and to the cache server. */
function upstreams(
  options: VirtualWorkspacesOptions,
  { watcher, registry }: { readonly watcher: CertificateWatcher; readonly registry: MetricsRegistry },
): {
  readonly shard: ServerConnection;
  readonly allShards: ServerConnection;
  readonly transport: RestTransport;
  readonly cacheTransport: RestTransport;
} {
  const shard = connectServer(options, { watcher });
  const allShards =
    options.externalLogicalClusterAdminKubeconfig === undefined
      ? shard
      : connectServer({ kubeconfig: options.externalLogicalClusterAdminKubeconfig }, { watcher });
  const metrics = new RestClientMetrics(registry);
  const userAgent = 'virtual-workspaces';
  const transport = new RestTransport({
    config: () => shard.config.current,
    userAgent,
    idleTimeoutMs: options.requestTimeout,
    metrics,
  });
  const { cacheKubeconfig } = options;
  const cacheConfig =
    cacheKubeconfig === undefined ? shard.config : watchClientConfig({ file: cacheKubeconfig }, { watcher });
  const cacheTransport = new RestTransport({ config: () => cacheConfig.current, userAgent, metrics });
  return { shard, allShards, transport, cacheTransport };
}

function auditOf(
  options: VirtualWorkspacesOptions,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): ReturnType<typeof auditFromOptions> {
  return auditFromOptions(options, {
    clock,
    logger,
    writeOut: (text) => void process.stdout.write(text),
    // Only the shard knows the workspace path of a logical cluster.
    annotationsOf: ({ info: { cluster } }): Record<string, string> =>
      cluster === undefined || cluster === '*'
        ? {}
        : { 'tenancy.kcp.io/workspace': cluster, 'kcp.io/cluster': cluster },
  });
}

/** The HTTPS server, whose certificate is reloaded when its files change. */
function httpServer(
  options: VirtualWorkspacesOptions,
  modules: {
    readonly watcher: CertificateWatcher;
    readonly connections: ConnectionTable;
    readonly handle: VirtualWorkspaceServer['handle'];
    readonly clock: Clock;
    readonly metrics: RequestMetrics;
  },
): HttpServer {
  const { watcher, connections, handle, clock, metrics } = modules;
  const certificate = watchServingCertificate(
    {
      certificateFile: options.tlsCertFile,
      privateKeyFile: options.tlsPrivateKeyFile,
      clientCaFiles: [options.clientCaFile, options.requestheaderClientCaFile].filter((file) => file !== undefined),
    },
    { watcher },
  );
  const server = new HttpServer(
    { ...defaultHttpServerOptions, ...certificate.current, host: options.bindAddress, port: options.securePort },
    { connections, handle, clock, onHandshakeError: () => metrics.handshakeErrors.add(1) },
  );
  certificate.onChange((changed) => server.reloadCertificate(changed));
  return server;
}

const listener = (server: HttpServer, draining: Draining): Runnable => ({
  name: 'listener',
  start: () => server.start(),
  stop: async () => {
    draining.begin();
    await server.stop();
  },
});

const tracerOf = (options: VirtualWorkspacesOptions, version: string): Promise<Tracer | undefined> =>
  openTracer({ ...options, service: 'multiplane-virtual-workspaces', version }, { decode: parseYaml });

function serverMetrics(logger: Logger): {
  readonly registry: MetricsRegistry;
  readonly metrics: RequestMetrics;
  readonly faults: ObjectFaults;
} {
  const registry = new MetricsRegistry();
  addProcessMetrics(registry);
  return { registry, metrics: new RequestMetrics(registry), faults: new ObjectFaults({ logger, registry }) };
}
