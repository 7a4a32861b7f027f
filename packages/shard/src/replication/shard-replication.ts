import type { EmbeddedServer } from '@multiplane/apiserver';
import {
  AwaitedInformers,
  emptyInformerSource,
  GlobalInformerSource,
  LateInformerSource,
  RemoteInformerFactory,
  RestTransport,
  watchClientConfig,
  type InformerFactory,
  type InformerSource,
} from '@multiplane/client';
import {
  logFailures,
  type CertificateWatcher,
  type Clock,
  type Logger,
  type Runnable,
} from '@multiplane/component-base';
import {
  logicalClusterObjectName,
  logicalClusters,
  removedShardController,
  replicationController,
} from '@multiplane/controllers';
import { natsTargetOf, type NatsTarget, type Storage } from '@multiplane/storage';
import type { ShardOptions } from '../options.ts';
import { rootShardName } from '../sharding-options.ts';
import { StorageReplicaStore } from './storage-replica-store.ts';

export interface ShardReplicationModules {
  /** What this shard stores. */
  readonly informers: InformerSource;
  /** Resolves when {@link informers} show every write that was acknowledged before the call. */
  readonly fresh: () => Promise<unknown>;
  readonly certificates: CertificateWatcher;
  readonly clock: Clock;
  readonly logger: Logger;
}

const cachePath = '/services/cache/shards/*';

/**
 * A shard's share of replication: what it reads of the others, and what it publishes.
 *
 *   reads from       the cache server of --cache-kubeconfig, else the one in this process, else nothing
 *   publishes to     the stream of --nats-servers, else the store of the cache server in this process, else nowhere
 *
 * {@link globalInformers} are there before the cache server is: readers are wired first.
 */
export class ShardReplication {
  readonly globalInformers: InformerSource;
  /** What {@link globalInformers} have of the other shards. */
  readonly foreign: AwaitedInformers;
  /** Run as long as the process. */
  readonly runnables: readonly Runnable[];
  readonly #options: ShardOptions;
  readonly #modules: ShardReplicationModules;
  readonly #cached = new LateInformerSource();
  readonly #stream: NatsTarget | undefined;
  #bound = false;
  #remote: RemoteInformerFactory | undefined;
  #embedded: Storage | undefined;

  constructor(options: ShardOptions, modules: ShardReplicationModules) {
    this.#options = options;
    this.#modules = modules;
    this.#stream = natsTargetOf(options);
    const clusters = modules.informers.informer(logicalClusters);
    this.foreign = new AwaitedInformers({ source: this.#cached });
    this.globalInformers = new GlobalInformerSource(
      {
        ownShard: options.shardName,
        ownsCluster: (cluster) =>
          cluster.startsWith('system:') ||
          clusters.get({ cluster, namespace: '', name: logicalClusterObjectName }) !== undefined,
      },
      { local: modules.informers, cached: this.foreign },
    );
    const { cacheKubeconfig } = options;
    if (cacheKubeconfig === undefined) {
      this.runnables = [];
      return;
    }
    const { certificates, clock, logger } = modules;
    const watched = watchClientConfig({ file: cacheKubeconfig, context: undefined }, { watcher: certificates });
    const transport = new RestTransport({ config: () => watched.current, userAgent: 'multiplane-shard' });
    const remote = new RemoteInformerFactory({ pathPrefix: cachePath }, { transport, clock, logger });
    this.#remote = remote;
    this.#bind(remote);
    this.runnables = [
      remote,
      { name: 'connections to the cache server', start: async () => {}, stop: async () => transport.close() },
    ];
  }

  /** Takes from a server of this process what it has to give. */
  adopt({ informers, storage }: EmbeddedServer): void {
    if (informers !== undefined && !this.#bound) this.#bind(informers);
    this.#embedded ??= storage;
  }

  /** No further server comes. */
  complete(): void {
    if (!this.#bound) this.#bind(emptyInformerSource);
    if (this.#open() === undefined && this.#options.cacheKubeconfig !== undefined)
      this.#modules.logger.warn('nothing is published to other shards: --nats-servers is not given');
  }

  /**
   * For readiness: throws while it is not known what the other shards have. A cache server that is away keeps no shard
   * from serving its own workspaces: writes that depend on the others wait by themselves.
   */
  check(): void {
    if (this.#remote?.hasFailed !== true) this.foreign.check();
  }

  /** The controllers that publish, for one term; over informers that end with it. */
  controllers(informers: InformerFactory): Runnable[] {
    const open = this.#open();
    if (open === undefined) return [];
    const { shardName } = this.#options;
    const { fresh, clock, logger } = this.#modules;
    // Of a stream every page costs as much as the whole.
    const pageSize = this.#stream === undefined ? undefined : 0;
    const store = new StorageReplicaStore({ shardName, pageSize }, { open, clock, logger });
    const publishing = [store, replicationController({ shardName }, { informers, fresh, store, clock, logger })];
    if (shardName !== rootShardName) return publishing;
    return [...publishing, removedShardController({ shardName }, { informers, replicas: store, clock, logger })];
  }

  #bind(source: InformerSource): void {
    this.#bound = true;
    this.#cached.bind(source);
  }

  #open(): (() => Promise<Pick<Storage, 'create' | 'update' | 'delete' | 'list' | 'watch' | 'close'>>) | undefined {
    const stream = this.#stream;
    if (stream !== undefined) {
      return async () => {
        const { openJetStreamStorage } = await import('@multiplane/storage/jetstream');
        return openJetStreamStorage(stream, {
          onInterruption: logFailures(this.#modules.logger, 'work over NATS was interrupted'),
        });
      };
    }
    const storage = this.#embedded;
    if (storage === undefined) return undefined;
    // Whoever opened it closes it.
    return async () => ({
      create: (key, value, options) => storage.create(key, value, options),
      update: (key, value, expected, options) => storage.update(key, value, expected, options),
      delete: (key, expected) => storage.delete(key, expected),
      list: (prefix, options) => storage.list(prefix, options),
      watch: (prefix, options) => storage.watch(prefix, options),
      close: async () => {},
    });
  }
}
