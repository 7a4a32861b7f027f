import { afterEach, beforeEach } from '@jest/globals';
import type { Storage, StorageEvent, WatchBatch } from '../../src/interface.ts';

/** Creates an empty store, or one whose `/registry/` is empty; `close()` must release everything. */
export type MakeStore = () => Promise<Storage>;

/** Optional parts of the contract that a store does not have. Its alternative behaviour is tested as well. */
export interface Limits {
  /**
   * States of older revisions, and changes that a later change of the same key replaced. A store without history keeps the
   * last change of each key and refuses older states; a watch cache over it has some of them.
   */
  readonly history?: 'all' | 'most' | undefined;
  /** `ttlSeconds`: a store without it refuses such writes. */
  readonly expiry?: boolean | undefined;
  /** A compaction takes no revision; without it, it takes one. */
  readonly freeCompaction?: boolean | undefined;
}

/** Each test of a group has a separate store. */
export interface Subject {
  readonly store: Storage;
}

/** Long enough for a loaded machine, short enough to find the test that hangs. */
const patienceMs = 20_000;

/** Creates a store before each test of the surrounding `describe`. */
export function useSubject(makeStore: MakeStore): Subject {
  let store: Storage | undefined;
  beforeEach(async () => {
    store = await makeStore();
  });
  afterEach(async () => {
    await store?.close();
    store = undefined;
  });
  return {
    get store() {
      if (store === undefined) throw new Error('the store exists only inside a test');
      return store;
    },
  };
}

export const prefix = '/registry/core/configmaps/';
export const bytes = (text: string): Buffer => Buffer.from(text);

/** Creates or replaces a key. */
export async function put(store: Storage, key: string, text: string): Promise<number> {
  const current = await store.get(key);
  return current === undefined
    ? await store.create(key, bytes(text))
    : await store.update(key, bytes(text), current.revision);
}

/** Deletes an existing key. */
export async function remove(store: Storage, key: string): Promise<number> {
  const current = await store.get(key);
  if (current === undefined) throw new Error(`${key} is not there`);
  return await store.delete(key, current.revision);
}

/** A watch that a test reads step by step and that records what it has read. */
export class Watching {
  readonly events: StorageEvent[] = [];
  readonly batches: WatchBatch[] = [];
  readonly #abort = new AbortController();
  readonly #iterator: AsyncIterator<WatchBatch>;
  #pending: Promise<IteratorResult<WatchBatch>> | undefined;

  constructor(store: Storage, scope: string, after: number) {
    this.#iterator = store.watch(scope, { after, signal: this.#abort.signal })[Symbol.asyncIterator]();
  }

  /** Reads batches until the condition holds; fails when the watch ends or times out. */
  async until(condition: (watching: this) => boolean): Promise<this> {
    while (!condition(this)) if (!(await this.step())) throw new Error('the watch ended early');
    return this;
  }

  /** Reads until this many events have arrived. */
  async count(events: number): Promise<this> {
    return await this.until(() => this.events.length >= events);
  }

  /** Reads one batch; false when the watch has ended. */
  async step(): Promise<boolean> {
    this.#pending ??= this.#iterator.next();
    const result = await within(patienceMs, this.#pending, () => `nothing more after ${this.events.length} events`);
    this.#pending = undefined;
    if (result.done === true) return false;
    this.batches.push(result.value);
    this.events.push(...result.value.events);
    return true;
  }

  /** Starts reading without waiting, so that backends that open watches on demand open it. */
  start(): this {
    this.#pending ??= this.#iterator.next();
    this.#pending.catch(() => undefined);
    return this;
  }

  /** Aborts the watch and waits for its end. */
  async stop(): Promise<void> {
    this.#abort.abort();
    while (await this.step());
  }
}

/** Rejects after a timeout. */
export async function within<T>(ms: number, promise: Promise<T>, what: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    // oxlint-disable-next-line tests/no-real-timers -- the limit of a wait for a server
    timer = setTimeout(() => reject(new Error(`timed out: ${what()}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The code of the StorageError that a promise rejects with; 'none' when it resolves. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'none';
  } catch (error) {
    if (error instanceof Error && 'code' in error) return String(error.code);
    throw error;
  }
}
