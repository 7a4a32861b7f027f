import {
  configuredAudit,
  ConnectionTable,
  defaultConnectionLimits,
  defaultHttpServerOptions,
  Draining,
  HttpServer,
  outerApplication,
  RequestMetrics,
  versionInfo,
  watchServingCertificate,
} from '@multiplane/apiserver';
import { RemoteInformerFactory, RestClient, RestTransport, watchClientConfig } from '@multiplane/client';
import {
  CertificateWatcher,
  EventLoopMonitor,
  HealthChecks,
  Lifecycle,
  MetricsRegistry,
  systemClock,
  type Logger,
} from '@multiplane/component-base';
import { AccessReviewer, apiSetHandler, TokenReviewer, VirtualWorkspaceServer } from '@multiplane/virtual-framework';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, apiExports, apiResourceSchemas } from '@multiplane/apis';
import { ConsumerBindings } from './consumer-bindings.ts';
import { bindingFacts } from './apiexport/export-bindings.ts';
import { localType } from './lifecycle/content.ts';
import type { WorkspaceType } from './lifecycle/lifecycle.ts';
import type { VirtualWorkspacesOptions } from './options.ts';
import { requestAuthentication } from './request-authentication.ts';
import { accessServer } from './shard-access.ts';
import { shardVirtualWorkspaces } from './virtual-workspaces.ts';

export interface VirtualWorkspacesModules {
  readonly logger: Logger;
  /** Ends the server, gracefully. */
  readonly signal: AbortSignal;
  /** Version of this program. */
  readonly version: string;
}

/** How long the shard's answers about rights and tokens are believed: a revoked right is used no longer than this. */
const believed = { allowedTtl: 10_000, deniedTtl: 5_000, tokenTtl: 10_000 };
const workspaceTypes = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspacetypes' };

/**
 * The virtual workspaces of one shard as a process of their own (C8.8): it stores nothing, asks the shard over mTLS, and
 * any number of it may run. Runs until the signal aborts; throws when something failed that it cannot live without.
 */
export async function runVirtualWorkspaces(
  options: VirtualWorkspacesOptions,
  { logger, signal, version }: VirtualWorkspacesModules,
): Promise<void> {
  const clock = systemClock;
  const health = new HealthChecks();
  const registry = new MetricsRegistry();
  const metrics = new RequestMetrics(registry);
  const watcher = new CertificateWatcher({}, { clock, logger });

  // The shard, and whoever knows of the other shards.
  const shard = accessServer(options, { watcher });
  const everywhere =
    options.externalLogicalClusterAdminKubeconfig === undefined
      ? shard
      : accessServer({ kubeconfig: options.externalLogicalClusterAdminKubeconfig }, { watcher });
  const transport = new RestTransport({
    config: () => shard.config.current,
    userAgent: 'virtual-workspaces',
    silenceMs: options.requestTimeout,
  });
  const { cacheKubeconfig } = options;
  const cacheConfig =
    cacheKubeconfig === undefined ? shard.config : watchClientConfig({ file: cacheKubeconfig }, { watcher });
  const cacheTransport = new RestTransport({ config: () => cacheConfig.current, userAgent: 'virtual-workspaces' });
  const cached = new RemoteInformerFactory(
    { pathPrefix: '/services/cache/shards/*' },
    { transport: cacheTransport, clock, logger },
  );
  const types = cached.informer<WorkspaceType>(workspaceTypes);
  // The consumers of this shard; of all that a binding says no more than the views ask for is kept.
  const own = new RemoteInformerFactory({ keep: () => bindingFacts }, { transport, clock, logger });

  const audit = configuredAudit(options, {
    clock,
    logger,
    writeOut: (text) => void process.stdout.write(text),
    // The path of a logical cluster is its shard's to know.
    annotationsOf: ({ info: { cluster } }): Record<string, string> =>
      cluster === undefined || cluster === '*'
        ? {}
        : { 'tenancy.kcp.io/workspace': cluster, 'kcp.io/cluster': cluster },
  });
  const info = versionInfo(version);
  const outer = outerApplication({ health, registry, metrics, logger, version: info });
  const reviewer = new AccessReviewer(believed, { connection: everywhere.connection, clock });
  const connections = new ConnectionTable(defaultConnectionLimits);
  const draining = new Draining();
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
      authenticator: requestAuthentication(options, {
        watcher,
        clock,
        tokens: new TokenReviewer({ ttl: believed.tokenTtl }, { client: new RestClient({ transport }), clock }),
      }),
      onRefused: (error) => logger.debug('credentials refused', { error }),
      delegatedAuthorizer: (exchange) => reviewer.authorizer(exchange),
      // As on a shard: by the RBAC of the root workspace (C1.4).
      metricsAccess: (exchange, user) => reviewer.review(exchange, user, 'root', { verb: 'get', path: '/metrics' }),
      workspaces: shardVirtualWorkspaces({
        connection: shard.connection,
        reviewer,
        clock,
        random: Math.random,
        deepReviewer: new AccessReviewer({ ...believed, deep: true }, { connection: shard.connection, clock }),
        exports: cached.informer(apiExports),
        schemas: cached.informer(apiResourceSchemas),
        bindings: new ConsumerBindings({ informer: own.informer(apiBindings), shard: shard.connection }),
        serve: apiSetHandler({ version: info.gitVersion }, { clock, outer }),
        findType: async (parent, cluster, name) =>
          (await localType(shard, parent, cluster, name)) ??
          (types.get({ cluster: cluster as LogicalClusterName, namespace: '', name }) as WorkspaceType | undefined),
      }),
    },
  );
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
    { connections, handle: root.handle, clock, onHandshakeError: () => metrics.handshakeErrors.add(1) },
  );
  certificate.onChange((changed) => server.reloadCertificate(changed));

  health.add(
    'shard',
    async () => void (await transport.json({ method: 'GET', path: '/version', signal: AbortSignal.timeout(2_000) })),
    { endpoints: ['readyz'] },
  );
  const lifecycle = new Lifecycle(
    { groups: ['clients', 'serving'], shutdownDelay: options.shutdownDelayDuration },
    { logger, health, clock },
  );
  lifecycle.add('clients', new EventLoopMonitor({}, { logger, metrics: registry, clock }));
  lifecycle.add('clients', watcher);
  if (audit !== undefined) lifecycle.add('clients', audit.runnable);
  lifecycle.add('clients', cached);
  lifecycle.add('clients', own);
  lifecycle.add('clients', {
    name: 'connections to the shard',
    start: async () => undefined,
    stop: async () => {
      transport.close();
      cacheTransport.close();
      await Promise.all(new Set([shard, everywhere]).values().map((access) => access.close()));
    },
  });
  lifecycle.add('serving', {
    name: 'listener',
    start: () => server.start(),
    stop: async () => {
      draining.begin();
      await server.stop();
    },
  });
  await lifecycle.run(signal, () => logger.info('ready', { port: server.port, shard: transport.origin }));
}
