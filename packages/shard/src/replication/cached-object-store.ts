import { encodeForStorage } from '@multiplane/apiserver';
import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import type { ObjectReference } from '@multiplane/client';
import { failureLevel, retry, untilAborted, type Clock, type Logger, type Runnable } from '@multiplane/component-base';
import {
  ReplicaConflictError,
  replicatedKinds,
  type KnownReplica,
  type ReplicaStore,
  type ReplicatedKind,
} from '@multiplane/controllers';
import {
  cacheKey,
  cacheResourcePrefix,
  isStorageError,
  parseCacheKey,
  wildcardShard,
  type Storage,
} from '@multiplane/storage';
import { sweepShard } from './sweep-shard.ts';
import { digestOf, ReplicaMirror, type MirroredReplica } from './replica-mirror.ts';

export interface StorageReplicaStoreOptions {
  readonly shardName: string;
  readonly kinds?: readonly ReplicatedKind[] | undefined;
  /** Replicas listed at once; 0: all of a kind, for a store where every page costs as much as the whole. */
  readonly pageSize?: number | undefined;
}

export interface StorageReplicaStoreModules {
  /** Opens the store; tried again until it can be. */
  readonly open: () => Promise<ReplicaStorage>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: (() => number) | undefined;
}

/** The part of a store that is used here; {@link close} gives back what was opened. */
export type ReplicaStorage = Pick<Storage, 'create' | 'update' | 'delete' | 'list' | 'watch' | 'close'>;

/**
 * The replicas of one shard in a store that the cache server reads: a JetStream stream, or the embedded one of the same
 * process. Every write names the revision it replaces; after one that failed, the mirror tells what became of the replica.
 *
 * Nobody waits for a store that cannot be reached: what is shared is published when it can.
 */
export class StorageReplicaStore implements ReplicaStore, Runnable {
  readonly name = 'replicas';
  readonly #synced = Promise.withResolvers<void>();
  readonly synced: Promise<void> = this.#synced.promise;
  readonly #ended = Promise.withResolvers<void>();
  readonly ended: Promise<void> = this.#ended.promise;
  readonly #options: StorageReplicaStoreOptions;
  readonly #modules: StorageReplicaStoreModules;
  readonly #mirrors = new Map<string, ReplicaMirror>();
  readonly #abort = new AbortController();
  #storage: ReplicaStorage | undefined;
  #running: Promise<void> = Promise.resolve();
  #listener: (kind: ReplicatedKind, reference: ObjectReference, beginning: boolean) => void = () => {};

  constructor(options: StorageReplicaStoreOptions, modules: StorageReplicaStoreModules) {
    this.#options = options;
    this.#modules = modules;
    this.ended.catch(() => {});
  }

  async start(): Promise<void> {
    this.#running = this.#run().then(
      () => this.#ended.resolve(),
      (error: unknown) => this.#ended.reject(error),
    );
  }

  async stop(): Promise<void> {
    this.#abort.abort(new Error('stopped'));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { open, clock, logger, random } = this.#modules;
    const { signal } = this.#abort;
    let storage: ReplicaStorage;
    try {
      storage = await retry(
        open,
        {
          initial: 200,
          max: 10_000,
          signal,
          onRetry: (error, _pause, failures) =>
            logger[failureLevel(failures)]('what is shared cannot be published yet', { failures, error }),
        },
        { clock, random },
      );
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    this.#storage = storage;
    try {
      const kinds = this.#options.kinds ?? replicatedKinds;
      const running = kinds.map((kind) => this.#mirror(kind, storage));
      Promise.all(running.map(({ mirror }) => mirror.synced)).then(
        () => this.#synced.resolve(),
        (error: unknown) => this.#synced.reject(error),
      );
      await Promise.all(running.map(({ ended }) => ended));
    } finally {
      await storage.close();
    }
  }

  #mirror(kind: ReplicatedKind, storage: ReplicaStorage): { mirror: ReplicaMirror; ended: Promise<void> } {
    const { clock, logger, random } = this.#modules;
    const prefix = cacheResourcePrefix(kind, this.#options.shardName);
    const mirror = new ReplicaMirror(
      { prefix, pageSize: this.#options.pageSize ?? 500 },
      {
        storage,
        clock,
        random,
        onChange: (reference, beginning) => this.#listener(kind, reference, beginning),
        onFailure: (error, failures) => {
          logger[failureLevel(failures)]('reading the replicas of this shard failed', { prefix, failures, error });
        },
      },
    );
    this.#mirrors.set(prefix, mirror);
    return { mirror, ended: mirror.run(this.#abort.signal) };
  }

  /** Names of all shards that have replicas. Reads all of them, kind by kind. */
  async shards(): Promise<ReadonlySet<string>> {
    await this.#known();
    const names = new Set<string>();
    for (const kind of this.#options.kinds ?? replicatedKinds) {
      const { items } = await this.#opened().list(cacheResourcePrefix(kind, wildcardShard));
      for (const { key } of items) {
        const place = parseCacheKey(key);
        if (place !== undefined) names.add(place.shard);
      }
    }
    return names;
  }

  /** Removes every replica of another shard. */
  async sweep(shard: string): Promise<void> {
    await this.#known();
    await sweepShard(this.#opened(), shard, this.#options.kinds);
  }

  follow(listener: (kind: ReplicatedKind, reference: ObjectReference, beginning: boolean) => void): void {
    this.#listener = listener;
  }

  known(kind: ReplicatedKind, reference: ObjectReference): MirroredReplica | undefined {
    return this.#mirrors.get(cacheResourcePrefix(kind, this.#options.shardName))?.get(this.#keyOf(kind, reference));
  }

  equals(known: KnownReplica, object: DeepReadonly<KubeObject>): boolean {
    return (known as MirroredReplica).digest === digestOf(encode(object));
  }

  async put(
    kind: ReplicatedKind,
    reference: ObjectReference,
    object: DeepReadonly<KubeObject>,
    known: KnownReplica | undefined,
  ): Promise<void> {
    const value = encode(object);
    await this.#write(kind, reference, digestOf(value), (storage, key) =>
      known === undefined ? storage.create(key, value) : storage.update(key, value, known.revision),
    );
  }

  async delete(kind: ReplicatedKind, reference: ObjectReference, known: KnownReplica): Promise<void> {
    await this.#write(kind, reference, undefined, (storage, key) => storage.delete(key, known.revision));
  }

  async #write(
    kind: ReplicatedKind,
    reference: ObjectReference,
    digest: string | undefined,
    write: (storage: ReplicaStorage, key: string) => Promise<number>,
  ): Promise<void> {
    const mirror = this.#mirrorOf(kind);
    const key = this.#keyOf(kind, reference);
    mirror.writing(key, digest);
    let revision: number | undefined;
    try {
      revision = await write(this.#opened(), key);
    } catch (cause) {
      if (!isStorageError(cause, 'KeyExists') && !isStorageError(cause, 'RevisionConflict')) throw cause;
      throw new ReplicaConflictError(`the replica ${key} is not what it was`, { cause });
    } finally {
      mirror.wrote(key, revision);
    }
  }

  /** As {@link synced}, and no longer than this runs: nobody knows whether the store will ever be reached. */
  async #known(): Promise<void> {
    const { signal } = this.#abort;
    await untilAborted(this.synced, signal);
    signal.throwIfAborted();
  }

  #opened(): ReplicaStorage {
    if (this.#storage === undefined) throw new Error('nothing may be written before the replicas are known');
    return this.#storage;
  }

  #keyOf(kind: ReplicatedKind, reference: ObjectReference): string {
    return cacheKey(kind, { ...reference, shard: this.#options.shardName });
  }

  #mirrorOf(kind: ReplicatedKind): ReplicaMirror {
    const mirror = this.#mirrors.get(cacheResourcePrefix(kind, this.#options.shardName));
    if (mirror === undefined) throw new TypeError(`${kind.resource}.${kind.group} is not replicated`);
    return mirror;
  }
}

function encode(object: DeepReadonly<KubeObject>): Buffer {
  return encodeForStorage(object as KubeObject);
}
