import {
  EventLoopMonitor,
  IdleGarbageCollection,
  Lifecycle,
  retry,
  untilAborted,
  type Runnable,
} from '@multiplane/component-base';
import { ShardRegistration } from '@multiplane/controllers';
import { defaultHttpServerOptions, HttpServer, type BaseExchange } from '@multiplane/generic-server';
import { adminServer, writeAdminKubeconfig } from '../authentication/admin-kubeconfig.ts';
import { bootstrapShard } from '../bootstrap/bootstrap-shard.ts';
import type { ShardOptions } from '../options.ts';
import type { ShardClients } from '../sharding/shard-clients.ts';
import type { ShardUrls } from '../sharding/shard-urls.ts';
import type { AccessControl } from './access-control.ts';
import type { Infrastructure } from './infrastructure.ts';
import { watchCacheRunnable, type ReadPath } from './read-path.ts';
import type { RequestPath } from './request-path.ts';
import { UnusedObjectRelease } from './unused-object-release.ts';
import type { WritePath } from './write-path.ts';

/** Key prefix under which the watch cache counts the logical clusters of the shard. */
const logicalClustersPrefix = '/registry/core.kcp.io/logicalclusters/';

const groups = [
  'listening',
  'storage',
  'embedded',
  'serving',
  'bootstrap',
  'loading',
  'registration',
  'controllers',
] as const;

interface Modules extends Infrastructure, ReadPath, AccessControl, WritePath, RequestPath {
  readonly server: HttpServer;
  readonly urls: () => ShardUrls;
  readonly clients: ShardClients;
  readonly embeddedRunnables: readonly Runnable[];
  /** Identity of this process among the replicas of the shard. */
  readonly identity: string;
  /** Absent with `--run-controllers=false`. */
  readonly controllers: Runnable | undefined;
}

/** The HTTPS listener of the shard; it reloads its certificate when the files change. */
export function httpsListener(
  options: ShardOptions,
  modules: Pick<Infrastructure, 'files' | 'clock' | 'metrics'> &
    Pick<RequestPath, 'connections'> & { readonly handle: (exchange: BaseExchange) => Promise<void> },
): HttpServer {
  const { files, connections, handle, clock, metrics } = modules;
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
  return server;
}

/** Adds the health checks of the shard; informers requested after this call do not delay readiness. */
export function addHealthChecks(modules: Pick<Infrastructure, 'health' | 'storage'> & ReadPath): void {
  const { health, storage, cached, localInformers, remoteInformers, replication } = modules;
  // Not for /livez: a restart does not repair storage, and one of every shard at the same time would make an outage longer.
  health.add('etcd', () => storage.check(), { endpoints: ['readyz', 'healthz'] });
  for (const informers of [localInformers, remoteInformers]) informers.complete();
  health.add(
    'informer-sync',
    () => {
      for (const source of [cached, localInformers, replication]) source.check();
    },
    { endpoints: ['readyz'] },
  );
}

/** Everything that runs, group by group in start order; groups stop in reverse order. */
export function shardLifecycle(options: ShardOptions, modules: Modules): Lifecycle<(typeof groups)[number]> {
  const { logger, health, clock, signal, registry, authentication, authorization, cached } = modules;
  const lifecycle = new Lifecycle({ groups, shutdownDelay: options.shutdownDelayDuration }, { logger, health, clock });
  const add = (group: (typeof groups)[number], ...runnables: readonly (Runnable | undefined)[]): void => {
    for (const runnable of runnables) if (runnable !== undefined) lifecycle.add(group, runnable);
  };
  const listener = listenerRunnable(modules);
  // First, so that /livez and /readyz answer during start-up; it still stops before everything that requests use,
  // because `serving` stops it.
  add('listening', listener);
  add(
    'storage',
    new EventLoopMonitor({}, { logger, metrics: registry, health, clock }),
    watchCacheRunnable(modules),
    new UnusedObjectRelease(modules),
    new IdleGarbageCollection({ clock }),
    modules.audit?.runnable,
    modules.tracer,
    modules.yaml,
    modules.certificates,
    modules.schemaWorker,
    modules.webhooks.runnable,
    authentication.runnable,
    authorization.runnable,
    ...modules.replication.runnables,
  );
  add('embedded', ...modules.embeddedRunnables, modules.mounts);
  add('serving', servingRunnable(options, { ...modules, listener }));
  add('bootstrap', {
    name: 'bootstrap',
    start: () => bootstrapOnceDecryptable(options, modules),
    stop: async () => undefined,
  });
  add('loading', cached.loading, {
    name: 'indexes',
    start: () => untilAborted(modules.localInformers.synced, signal),
    stop: async () => undefined,
  });
  add('registration', shardRegistration(options, modules));
  add('controllers', modules.clients, modules.controllers);
  return lifecycle;
}

/** Attempts to bootstrap after an outage of a KMS plugin: two minutes. */
const bootstrapAttempts = 60;

/** Identities of exports are Secrets: the shard waits until all KMS plugins respond and the watch cache has loaded what they encrypt. */
async function bootstrapOnceDecryptable(options: ShardOptions, modules: Modules): Promise<void> {
  const { signal, clock, logger } = modules;
  const hasWaited = await untilAborted(modules.kmsResponding(), signal);
  if (signal.aborted) return;
  const attempts = hasWaited === true ? bootstrapAttempts : 1;
  const onRetry = (error: unknown): void => logger.warn('failed to bootstrap, will try again', { error });
  const bootstrap = (): Promise<void> => bootstrapShard(options, modules);
  await retry(bootstrap, { initial: 1_000, max: 2_000, attempts, signal, onRetry }, { clock });
}

function listenerRunnable({ server }: Pick<Modules, 'server'>): Runnable {
  let stopping: Promise<void> | undefined;
  return { name: 'listener', start: () => server.start(), stop: () => (stopping ??= server.stop()) };
}

/** Serves requests from start to stop, and writes the admin kubeconfig once they are served. */
function servingRunnable(options: ShardOptions, modules: Modules & { readonly listener: Runnable }): Runnable {
  const { authentication, cached, starting, draining, urls, rootCa, listener } = modules;
  return {
    name: 'requests',
    start: async () => {
      starting.open();
      cached.loadValues();
      const { admin } = authentication;
      if (admin === undefined) return;
      const server = adminServer(options, urls());
      await writeAdminKubeconfig({ file: options.kubeconfigPath, server, ca: rootCa(), ...admin });
      await admin.storeHash();
    },
    stop: async () => {
      draining.begin();
      await listener.stop();
    },
  };
}

function shardRegistration(options: ShardOptions, modules: Modules): ShardRegistration {
  const { urls, identity, clients, clock, logger, storage, cache } = modules;
  return new ShardRegistration(
    { name: options.shardName, spec: urls, identity },
    {
      client: clients.root,
      clock,
      logger,
      check: () => storage.check(),
      load: () => cache.counts().get(logicalClustersPrefix) ?? 0,
    },
  );
}
