import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import {
  AdmissionChain,
  BodyDecoder,
  buildHandlerChain,
  CacheInformerFactory,
  CertificateApproval,
  CertificateSigning,
  CertificateSubjectRestriction,
  clusterOfToken,
  ConnectionTable,
  DecodedObjects,
  defaultConnectionLimits,
  defaultHandlerChainOptions,
  defaultHttpServerOptions,
  DefinitionResolver,
  discoveryHandler,
  Draining,
  HttpServer,
  LoopbackClient,
  NamespaceLifecycle,
  ObjectReader,
  ObjectStore,
  openapiHandler,
  outerApplication,
  RbacEscalationCheck,
  RequestMetrics,
  resourceHandler,
  ResourceQuotaAdmission,
  reviewHandlers,
  TerminatingDefinition,
  WatchHub,
  withImpersonation,
  YamlWorker,
  type AdmissionPlugin,
  type EmbedServer,
  type HandlerChainModules,
} from '@multiplane/apiserver';
import { builtInResources, CustomResources, tokenRequestKind } from '@multiplane/apis';
import {
  EventLoopMonitor,
  HealthChecks,
  Lifecycle,
  MetricsRegistry,
  systemClock,
  type Logger,
} from '@multiplane/component-base';
import { openWatchCache } from '@multiplane/storage';
import { LogicalClusterAdmission } from './admission/logical-cluster-admission.ts';
import { WorkspaceAdmission } from './admission/workspace-admission.ts';
import { writeAdminKubeconfig } from './authentication/admin-kubeconfig.ts';
import { impersonationPolicy } from './authentication/impersonation-policy.ts';
import { shardAuthentication } from './authentication/shard-authentication.ts';
import { shardAuthorization } from './authorization/shard-authorization.ts';
import { bootstrapFlowControl, bootstrapPolicy, bootstrapRoot } from './bootstrap/bootstrap.ts';
import { EmbeddedServers, RequestDispatcher } from './embedded-servers.ts';
import { shardControllers } from './install-controllers.ts';
import { LogicalClusterIndex } from './logical-cluster-index.ts';
import type { ShardOptions } from './options.ts';
import { prepareServingFiles } from './serving-files.ts';
import { openStorageBackend } from './storage-backend.ts';

export interface ShardModules {
  readonly logger: Logger;
  /** Ends the shard, gracefully. */
  readonly signal: AbortSignal;
  /** Version of this program. */
  readonly version: string;
  /** Servers that run inside the shard's process (the cache server and the virtual workspaces of `start`). */
  readonly embedded?: readonly EmbedServer[] | undefined;
}

/** The Kubernetes version whose API is spoken. */
const kubernetesVersion = { major: '1', minor: '36', patch: '0' };
/** Parsed objects kept for reads that must transform, for controllers and for admission. */
const decodedBytes = 64 * 1024 * 1024;

/**
 * One shard, wired from its parts: store → watch cache → registry → chain → listener, and the controllers beside them.
 * Runs until the signal aborts; throws when something failed that it cannot live without.
 */
export async function runShard(options: ShardOptions, modules: ShardModules): Promise<void> {
  const { logger, signal, version } = modules;
  const clock = systemClock;
  await mkdir(options.rootDirectory, { recursive: true, mode: 0o700 });
  const [files, storage] = await Promise.all([prepareServingFiles(options, clock.now()), openStorageBackend(options)]);

  // Reading: the store, the cache in front of it, and what the cache's bytes mean.
  const health = new HealthChecks();
  const registry = new MetricsRegistry();
  const metrics = new RequestMetrics(registry);
  const cache = openWatchCache(
    {},
    { storage, clock, onError: (error, what) => logger.warn('watch cache', { what, error }) },
  );
  const decoded = new DecodedObjects({ maxBytes: decodedBytes });
  const reader = new ObjectReader({ decoded });
  const builtIn = builtInResources();
  const custom = new CustomResources();
  const resolver = new DefinitionResolver(
    {},
    { cache, reader, builtIn, definitionsOf: (crd, retired) => custom.definitionsOf(crd, retired) },
  );
  const informers = new CacheInformerFactory({}, { cache, reader, builtIn });
  const clusters = new LogicalClusterIndex({ informers });

  // Who may come in, and what they may do.
  const authentication = shardAuthentication(options, { files, informers, clock });
  const authorization = shardAuthorization(
    { alwaysAllowPaths: options.authorizationAlwaysAllowPaths },
    { informers, clusters },
  );
  const quota = new ResourceQuotaAdmission({}, { cache, reader, resolver, store: () => store });
  const plugins: readonly AdmissionPlugin[] = [
    new NamespaceLifecycle(
      {},
      { cache, isClusterEnding: (cluster) => clusters.object(cluster)?.metadata.deletionTimestamp !== undefined },
    ),
    new TerminatingDefinition(),
    new CertificateApproval({}, { authorizer: authorization.reviews }),
    new CertificateSigning({}, { authorizer: authorization.reviews }),
    new CertificateSubjectRestriction(),
    new WorkspaceAdmission(),
    new LogicalClusterAdmission(),
    new RbacEscalationCheck({ rbac: authorization.rbac, authorizer: authorization.reviews }),
    // Last of all, so that nothing is charged for what another plugin refuses (K6.1).
    quota,
  ];

  // Writing, over HTTP and from inside.
  const store: ObjectStore = new ObjectStore(
    {},
    { cache, decoded, reader, resolver, admission: new AdmissionChain(plugins), clock, newUid: () => randomUUID() },
  );
  const builtInKinds = new Set(builtIn.map(({ group, version: served, kind }) => `${group}/${served}/${kind}`));
  const yaml = new YamlWorker({}, { clock });
  const decoder = new BodyDecoder(
    {},
    { isBuiltInKind: (group, served, kind) => builtInKinds.has(`${group}/${served}/${kind}`), yaml },
  );
  const client = new LoopbackClient({}, { resolver, store, decoder });
  const gitVersion = `v${kubernetesVersion.major}.${kubernetesVersion.minor}.${kubernetesVersion.patch}+multiplane-${version}`;

  const connections = new ConnectionTable(defaultConnectionLimits);
  const draining = new Draining();
  const hub = new WatchHub({}, { clock });
  const keySet = await authentication.serviceAccountTokens.keySet();
  const chainOptions = {
    ...defaultHandlerChainOptions,
    requestTimeoutMs: options.requestTimeout,
    maxReadOnly: options.maxRequestsInflight,
    maxMutating: options.maxMutatingRequestsInflight,
    corsAllowedOrigins: options.corsAllowedOrigins.map((pattern) => new RegExp(pattern)),
  };
  const chainModules: HandlerChainModules = {
    clock,
    logger,
    metrics,
    draining,
    connections,
    authenticator: authentication.authenticator,
    onRefused: (error) => logger.debug('credentials refused', { error }),
    authorizer: authorization.requests,
    resolvePath: (path) => Promise.resolve(clusters.resolve(path)),
    clusterOfRequest: clusterOfToken,
    impersonation: withImpersonation({ authorizer: authorization.reviews, policy: impersonationPolicy }),
    resolver,
    resources: resourceHandler(
      {},
      {
        resolver,
        store,
        decoder,
        authorizer: authorization.requests,
        createHandlers: reviewHandlers(
          {
            audiences: options.apiAudiences,
            now: () => clock.now(),
            ...(options.serviceAccountMaxTokenExpiration > 0
              ? { maxTokenExpirationSeconds: Math.floor(options.serviceAccountMaxTokenExpiration / 1000) }
              : {}),
          },
          {
            authorizer: authorization.reviews,
            rules: authorization.rbac,
            tokens: authentication.tokens,
            serviceAccountTokens: authentication.serviceAccountTokens,
            serviceAccounts: authentication.serviceAccounts,
          },
        ),
        hub,
        clock,
        random: Math.random,
        connectKind: () => tokenRequestKind,
      },
    ),
    discovery: discoveryHandler({}, { resolver }),
    openapi: openapiHandler({ version: gitVersion }, { resolver, clock }),
    outer: outerApplication({
      health,
      registry,
      metrics,
      logger,
      version: {
        major: kubernetesVersion.major,
        minor: kubernetesVersion.minor,
        gitVersion,
        gitCommit: '',
        gitTreeState: 'clean',
        buildDate: '',
        platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
      },
      issuer: {
        openIdConfiguration: () =>
          authentication.serviceAccountTokens.discoveryDocument(`${externalUrl()}/openid/v1/jwks`),
        jwks: () => keySet,
      },
    }),
  };

  // Other servers in this process; they come before the shard's own chain and may call back into it.
  const dispatcher = new RequestDispatcher((authenticator) =>
    buildHandlerChain(chainOptions, { ...chainModules, authenticator }),
  );
  const embedded = new EmbeddedServers();
  const inProcess = [];
  for (const embed of modules.embedded ?? []) {
    const inner = await embed({
      shardName: options.shardName,
      externalUrl,
      rootDirectory: options.rootDirectory,
      clock,
      logger,
      health,
      metrics: registry,
      authenticator: authentication.authenticator,
      resolver,
      informers,
      globalInformers: informers,
      client,
      dispatch: (exchange, user, url) => dispatcher.dispatch(exchange, user, url),
    });
    embedded.add(inner);
    inProcess.push(...inner.runnables);
  }
  const handle = embedded.route(buildHandlerChain(chainOptions, chainModules));
  const server = new HttpServer(
    {
      ...defaultHttpServerOptions,
      certificatePem: files.certificate,
      privateKeyPem: files.key,
      clientCa: files.clientCa,
      host: options.bindAddress,
      port: options.securePort,
    },
    { connections, handle, clock, onHandshakeError: () => metrics.handshakeErrors.add(1) },
  );
  function externalUrl(): string {
    return (
      options.shardExternalUrl ??
      options.shardBaseUrl ??
      `https://${options.externalHostname ?? reachableHost(options.bindAddress)}:${server.port}`
    );
  }

  health.add('etcd', () => storage.check());
  health.add(
    'informer-sync',
    () => {
      if (!cache.isReady()) throw new Error('the watch cache is not ready');
    },
    { endpoints: ['readyz'] },
  );

  const lifecycle = new Lifecycle(
    {
      groups: ['storage', 'embedded', 'serving', 'bootstrap', 'controllers'],
      shutdownDelay: options.shutdownDelayDuration,
    },
    { logger, health, clock },
  );
  lifecycle.add('storage', new EventLoopMonitor({}, { logger, metrics: registry, clock }));
  lifecycle.add('storage', {
    name: 'watch cache',
    start: async () => {
      await cache.ready;
      resolver.start();
    },
    stop: async () => {
      resolver.stop();
      await cache.close();
    },
  });
  lifecycle.add('storage', yaml);
  for (const runnable of inProcess) lifecycle.add('embedded', runnable);
  lifecycle.add('serving', {
    name: 'listener',
    start: async () => {
      await server.start();
      if (!options.batteries.has('admin')) return;
      await writeAdminKubeconfig({
        file: options.kubeconfigPath,
        server: externalUrl(),
        ca: files.rootCa,
        ...authentication.admin,
      });
      await authentication.admin.storeHash();
    },
    stop: async () => {
      draining.begin();
      await server.stop();
    },
  });
  lifecycle.add('bootstrap', {
    name: 'bootstrap',
    start: async () => {
      await bootstrapPolicy({ client, informers });
      await bootstrapFlowControl({ client, informers });
      if (options.shardName === 'root') await bootstrapRoot({ shardName: options.shardName }, { client, informers });
    },
    stop: async () => undefined,
  });
  if (options.runControllers) {
    const controllers = shardControllers(
      { shardName: options.shardName, externalUrl, rootCa: () => files.rootCa, randomBytes },
      { informers, client, clock, logger, resolver, clusters, issuer: authentication.serviceAccountTokens, builtIn },
    );
    for (const controller of controllers) lifecycle.add('controllers', controller);
  }
  await lifecycle.run(signal, () =>
    logger.info('ready', { url: externalUrl(), kubeconfig: options.kubeconfigPath, storage: options.storageBackend }),
  );
}

/** A host that a client on this machine can use for an address to listen on. */
function reachableHost(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1';
  if (address === '::') return '[::1]';
  return address.includes(':') ? `[${address}]` : address;
}
