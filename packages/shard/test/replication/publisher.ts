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
import { StorageReplicaStore } from '../storage-replica-store.ts';
import type { Fate } from './shared-store.ts';

/** The way of one process to the store of replicas: writes meet their fates, and nothing passes once the process is dead. */
class FaultyWay {
  readonly storage: Storage;
  readonly #fates: Fate[];
  #dead = false;

  constructor(inner: Storage, fates: readonly Fate[]) {
    this.#fates = [...fates];
    const write =
      <P extends unknown[]>(operation: (...parameters: P) => Promise<number>) =>
      (...parameters: P): Promise<number> =>
        this.#write(String(parameters[0]), () => operation(...parameters));
    this.storage = new Proxy(inner, {
      get: (target, name: keyof Storage) => {
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
    const fate = this.#fates.shift() ?? 'done';
    if (fate === 'refused') throw new StorageUnavailableError('scripted');
    if (fate === 'late') for (let turn = 0; turn < 3; turn++) await nextTurn();
    const revision = await operation();
    if (fate === 'unanswered') throw new OutcomeUnknownError(key, new Error('scripted'));
    if (this.#dead) return new Promise(() => {});
    return revision;
  }
}

/** One process that publishes what one shard shares, until it is killed. */
export class Publisher {
  readonly #way: FaultyWay;
  readonly #cache: WatchCache;
  readonly #runnables: readonly Runnable[];
  #paused: Promise<void> = Promise.resolve();
  #resume: () => void = () => {};

  constructor(
    options: {
      readonly shardName: string;
      readonly kinds: readonly ReplicatedKind[];
      readonly fates?: readonly Fate[];
      readonly pageSize?: number;
    },
    modules: { readonly local: Storage; readonly shared: Storage; readonly clock: Clock },
  ) {
    const { shardName, kinds, fates = [], pageSize } = options;
    const { local, shared, clock } = modules;
    this.#way = new FaultyWay(shared, fates);
    const delayed = async function* (
      this: Publisher,
      ...parameters: Parameters<Storage['watch']>
    ): AsyncGenerator<WatchBatch> {
      for await (const batch of local.watch(...parameters)) {
        await this.#paused;
        yield batch;
      }
    }.bind(this);
    // Others may write to the store of the shard, too: it must be asked what the present is.
    const kept = new Proxy(unclosed(local), {
      get: (target, name: keyof Storage) => {
        if (name === 'watch') return delayed;
        return name === 'localRevision' ? undefined : target[name];
      },
    });
    this.#cache = openWatchCache({}, { storage: kept, clock, onError: () => {} });
    const reader = new ObjectReader({ decoded: new DecodedObjects({ maxBytes: 1024 * 1024 }) });
    const informers = new CacheInformerFactory({}, { cache: this.#cache, reader, builtIn: builtInResources() });
    const store = new StorageReplicaStore(
      { shardName, kinds, pageSize },
      { open: async () => unclosed(this.#way.storage), clock, logger: silentLogger, random: () => 0.5 },
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

  /** From now on it hears nothing of its shard's store, until {@link resume}. */
  pause(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#paused = promise;
    this.#resume = resolve;
  }

  resume(): void {
    this.#resume();
  }

  /** Ends without finishing anything. */
  kill(): void {
    this.#way.kill();
    this.resume();
    for (const runnable of this.#runnables) void runnable.stop();
    void this.#cache.close();
  }
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** A store that outlives the process, as it does when the process is a real one. */
export function unclosed(storage: Storage): Storage {
  return new Proxy(storage, {
    get: (target, name: keyof Storage) => {
      if (name === 'close') return async () => {};
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
