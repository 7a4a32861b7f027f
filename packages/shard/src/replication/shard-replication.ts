import { randomBytes } from 'node:crypto';
import type { EmbeddedServer } from '@multiplane/apiserver';
import {
  InformerSyncTracker,
  emptyInformerSource,
  GlobalInformerSource,
  DeferredInformerSource,
  RemoteInformerFactory,
  RestTransport,
  watchClientConfig,
  type InformerFactory,
  type InformerSource,
  type RestClientMetrics,
} from '@multiplane/client';
import {
  logFailures,
  type CertificateWatcher,
  type Clock,
  type Logger,
  type Runnable,
} from '@multiplane/component-base';
import {
  CacheMonitor,
  cachedResourceController,
  logicalClusterObjectName,
  logicalClusters,
  removedShardController,
  replicationController,
  type CachedResourceModules,
} from '@multiplane/controllers';
import { natsTargetOf, RemoteStorage, type NatsTarget, type Storage, type WatchCache } from '@multiplane/storage';
import type { ShardOptions } from '../options.ts';
import { rootShardName } from '../sharding-options.ts';
import { StorageCachedObjectStore, type CachedObjectStorage } from './cached-object-store.ts';

export interface ShardReplicationModules {
  /** Informers over the storage of this shard. */
  readonly informers: InformerSource;
  /** Resolves when {@link informers} reflect every write that was acknowledged before the call. */
  readonly fresh: () => Promise<unknown>;
  readonly certificates: CertificateWatcher;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly restMetrics: RestClientMetrics;
}

const cachePath = '/services/cache/shards/*';

/**
 * Replication of one shard: reads the cached objects of other shards, and publishes its own.
 *
 *   reads from       the cache server of --cache-kubeconfig, else the embedded one, else nothing
 *   publishes to     the stream of --nats-servers, else the store of the embedded cache server, else that of the cache server of
 *                    --cache-kubeconfig, else nothing
 *
 * {@link globalInformers} exist before the embedded cache server, because their readers are wired first.
 */
export class ShardReplication {
  readonly globalInformers: InformerSource;
  /** The part of {@link globalInformers} that comes from other shards. */
  readonly remoteInformers: InformerSyncTracker;
  /** Connection to the cache server of --cache-kubeconfig. */
  readonly cacheServer: RestTransport | undefined;
  /** Run for the lifetime of the process, not only during a leader term. */
  readonly runnables: readonly Runnable[];
  readonly #options: ShardOptions;
  readonly #modules: ShardReplicationModules;
  readonly #cacheInformers = new DeferredInformerSource();
  readonly #stream: NatsTarget | undefined;
  /** Cached objects of all shards in this process; undefined without an embedded cache server. */
  cachedObjects: WatchCache | undefined;
  #bound = false;
  #remote: RemoteInformerFactory | undefined;
  #embedded: Storage | undefined;
  /** The store of the cache server of --cache-kubeconfig. */
  readonly #published: RemoteStorage | undefined;

  constructor(options: ShardOptions, modules: ShardReplicationModules) {
    this.#options = options;
    this.#modules = modules;
    this.#stream = natsTargetOf(options);
    const clusters = modules.informers.informer(logicalClusters);
    this.remoteInformers = new InformerSyncTracker({ source: this.#cacheInformers });
    this.globalInformers = new GlobalInformerSource(
      {
        localShard: options.shardName,
        isLocalCluster: (cluster) =>
          cluster.startsWith('system:') ||
          clusters.get({ cluster, namespace: '', name: logicalClusterObjectName }) !== undefined,
      },
      { local: modules.informers, cached: this.remoteInformers },
    );
    const { cacheKubeconfig } = options;
    if (cacheKubeconfig === undefined) {
      this.runnables = [];
      return;
    }
    const { certificates, clock, logger, restMetrics: metrics } = modules;
    const watched = watchClientConfig({ file: cacheKubeconfig, context: undefined }, { watcher: certificates });
    const transport = new RestTransport({ config: () => watched.current, userAgent: 'multiplane-shard', metrics });
    this.cacheServer = transport;
    const remote = new RemoteInformerFactory({ pathPrefix: cachePath }, { transport, clock, logger });
    this.#remote = remote;
    this.#published = new RemoteStorage({ pathPrefix: '/services/cache' }, { transport, clock });
    this.#bind(remote);
    this.runnables = [
      remote,
      { name: 'connections to the cache server', start: async () => {}, stop: async () => transport.close() },
    ];
  }

  /** Uses the informers and storage of an embedded cache server; embedded servers without them are ignored. */
  adopt({ informers, storage, cachedObjects }: EmbeddedServer): void {
    this.cachedObjects ??= cachedObjects;
    if (informers !== undefined && !this.#bound) this.#bind(informers);
    this.#embedded ??= storage;
  }

  /** Call after the last {@link adopt}. */
  complete(): void {
    if (!this.#bound) this.#bind(emptyInformerSource);
  }

  /**
   * Readiness check: throws until the informers over other shards have synced. An unreachable cache server does not make the
   * shard unready, since it still serves its own workspaces; writes that depend on other shards wait in admission.
   */
  check(): void {
    if (this.#remote?.hasFailed !== true) this.remoteInformers.check();
  }

  /** The publishing controllers for one leader term, over informers of that term. */
  controllers(
    informers: InformerFactory,
    modules: Pick<CachedResourceModules, 'client' | 'servedResource' | 'queueMetrics'>,
    { cacheApis }: { /** Feature gate CacheAPIs. */ readonly cacheApis: boolean },
  ): Runnable[] {
    const open = this.#open();
    if (open === undefined) return [];
    const { shardName } = this.#options;
    const { fresh, clock, logger } = this.#modules;
    // A page of a stream costs as much as the whole list.
    const pageSize = this.#stream === undefined ? undefined : 0;
    const store = new StorageCachedObjectStore({ shardName, pageSize }, { open, clock, logger });
    const check = async (): Promise<void> => {
      await store.check();
      this.#remote?.check();
    };
    const cacheMonitor = new CacheMonitor({ check, clock });
    const common = { informers, fresh, store, clock, logger, queueMetrics: modules.queueMetrics };
    const publishing = [
      store,
      cacheMonitor.runnable,
      replicationController({ shardName }, common),
      ...(cacheApis
        ? cachedResourceController({ shardName, randomBytes }, { ...modules, ...common, cacheMonitor })
        : []),
    ];
    if (shardName !== rootShardName) return publishing;
    return [...publishing, removedShardController({ shardName }, { informers, cachedObjects: store, clock, logger })];
  }

  #bind(source: InformerSource): void {
    this.#bound = true;
    this.#cacheInformers.bind(source);
  }

  #open(): (() => Promise<CachedObjectStorage>) | undefined {
    const stream = this.#stream;
    if (stream !== undefined) {
      return async () => {
        const { openJetStreamStorage } = await import('@multiplane/storage/jetstream');
        return openJetStreamStorage(stream, {
          onWatchFailure: logFailures(this.#modules.logger, 'failed to watch NATS'),
        });
      };
    }
    const storage = this.#embedded ?? this.#published;
    if (storage === undefined) return undefined;
    // Whoever opened it closes it.
    return async () => ({
      create: (key, value, options) => storage.create(key, value, options),
      update: (key, value, expected, options) => storage.update(key, value, expected, options),
      delete: (key, expected) => storage.delete(key, expected),
      list: (prefix, options) => storage.list(prefix, options),
      watch: (prefix, options) => storage.watch(prefix, options),
      check: () => storage.check(),
      close: async () => {},
    });
  }
}
