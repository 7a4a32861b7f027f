import { mkdir } from 'node:fs/promises';
import {
  ConnectionTable,
  defaultConnectionLimits,
  defaultHandlerChainOptions,
  defaultHttpServerOptions,
  Draining,
  HttpServer,
  outerApplication,
  RequestMetrics,
  UnionAuthenticator,
  versionInfo,
  watchServingCertificate,
  X509Authenticator,
} from '@multiplane/apiserver';
import {
  CertificateWatcher,
  EventLoopMonitor,
  HealthChecks,
  Lifecycle,
  logFailures,
  MetricsRegistry,
  parseCertificates,
  systemClock,
  type Logger,
} from '@multiplane/component-base';
import { CacheService } from './cache-service.ts';
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
 * The replicas of all shards as a process of its own (C10): it stores nothing, follows the stream of replicated objects,
 * and any number of it may run. It listens at once and says on `/readyz` what is missing, be it NATS. Runs until the signal
 * aborts; throws when something failed that it cannot live without.
 */
export async function runCacheServer(
  options: CacheServerOptions,
  { logger, signal, version }: CacheServerModules,
): Promise<void> {
  const clock = systemClock;
  await mkdir(options.rootDirectory, { recursive: true, mode: 0o700 });
  // Here, and not with the module: a cache server inside a shard seldom needs NATS.
  const { LateJetStreamStorage, openJetStreamStorage } = await import('@multiplane/storage/jetstream');
  const files = await servingCertificateFiles(options);
  const onInterruption = logFailures(logger, 'work over NATS was interrupted');
  const storage = new LateJetStreamStorage({ open: () => openJetStreamStorage(options.nats, { onInterruption }) });
  const health = new HealthChecks();
  const registry = new MetricsRegistry();
  const metrics = new RequestMetrics(registry);
  const watcher = new CertificateWatcher({}, { clock, logger });
  const { clientCaFile } = options;
  const authorities = watcher.watch(clientCaFile, (readText) =>
    parseCertificates(readText(clientCaFile), clientCaFile),
  );
  const connections = new ConnectionTable(defaultConnectionLimits);
  const draining = new Draining();
  const service = new CacheService(
    { ...defaultHandlerChainOptions, alwaysAllowPaths: options.authorizationAlwaysAllowPaths },
    {
      clock,
      logger,
      metrics,
      draining,
      connections,
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
      onRefused: (error) => logger.debug('credentials refused', { error }),
      outer: outerApplication({ health, registry, metrics, logger, version: versionInfo(version) }),
    },
  );
  const certificate = watchServingCertificate({ ...files, clientCaFiles: [clientCaFile] }, { watcher });
  const server = new HttpServer(
    { ...defaultHttpServerOptions, ...certificate.current, host: options.bindAddress, port: options.securePort },
    { connections, handle: service.handle, clock, onHandshakeError: () => metrics.handshakeErrors.add(1) },
  );
  certificate.onChange((changed) => server.reloadCertificate(changed));

  health.add('nats', () => storage.check(), { endpoints: ['readyz'] });
  health.add(
    'cache-sync',
    () => {
      if (!service.cache.isReady()) throw new Error('the replicas are not up to date');
    },
    { endpoints: ['readyz'] },
  );
  const lifecycle = new Lifecycle(
    { groups: ['storage', 'serving', 'loading'], shutdownDelay: options.shutdownDelayDuration },
    { logger, health, clock },
  );
  lifecycle.add('storage', new EventLoopMonitor({}, { logger, metrics: registry, clock }));
  lifecycle.add('storage', watcher);
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
  await lifecycle.run(signal, () => logger.info('ready', { port: server.port, stream: options.nats.stream }));
}
