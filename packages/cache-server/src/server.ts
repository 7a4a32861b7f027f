import { parseYaml } from '@multiplane/apimachinery';
import {
  addProcessMetrics,
  CertificateWatcher,
  EventLoopMonitor,
  HealthChecks,
  IdleGarbageCollection,
  Lifecycle,
  logFailures,
  type Logger,
  makeRootDirectory,
  MetricsRegistry,
  openTracer,
  parseCertificates,
  systemClock,
} from '@multiplane/component-base';
import {
  ConnectionTable,
  defaultConnectionLimits,
  defaultHandlerChainOptions,
  defaultHttpServerOptions,
  Draining,
  HttpServer,
  nonResourceEndpoints,
  RequestMetrics,
  UnionAuthenticator,
  versionInfo,
  watchServingCertificate,
  X509Authenticator,
} from '@multiplane/generic-server';
import type { NatsTarget, Storage } from '@multiplane/storage';
import { CacheService } from './cache-service.ts';
import { openCacheStore } from './open-cache-store.ts';
import type { CacheServerOptions } from './options.ts';
import { servingCertificateFiles } from './serving-certificate.ts';

export interface CacheServerModules {
  readonly logger: Logger;
  /** Ends the server, gracefully. */
  readonly signal: AbortSignal;
  /** Version of this program. */
  readonly version: string;
}

/**
 * The cache server as a process. With NATS it stores nothing: it follows the JetStream stream of cached objects, and any
 * number of instances may run. Otherwise the shards publish into its embedded store through it, and there is one. It listens immediately and reports on `/readyz` what is missing, such as NATS. Runs until the
 * signal aborts; throws on a fatal failure.
 */
export async function runCacheServer(
  options: CacheServerOptions,
  { logger, signal, version }: CacheServerModules,
): Promise<void> {
  const clock = systemClock;
  await makeRootDirectory(options.rootDirectory);
  const files = await servingCertificateFiles(options, { logger });
  const { nats } = options;
  const storage = nats === undefined ? await openCacheStore(options.rootDirectory) : await natsStorage(nats, logger);
  const health = new HealthChecks();
  const registry = new MetricsRegistry();
  addProcessMetrics(registry);
  const metrics = new RequestMetrics(registry);
  const tracer = await openTracer({ ...options, service: 'multiplane-cache-server', version }, { decode: parseYaml });
  const watcher = new CertificateWatcher({}, { clock, logger });
  const { clientCaFile } = options;
  const authorities = watcher.watch(clientCaFile, (readText) =>
    parseCertificates(readText(clientCaFile), clientCaFile),
  );
  const connections = new ConnectionTable(defaultConnectionLimits);
  const draining = new Draining();
  const service = new CacheService(
    {
      ...defaultHandlerChainOptions,
      ownsStorage: nats === undefined,
      alwaysAllowPaths: options.authorizationAlwaysAllowPaths,
    },
    {
      clock,
      logger,
      metrics,
      draining,
      connections,
      tracer,
      storage,
      signal,
      authenticator: new UnionAuthenticator(
        { anonymous: true },
        {
          authenticators: [
            new X509Authenticator({ now: () => clock.now() }, { authorities: { current: () => authorities.current } }),
          ],
        },
      ),
      onAuthenticationFailure: (error) => logger.debug('credentials refused', { error }),
      outer: nonResourceEndpoints({ health, registry, metrics, logger, version: versionInfo(version) }),
    },
  );
  const certificate = watchServingCertificate({ ...files, clientCaFiles: [clientCaFile] }, { watcher });
  const server = new HttpServer(
    { ...defaultHttpServerOptions, ...certificate.current, host: options.bindAddress, port: options.securePort },
    { connections, handle: service.handle, clock, onHandshakeError: () => metrics.handshakeErrors.add(1) },
  );
  certificate.onChange((changed) => server.reloadCertificate(changed));

  health.add(nats === undefined ? 'storage' : 'nats', () => storage.check(), { endpoints: ['readyz'] });
  health.add(
    'cache-sync',
    () => {
      if (!service.cache.isReady()) throw new Error('the cached objects are not up to date');
    },
    { endpoints: ['readyz'] },
  );
  const lifecycle = new Lifecycle(
    { groups: ['storage', 'serving', 'loading'], shutdownDelay: options.shutdownDelayDuration },
    { logger, health, clock },
  );
  lifecycle.add('storage', new EventLoopMonitor({}, { logger, metrics: registry, health, clock }));
  lifecycle.add('storage', new IdleGarbageCollection({ clock }));
  lifecycle.add('storage', watcher);
  if (tracer !== undefined) lifecycle.add('storage', tracer);
  for (const runnable of service.runnables) lifecycle.add('storage', runnable);
  lifecycle.add('serving', {
    name: 'listener',
    start: () => server.start(),
    stop: async () => {
      draining.begin();
      await server.stop();
    },
  });
  lifecycle.add('loading', service.loading);
  await lifecycle.run(signal, () => logger.info('ready', { port: server.port, stream: nats?.stream }));
}

/** Opens in the background: NATS may be unreachable. Imported lazily, since the embedded store does without its client. */
async function natsStorage(nats: NatsTarget, logger: Logger): Promise<Storage> {
  const { LazyJetStreamStorage, openJetStreamStorage } = await import('@multiplane/storage/jetstream');
  const onWatchFailure = logFailures(logger, 'NATS operation failed');
  return new LazyJetStreamStorage({ open: () => openJetStreamStorage(nats, { onWatchFailure }) });
}
