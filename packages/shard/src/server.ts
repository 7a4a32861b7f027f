import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import {
  CacheInformerFactory,
  ConnectionTable,
  DecodedObjects,
  defaultConnectionLimits,
  defaultHttpServerOptions,
  DefinitionResolver,
  Draining,
  ExportedSchemas,
  HttpServer,
  ObjectReader,
  RequestMetrics,
  Starting,
  type BaseExchange,
  type EmbedServer,
} from '@multiplane/apiserver';
import { apiExports, builtInResources, CustomResources, type APIExport } from '@multiplane/apis';
import { AwaitedInformers, PathAndNameIndex } from '@multiplane/client';
import {
  CertificateWatcher,
  EventLoopMonitor,
  HealthChecks,
  Lifecycle,
  MetricsRegistry,
  systemClock,
  untilAborted,
  type Logger,
} from '@multiplane/component-base';
import { ShardRegistration, workspaceTypes, type WorkspaceType } from '@multiplane/controllers';
import { BindingIndex } from './api-sharing/binding-index.ts';
import { writeAdminKubeconfig } from './authentication/admin-kubeconfig.ts';
import { shardAuthentication } from './authentication/shard-authentication.ts';
import { shardAuthorization } from './authorization/shard-authorization.ts';
import { bootstrapShard } from './bootstrap/bootstrap-shard.ts';
import { ShardReplication } from './cache/shard-replication.ts';
import { EmbeddedServers, RequestDispatcher } from './embedded-servers.ts';
import { HomeWorkspaces } from './home-workspaces.ts';
import { InactiveClusters } from './inactive-clusters.ts';
import { LogicalClusterIndex } from './logical-cluster-index.ts';
import { LogicalClusterWaits } from './logical-cluster-waits.ts';
import { mountIdentity } from './mounts/mount-identity.ts';
import { MountProxy } from './mounts/mount-proxy.ts';
import type { ShardOptions } from './options.ts';
import { prepareServingFiles } from './serving-files.ts';
import { servicesIdentity } from './services/services-identity.ts';
import { servicesProxy } from './services/services-proxy.ts';
import { rootShardName } from './sharding-options.ts';
import { ShardClients } from './sharding/shard-clients.ts';
import { shardUrls, type ShardUrls } from './sharding/shard-urls.ts';
import { openStorageBackend } from './storage-backend.ts';
import { usageMetrics } from './usage-metrics.ts';
import { shardAudit } from './wiring/audit.ts';
import { CachedStore } from './wiring/cached-store.ts';
import { electedControllers } from './wiring/controllers.ts';
import { requestChain } from './wiring/request-chain.ts';
import { shardWebhooks } from './wiring/webhooks.ts';
import { writePath } from './wiring/write-path.ts';

export interface ShardModules {
  readonly logger: Logger;
  /** Ends the shard, gracefully. */
  readonly signal: AbortSignal;
  /** Version of this program. */
  readonly version: string;
  /** Servers that run inside the shard's process (the cache server and the virtual workspaces of `start`). */
  readonly embedded?: readonly EmbedServer[] | undefined;
}

/** Where the store counts the logical clusters of the shard. */
const logicalClustersPrefix = '/registry/core.kcp.io/logicalclusters/';
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
  const certificates = new CertificateWatcher({}, { clock, logger });
  const [files, storage] = await Promise.all([
    prepareServingFiles(options, { watcher: certificates }),
    openStorageBackend(options, { certificates, logger }),
  ]);

  // Reading: the store, the cache in front of it, and what the cache's bytes mean.
  const health = new HealthChecks();
  const registry = new MetricsRegistry();
  const metrics = new RequestMetrics(registry);
  const cached = new CachedStore({ storage, clock, logger, signal });
  const { cache } = cached;
  const decoded = new DecodedObjects({ maxBytes: decodedBytes });
  const webhooks = shardWebhooks(options, { decoded, clock });
  const reader = new ObjectReader({ decoded, conversions: webhooks.conversions });
  const builtIn = builtInResources({ eventTtlSeconds: Math.ceil(options.eventTtl / 1000) });
  const bindings = new BindingIndex({}, { cache, reader });
  const informers = new CacheInformerFactory({}, { cache, reader, builtIn });
  // For whoever decides about requests: nobody is served before they know what is there.
  const known = new AwaitedInformers({ source: informers });
  const replication = new ShardReplication(options, {
    informers: known,
    fresh: () => cache.freshRevision(),
    certificates,
    clock,
    logger,
  });
  const { globalInformers, foreign } = replication;
  usageMetrics(options, { registry, informers, clock });
  const custom = new CustomResources();
  const resolver = new DefinitionResolver(
    {},
    {
      cache,
      reader,
      builtIn,
      definitionsOf: (crd, retired, identity) => custom.definitionsOf(crd, retired, identity),
      bindings,
      exports: new ExportedSchemas({ informers: globalInformers }),
    },
  );
  const clusters = new LogicalClusterIndex(
    { shardName: options.shardName, mounts: options.features.enabled('WorkspaceMounts') },
    { informers },
  );
  const waits = new LogicalClusterWaits({ informers, clock });
  const types = new PathAndNameIndex({ informer: globalInformers.informer<WorkspaceType>(workspaceTypes) });
  const exports = new PathAndNameIndex({ informer: globalInformers.informer<APIExport>(apiExports) });

  // Who may come in, and what they may do.
  const authentication = shardAuthentication(options, {
    files,
    informers: known,
    certificates,
    clock,
    clientElsewhere: (cluster) => (clusters.object(cluster) === undefined ? clients.external : undefined),
    workspaces: {
      client: webhooks.client,
      globalInformers,
      types,
      logicalCluster: (cluster) => clusters.object(cluster),
    },
  });
  const authorization = shardAuthorization(options, {
    informers: known,
    globalInformers,
    clusters,
    bindings,
    types,
    resolver,
    clock,
  });

  // Writing, over HTTP and from inside.
  const { store, decoder, client, yaml, schemaWorker, claimLabels } = writePath(options, {
    cache,
    decoded,
    reader,
    resolver,
    builtIn,
    clusters,
    bindings,
    informers: known,
    globalInformers,
    foreign,
    webhooks: webhooks.client,
    authorization,
    elsewhere: () => clients.externalTransport,
    types,
    exports,
    clock,
  });

  const connections = new ConnectionTable(defaultConnectionLimits);
  const draining = new Draining();
  const starting = new Starting();
  const audit = shardAudit(options, {
    clusters,
    clock,
    logger,
    writeOut: (text) => void process.stdout.write(text),
  });
  const mounts = options.features.enabled('WorkspaceMounts')
    ? new MountProxy(
        {
          ownOrigins: () => [urls().baseURL, urls().externalURL].map((url) => new URL(url).origin),
          tellsIdentity: options.mountProxyClientCertFile !== undefined,
        },
        { identity: mountIdentity(options, { certificates, rootCa: () => files.rootCa.current }) },
      )
    : undefined;
  const chains = requestChain(options, {
    version,
    externalUrl: () => urls().externalURL,
    clock,
    logger,
    health,
    registry,
    metrics,
    draining,
    starting,
    connections,
    authentication,
    authorization,
    clusters,
    waits,
    resolver,
    store,
    decoder,
    audit,
    mounts,
    inactive: new InactiveClusters({ clusters, informers, draining }),
    home:
      options.enableHomeWorkspaces && options.shardName === rootShardName
        ? new HomeWorkspaces(
            { shardName: options.shardName },
            { clusters, waits, client, authorizer: authorization.requests, types, exports, clock },
          )
        : undefined,
  });

  // Other servers in this process; they come before the shard's own chain and may call back into it.
  const dispatcher = new RequestDispatcher(chains.shard);
  const embedded = new EmbeddedServers();
  const inProcess = [];
  for (const embed of modules.embedded ?? []) {
    const inner = await embed({
      shardName: options.shardName,
      externalUrl: () => urls().externalURL,
      rootDirectory: options.rootDirectory,
      clock,
      signal,
      logger,
      health,
      metrics: registry,
      authenticator: authentication.authenticator,
      resolver,
      informers,
      globalInformers,
      client,
      audit,
      dispatch: (exchange, user, url) => dispatcher.dispatch(exchange, user, url),
    });
    embedded.add(inner);
    replication.adopt(inner);
    inProcess.push(...inner.runnables);
  }
  replication.complete();
  if (!options.runVirtualWorkspaces && options.shardVirtualWorkspaceUrl !== undefined) {
    const outside = servicesProxy(
      { url: options.shardVirtualWorkspaceUrl },
      {
        identity: servicesIdentity(options, { certificates, rootCa: () => files.rootCa.current }),
        chain: chains.other,
      },
    );
    embedded.add(outside);
    inProcess.push(...outside.runnables);
  }
  const own = chains.shard();
  const route = embedded.route(own);
  // What is embedded is not asked before it has started.
  const handle = (exchange: BaseExchange): Promise<void> => (starting.over ? route : own)(exchange);
  const server = new HttpServer(
    {
      ...defaultHttpServerOptions,
      ...files.serving.current,
      host: options.bindAddress,
      port: options.securePort,
    },
    { connections, handle, clock, onHandshakeError: () => metrics.handshakeErrors.add(1) },
  );
  files.serving.onChange((certificate) => server.reloadCertificate(certificate));
  const urls = (): ShardUrls => shardUrls(options, server.port);
  const clients = new ShardClients(options, { certificates, globalInformers, local: client });

  health.add('etcd', () => storage.check());
  for (const informed of [known, foreign]) informed.complete();
  health.add(
    'informer-sync',
    () => {
      for (const informed of [cached, known, replication]) informed.check();
    },
    { endpoints: ['readyz'] },
  );

  const lifecycle = new Lifecycle(
    {
      groups: ['listening', 'storage', 'embedded', 'serving', 'bootstrap', 'loading', 'registration', 'controllers'],
      shutdownDelay: options.shutdownDelayDuration,
    },
    { logger, health, clock },
  );
  let stopping: Promise<void> | undefined;
  const stopListening = (): Promise<void> => (stopping ??= server.stop());
  // The first to start, so that it can say what is missing; what it answers from goes after it all the same.
  lifecycle.add('listening', { name: 'listener', start: () => server.start(), stop: stopListening });
  lifecycle.add('storage', new EventLoopMonitor({}, { logger, metrics: registry, clock }));
  lifecycle.add('storage', {
    name: 'watch cache',
    start: async () => {
      await untilAborted(cache.ready, signal);
      if (signal.aborted) return;
      // Before the resolver, which is told of changes by the index.
      bindings.start();
      resolver.start();
    },
    stop: async () => {
      resolver.stop();
      bindings.stop();
      await cache.close();
    },
    ended: cached.unreadable,
  });
  if (audit !== undefined) lifecycle.add('storage', audit.runnable);
  lifecycle.add('storage', yaml);
  lifecycle.add('storage', certificates);
  lifecycle.add('storage', schemaWorker);
  lifecycle.add('storage', webhooks.runnable);
  lifecycle.add('storage', authentication.runnable);
  lifecycle.add('storage', authorization.runnable);
  for (const runnable of replication.runnables) lifecycle.add('storage', runnable);
  for (const runnable of inProcess) lifecycle.add('embedded', runnable);
  if (mounts !== undefined) lifecycle.add('embedded', mounts);
  lifecycle.add('serving', {
    name: 'requests',
    start: async () => {
      starting.end();
      cached.serving();
      const { admin } = authentication;
      if (admin === undefined) return;
      await writeAdminKubeconfig({
        file: options.kubeconfigPath,
        server: urls().baseURL,
        ca: files.rootCa.current,
        ...admin,
      });
      await admin.storeHash();
    },
    stop: async () => {
      draining.begin();
      await stopListening();
    },
  });
  lifecycle.add('bootstrap', {
    name: 'bootstrap',
    start: () => bootstrapShard(options, { client, informers, clock }),
    stop: async () => undefined,
  });
  lifecycle.add('loading', cached.loading);
  lifecycle.add('loading', {
    name: 'indexes',
    start: () => untilAborted(known.told, signal),
    stop: async () => undefined,
  });
  const identity = `${hostname()}_${randomUUID()}`;
  lifecycle.add(
    'registration',
    new ShardRegistration(
      { name: options.shardName, spec: urls, identity },
      {
        client: clients.root,
        clock,
        logger,
        check: () => storage.check(),
        load: () => cache.counts().get(logicalClustersPrefix) ?? 0,
      },
    ),
  );
  lifecycle.add('controllers', clients);
  if (options.runControllers) {
    lifecycle.add(
      'controllers',
      electedControllers(options, {
        identity,
        cache,
        reader,
        resolver,
        builtIn,
        clusters,
        bindings,
        claimLabels,
        store,
        client,
        clients,
        informers,
        globalInformers,
        replication,
        issuer: authentication.serviceAccountTokens,
        externalUrl: () => urls().externalURL,
        rootCa: () => files.rootCa.current,
        clock,
        logger,
      }),
    );
  }
  await lifecycle.run(signal, () =>
    logger.info('ready', {
      url: urls().externalURL,
      kubeconfig: options.kubeconfigPath,
      storage: options.storageBackend,
    }),
  );
}
