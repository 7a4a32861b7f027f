import { encodeForStorage } from '@multiplane/apiserver';
import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectReference } from '@multiplane/client';
import { failureLevel, retry, untilAborted, type Clock, type Logger, type Runnable } from '@multiplane/component-base';
import {
  CachedObjectConflictError,
  replicatedKinds,
  type KnownCachedObject,
  type CachedObjectStore,
  type OpenedCachedKind,
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
import { digestOf, CachedObjectMirror, type MirroredObject } from './cached-object-mirror.ts';

export interface StorageCachedObjectStoreOptions {
  readonly shardName: string;
  readonly kinds?: readonly ReplicatedKind[] | undefined;
  /** Objects per list page; 0: no limit, for a store where each page costs as much as the whole list. */
  readonly pageSize?: number | undefined;
}

export interface StorageCachedObjectStoreModules {
  /** Opens the store; retried until it succeeds. */
  readonly open: () => Promise<CachedObjectStorage>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: (() => number) | undefined;
}

type MirrorListener = (reference: ObjectReference, isInInitialList: boolean) => void;

/** A kind that {@link StorageCachedObjectStore.open} follows. */
interface FollowedKind {
  readonly kind: ReplicatedKind;
  readonly listeners: Set<MirrorListener>;
  readonly abort: AbortController;
  readonly synced: PromiseWithResolvers<void>;
}

/** The used part of a store; `close` releases what `open` acquired. */
export type CachedObjectStorage = Pick<Storage, 'create' | 'update' | 'delete' | 'list' | 'watch' | 'check' | 'close'>;

/**
 * The cached objects of one shard in the store that the cache server reads: a JetStream stream, or the storage of an embedded
 * cache server. Every write is a compare-and-set on the revision that the mirror has; after a failed write, the mirror reports
 * the current state through the watch.
 *
 * An unreachable store does not block the shard: objects are published once it can be opened.
 */
export class StorageCachedObjectStore implements CachedObjectStore, Runnable {
  readonly name = 'cached objects';
  readonly #synced = Promise.withResolvers<void>();
  readonly synced: Promise<void> = this.#synced.promise;
  readonly #ended = Promise.withResolvers<void>();
  readonly ended: Promise<void> = this.#ended.promise;
  readonly #options: StorageCachedObjectStoreOptions;
  readonly #modules: StorageCachedObjectStoreModules;
  readonly #mirrors = new Map<string, CachedObjectMirror>();
  /** Kinds beyond the fixed ones, by the prefix of their keys. */
  readonly #followed = new Map<string, FollowedKind>();
  readonly #abort = new AbortController();
  #storage: CachedObjectStorage | undefined;
  #running: Promise<void> = Promise.resolve();
  #listener: (kind: ReplicatedKind, reference: ObjectReference, beginning: boolean) => void = () => {};

  constructor(options: StorageCachedObjectStoreOptions, modules: StorageCachedObjectStoreModules) {
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

  /** Rejects with the reason while the store cannot be written. */
  async check(): Promise<void> {
    await this.#opened().check();
  }

  async #run(): Promise<void> {
    const { open, clock, logger, random } = this.#modules;
    const { signal } = this.#abort;
    let storage: CachedObjectStorage;
    try {
      storage = await retry(
        open,
        {
          initial: 200,
          max: 10_000,
          signal,
          onRetry: (error, _pause, failures) =>
            logger[failureLevel(failures)]('failed to open the cache storage', { failures, error }),
        },
        { clock, random },
      );
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    this.#storage = storage;
    for (const followed of this.#followed.values()) this.#follow(followed, storage);
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

  open(
    kind: ReplicatedKind,
    listener: (reference: ObjectReference, isInInitialList: boolean) => void,
  ): OpenedCachedKind {
    const prefix = cacheResourcePrefix(kind, this.#options.shardName);
    let followed = this.#followed.get(prefix);
    if (followed === undefined) {
      followed = { kind, listeners: new Set(), abort: new AbortController(), synced: Promise.withResolvers() };
      this.#followed.set(prefix, followed);
      if (this.#storage !== undefined) this.#follow(followed, this.#storage);
    }
    const { listeners, abort, synced } = followed;
    listeners.add(listener);
    return {
      synced: synced.promise,
      list: (cluster) => this.#list(prefix, cluster),
      count: (cluster) => this.#count(prefix, cluster),
      close: () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        abort.abort();
        this.#followed.delete(prefix);
        this.#mirrors.delete(prefix);
      },
    };
  }

  #follow({ kind, listeners, abort, synced }: FollowedKind, storage: CachedObjectStorage): void {
    const signal = AbortSignal.any([this.#abort.signal, abort.signal]);
    const onChange = (reference: ObjectReference, isInInitialList: boolean): void => {
      for (const listener of listeners) listener(reference, isInInitialList);
    };
    const { mirror } = this.#mirror(kind, storage, { signal, onChange });
    mirror.synced.then(synced.resolve, () => undefined);
  }

  #list(prefix: string, cluster: LogicalClusterName): ObjectReference[] {
    const start = `${prefix}${cluster}/`;
    const references: ObjectReference[] = [];
    for (const key of this.#mirrors.get(prefix)?.keys() ?? []) {
      const place = key.startsWith(start) ? parseCacheKey(key) : undefined;
      if (place !== undefined) references.push({ cluster, namespace: place.namespace, name: place.name });
    }
    return references;
  }

  #count(prefix: string, cluster: LogicalClusterName): number {
    const start = `${prefix}${cluster}/`;
    let count = 0;
    for (const key of this.#mirrors.get(prefix)?.keys() ?? []) if (key.startsWith(start)) count++;
    return count;
  }

  #mirror(
    kind: ReplicatedKind,
    storage: CachedObjectStorage,
    { signal, onChange }: { readonly signal: AbortSignal; readonly onChange: MirrorListener } = {
      signal: this.#abort.signal,
      onChange: (reference, beginning) => this.#listener(kind, reference, beginning),
    },
  ): { mirror: CachedObjectMirror; ended: Promise<void> } {
    const { clock, logger, random } = this.#modules;
    const prefix = cacheResourcePrefix(kind, this.#options.shardName);
    const mirror = new CachedObjectMirror(
      { prefix, pageSize: this.#options.pageSize ?? 500 },
      {
        storage,
        clock,
        random,
        onChange,
        onFailure: (error, failures) => {
          logger[failureLevel(failures)]('failed to read the cached objects of this shard', {
            prefix,
            failures,
            error,
          });
        },
      },
    );
    this.#mirrors.set(prefix, mirror);
    return { mirror, ended: mirror.run(signal) };
  }

  /** Names of all shards with cached objects. Lists all objects, kind by kind. */
  async shards(): Promise<ReadonlySet<string>> {
    await this.#waitUntilSynced();
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

  /** Deletes all cached objects of another shard. */
  async sweep(shard: string): Promise<void> {
    await this.#waitUntilSynced();
    await sweepShard(this.#opened(), shard, this.#options.kinds);
  }

  onChange(listener: (kind: ReplicatedKind, reference: ObjectReference, beginning: boolean) => void): void {
    this.#listener = listener;
  }

  get(kind: ReplicatedKind, reference: ObjectReference): MirroredObject | undefined {
    return this.#mirrors.get(cacheResourcePrefix(kind, this.#options.shardName))?.get(this.#keyOf(kind, reference));
  }

  equals(known: KnownCachedObject, object: DeepReadonly<KubeObject>): boolean {
    return (known as MirroredObject).digest === digestOf(encode(object));
  }

  async put(
    kind: ReplicatedKind,
    reference: ObjectReference,
    object: DeepReadonly<KubeObject>,
    known: KnownCachedObject | undefined,
  ): Promise<void> {
    const value = encode(object);
    await this.#write(kind, reference, digestOf(value), (storage, key) =>
      known === undefined ? storage.create(key, value) : storage.update(key, value, known.revision),
    );
  }

  async delete(kind: ReplicatedKind, reference: ObjectReference, known: KnownCachedObject): Promise<void> {
    await this.#write(kind, reference, undefined, (storage, key) => storage.delete(key, known.revision));
  }

  async #write(
    kind: ReplicatedKind,
    reference: ObjectReference,
    digest: string | undefined,
    write: (storage: CachedObjectStorage, key: string) => Promise<number>,
  ): Promise<void> {
    const mirror = this.#mirrorOf(kind);
    const key = this.#keyOf(kind, reference);
    mirror.writing(key, digest);
    let revision: number | undefined;
    try {
      revision = await write(this.#opened(), key);
    } catch (cause) {
      if (!isStorageError(cause, 'KeyExists') && !isStorageError(cause, 'RevisionConflict')) throw cause;
      throw new CachedObjectConflictError(`the cached object ${key} has changed`, { cause });
    } finally {
      mirror.wrote(key, revision);
    }
  }

  /** Waits for {@link synced}; throws when the store stops, because it may never have been reachable. */
  async #waitUntilSynced(): Promise<void> {
    const { signal } = this.#abort;
    await untilAborted(this.synced, signal);
    signal.throwIfAborted();
  }

  #opened(): CachedObjectStorage {
    if (this.#storage === undefined) throw new Error('the store of cached objects is not open yet');
    return this.#storage;
  }

  #keyOf(kind: ReplicatedKind, reference: ObjectReference): string {
    return cacheKey(kind, { ...reference, shard: this.#options.shardName });
  }

  #mirrorOf(kind: ReplicatedKind): CachedObjectMirror {
    const mirror = this.#mirrors.get(cacheResourcePrefix(kind, this.#options.shardName));
    if (mirror === undefined) throw new TypeError(`${kind.resource}.${kind.group} is not replicated`);
    return mirror;
  }
}

function encode(object: DeepReadonly<KubeObject>): Buffer {
  return encodeForStorage(object as KubeObject);
}
