import { CacheInformerFactory, DecodedObjects, ObjectReader } from '@multiplane/apiserver';
import { builtInResources } from '@multiplane/apis';
import { silentLogger, type Clock, type Runnable } from '@multiplane/component-base';
import { replicationController, type ReplicatedKind } from '@multiplane/controllers';
import {
  openWatchCache,
  OutcomeUnknownError,
  StorageUnavailableError,
  type Storage,
  type WatchBatch,
  type WatchCache,
} from '@multiplane/storage';
import { StorageCachedObjectStore } from '../../src/replication/cached-object-store.ts';
import type { WriteOutcome } from './lossy-storage.ts';

/** The connection of one process to the cache storage: injects write outcomes, and never resolves after {@link kill}. */
class FaultInjectingStorage {
  readonly storage: Storage;
  readonly #outcomes: WriteOutcome[];
  #dead = false;

  constructor(inner: Storage, outcomes: readonly WriteOutcome[]) {
    this.#outcomes = [...outcomes];
    const write =
      <P extends unknown[]>(operation: (...parameters: P) => Promise<number>) =>
      (...parameters: P): Promise<number> =>
        this.#write(String(parameters[0]), () => operation(...parameters));
    this.storage = new Proxy(inner, {
      get: (target, name: string): unknown => {
        if (name === 'create' || name === 'update' || name === 'delete')
          return write((target[name] as (...parameters: unknown[]) => Promise<number>).bind(target));
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  }

  kill(): void {
    this.#dead = true;
  }

  async #write(key: string, operation: () => Promise<number>): Promise<number> {
    if (this.#dead) return new Promise(() => {});
    const outcome = this.#outcomes.shift() ?? 'done';
    if (outcome === 'refused') throw new StorageUnavailableError('scripted');
    if (outcome === 'late') for (let tick = 0; tick < 3; tick++) await nextMacrotask();
    const revision = await operation();
    if (outcome === 'unanswered') throw new OutcomeUnknownError(key, new Error('scripted'));
    if (this.#dead) return new Promise(() => {});
    return revision;
  }
}

/** One process that publishes the objects of one shard, until it is killed. */
export class Publisher {
  readonly #connection: FaultInjectingStorage;
  readonly #cache: WatchCache;
  readonly #runnables: readonly Runnable[];
  #paused: Promise<void> = Promise.resolve();
  #resume: () => void = () => {};

  constructor(
    options: {
      readonly shardName: string;
      readonly kinds: readonly ReplicatedKind[];
      readonly outcomes?: readonly WriteOutcome[];
      readonly pageSize?: number;
    },
    modules: { readonly local: Storage; readonly shared: Storage; readonly clock: Clock },
  ) {
    const { shardName, kinds, outcomes = [], pageSize } = options;
    const { local, shared, clock } = modules;
    this.#connection = new FaultInjectingStorage(shared, outcomes);
    const delayed = async function* (
      this: Publisher,
      ...parameters: Parameters<Storage['watch']>
    ): AsyncGenerator<WatchBatch> {
      for await (const batch of local.watch(...parameters)) {
        await this.#paused;
        yield batch;
      }
    }.bind(this);
    // Other processes write to the storage of the shard, too, so the current revision must be read from it.
    const kept = new Proxy(unclosed(local), {
      get: (target, name: string): unknown => {
        if (name === 'watch') return delayed;
        return name === 'localRevision' ? undefined : Reflect.get(target, name);
      },
    });
    this.#cache = openWatchCache({}, { storage: kept, clock, onError: () => {} });
    const reader = new ObjectReader({ decoded: new DecodedObjects({ maxBytes: 1024 * 1024 }) });
    const informers = new CacheInformerFactory({ cache: this.#cache, reader, builtIn: builtInResources() });
    const store = new StorageCachedObjectStore(
      { shardName, kinds, pageSize },
      { open: async () => unclosed(this.#connection.storage), clock, logger: silentLogger, random: () => 0.5 },
    );
    const controller = replicationController(
      { shardName, kinds },
      { informers, store, clock, logger: silentLogger, fresh: () => this.#cache.freshRevision() },
    );
    this.#runnables = [store, controller];
  }

  async start(): Promise<void> {
    for (const runnable of this.#runnables) await runnable.start();
  }

  /** Delays watch events of the shard's storage until {@link resume}. */
  pause(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#paused = promise;
    this.#resume = resolve;
  }

  resume(): void {
    this.#resume();
  }

  /** Stops without completing writes in flight. */
  kill(): void {
    this.#connection.kill();
    this.resume();
    for (const runnable of this.#runnables) void runnable.stop();
    void this.#cache.close();
  }
}

export function nextMacrotask(): Promise<void> {
  return new Promise((resolve) => {
    // oxlint-disable-next-line tests/no-real-timers -- models count iterations, not time
    setImmediate(resolve);
  });
}

/** A storage whose `close` does nothing: it outlives the simulated process. */
export function unclosed(storage: Storage): Storage {
  return new Proxy(storage, {
    get: (target, name: string): unknown => {
      if (name === 'close') return async () => {};
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
