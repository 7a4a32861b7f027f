import { join } from 'node:path';
import { encodeJsonGo } from '@multiplane/apimachinery';
import {
  ConnectionTable,
  defaultConnectionLimits,
  defaultHandlerChainOptions,
  Draining,
  outerApplication,
  RequestMetrics,
  versionInfo,
  writeBytes,
  type EmbeddedServer,
  type EmbeddingHost,
  type Handler,
} from '@multiplane/apiserver';
import type { InformerSource } from '@multiplane/client';
import { logFailures, MetricsRegistry } from '@multiplane/component-base';
import { MemoryStorage, openFileStorage, type NatsTarget, type Storage } from '@multiplane/storage';
import { CacheService } from './cache-service.ts';
import { servicePath } from './cache-paths.ts';
import { ReplicaInformers } from './replica-informers.ts';

export interface EmbeddedCacheServerOptions {
  /** Version of this program. */
  readonly version: string;
  /** Where replicas are kept: `cache` below the root directory, in memory, or in a stream. */
  readonly storage: 'file' | 'memory' | NatsTarget;
}

/** The cache server inside a shard, with what the shard's own parts need of it. */
export interface EmbeddedCacheServer extends EmbeddedServer {
  /** The replicas of all shards. */
  readonly informers: InformerSource;
  /** Where the shard publishes its own (keys: `cacheKey`). */
  readonly storage: Storage;
}

/**
 * The cache server inside a shard's process: the same as {@link runCacheServer}, only that the shard's users come in (of
 * whom none but `system:masters` may do anything, C10.6), and that replicas lie in a store of their own.
 */
export function embedCacheServer(
  options: EmbeddedCacheServerOptions,
): (host: EmbeddingHost) => Promise<EmbeddedCacheServer> {
  return async (host) => {
    const { clock, signal, logger, health } = host;
    const storage = await openStorage(options, host);
    // The shard counts what its listener serves; nothing is told twice.
    const registry = new MetricsRegistry();
    const metrics = new RequestMetrics(registry);
    const draining = new Draining();
    const service = new CacheService(
      { ...defaultHandlerChainOptions, alwaysAllowPaths: ['/healthz', '/readyz', '/livez'] },
      {
        clock,
        logger,
        metrics,
        draining,
        // The shard counts its connections itself, by the requests that reach it.
        connections: new ConnectionTable(defaultConnectionLimits),
        storage,
        signal,
        authenticator: host.authenticator,
        onRefused: (error) => logger.debug('credentials refused', { error }),
        outer: embeddedDocuments(
          outerApplication({ health, registry, metrics, logger, version: versionInfo(options.version) }),
        ),
      },
    );
    health.add(
      'cache-server',
      () => {
        if (!service.cache.isReady()) throw new Error('the replicas are not up to date');
      },
      { endpoints: ['readyz'] },
    );
    return {
      pathPrefix: `${servicePath}/`,
      runnables: [
        ...service.runnables,
        service.loading,
        { name: 'requests of the cache', start: async () => undefined, stop: async () => draining.begin() },
      ],
      handle: service.handle,
      informers: new ReplicaInformers(service),
      storage: service.cache,
    };
  };
}

async function openStorage({ storage }: EmbeddedCacheServerOptions, host: EmbeddingHost): Promise<Storage> {
  if (storage === 'memory') return new MemoryStorage();
  if (storage === 'file') return openFileStorage({ directory: join(host.rootDirectory, 'cache') });
  const { openJetStreamStorage } = await import('@multiplane/storage/jetstream');
  return openJetStreamStorage(storage, {
    onInterruption: logFailures(host.logger, 'work over NATS was interrupted'),
  });
}

/** What the server tells about itself; its health is the shard's and told there (recorded, down to the list). */
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
