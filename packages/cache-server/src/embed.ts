import { encodeJsonGo } from '@multiplane/apimachinery';
import type { EmbeddedServer, EmbeddingHost } from '@multiplane/apiserver';
import type { InformerSource } from '@multiplane/client';
import { logFailures, MetricsRegistry } from '@multiplane/component-base';
import {
  ConnectionTable,
  defaultConnectionLimits,
  defaultHandlerChainOptions,
  Draining,
  type Handler,
  nonResourceEndpoints,
  RequestMetrics,
  versionInfo,
  writeBytes,
} from '@multiplane/generic-server';
import { MemoryStorage, type NatsTarget, type Storage } from '@multiplane/storage';
import { CacheService } from './cache-service.ts';
import { openCacheStore } from './open-cache-store.ts';
import { servicePath } from './cache-paths.ts';

export interface EmbeddedCacheServerOptions {
  /** Version of this program. */
  readonly version: string;
  /** Where the cached objects are stored: `cache` below the root directory, in memory, or in a JetStream stream. */
  readonly storage: 'file' | 'memory' | NatsTarget;
}

/** The cache server inside a shard, with the modules that the shard uses. */
export interface EmbeddedCacheServer extends EmbeddedServer {
  /** Informers over the cached objects of all shards. */
  readonly informers: InformerSource;
  /** The store into which the shard publishes its objects (keys: `cacheKey`). */
  readonly storage: Storage;
}

/**
 * The cache server within a shard's process: like {@link runCacheServer}, but with the shard's authenticator (only
 * `system:masters` is authorized), and with its own store unless one is shared over NATS.
 */
export function embedCacheServer(
  options: EmbeddedCacheServerOptions,
): (host: EmbeddingHost) => Promise<EmbeddedCacheServer> {
  return async (host) => {
    const { clock, signal, logger, health } = host;
    const storage = await openStorage(options, host);
    // The shard records the metrics of its listener, so these stay private.
    const registry = new MetricsRegistry();
    const metrics = new RequestMetrics(registry);
    const draining = new Draining();
    const service = new CacheService(
      {
        ...defaultHandlerChainOptions,
        ownsStorage: typeof options.storage === 'string',
        alwaysAllowPaths: ['/healthz', '/readyz', '/livez'],
      },
      {
        clock,
        logger,
        metrics,
        draining,
        // The shard tracks the connections.
        connections: new ConnectionTable(defaultConnectionLimits),
        storage,
        signal,
        authenticator: host.authenticator,
        tracer: host.tracer,
        onAuthenticationFailure: (error) => logger.debug('credentials refused', { error }),
        outer: embeddedDocuments(
          nonResourceEndpoints({ health, registry, metrics, logger, version: versionInfo(options.version) }),
        ),
      },
    );
    health.add(
      'cache-server',
      () => {
        if (!service.cache.isReady()) throw new Error('the cached objects are not up to date');
      },
      { endpoints: ['readyz'] },
    );
    return {
      pathPrefix: `${servicePath}/`,
      runnables: [
        ...service.runnables,
        service.loading,
        { name: 'cache server requests', start: async () => undefined, stop: async () => draining.begin() },
      ],
      handle: service.handle,
      informers: service.informers,
      storage: service.cache,
      cachedObjects: service.cache,
    };
  };
}

async function openStorage({ storage }: EmbeddedCacheServerOptions, host: EmbeddingHost): Promise<Storage> {
  if (storage === 'memory') return new MemoryStorage();
  if (storage === 'file') return openCacheStore(host.rootDirectory);
  const { openJetStreamStorage } = await import('@multiplane/storage/jetstream');
  return openJetStreamStorage(storage, {
    onWatchFailure: logFailures(host.logger, 'NATS operation failed'),
  });
}

/**
 * Documents of the server itself. Health is served by the shard; other paths get kcp's list of paths with status 404.
 */
function embeddedDocuments(outer: Handler): Handler {
  const paths = [
    '/apis',
    '/apis/',
    '/apis/apiextensions.k8s.io',
    '/apis/apiextensions.k8s.io/v1',
    '/metrics',
    '/metrics/slis',
    '/version',
  ];
  return (context) => {
    const first = context.info.path.split('/')[1];
    if (first === 'metrics' || first === 'version') return outer(context);
    writeBytes(context, 404, 'application/json', encodeJsonGo({ paths }, { pretty: true }));
    return Promise.resolve();
  };
}
