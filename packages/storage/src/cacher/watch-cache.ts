import { CompactedError, FutureRevisionError, StorageUnavailableError, isStorageError } from '../errors.ts';
import type {
  ListOptions,
  ListResult,
  Storage,
  StoredValue,
  WatchBatch,
  WatchOptions,
  WriteOptions,
} from '../interface.ts';
import type { CacheEntry, CacheSnapshot, SubscribeOptions, WatchCache } from '../watch-cache-interface.ts';
import { cacheWatch } from './cache-watch.ts';
import { FreshRevision, type FreshRevisionOptions } from './fresh-revision.ts';
import { scopeEnd } from './scope.ts';
import { StoreFollower, closedError, type StoreFollowerModules, type StoreFollowerOptions } from './store-follower.ts';

/** What the cache holds, for metrics. */
export interface WatchCacheStatistics {
  readonly objects: number;
  /** Bytes of the values of all objects. */
  readonly valueBytes: number;
  /** Memory taken for them. */
  readonly slabBytes: number;
  readonly windowEvents: number;
  readonly windowBytes: number;
  readonly frameBytes: number;
  readonly subscriptions: number;
  /** Older states that are kept for lists under way. */
  readonly pinnedStates: number;
  /** Readers that wait for a revision. */
  readonly waiters: number;
}

/**
 * The watch cache over a backend.
 *
 *   StoreFollower    loads the store, follows its one watch, applies and hands out; the algorithm stands there
 *   CacheContents    the present state and snapshots of older ones (OrderedTree, copy on write; values in ValueSlabs)
 *   EventWindow      the latest events, for late subscribers and older snapshots
 *   FreshRevision    what a read at "most recent" must wait for
 *
 * Writes go to the backend and are acknowledged by it alone. On a store with one writer process the promise resolves
 * when the cache has the write too, so that whoever wrote can peek at it.
 *
 * As a Storage it reads from memory when that is the same as asking the backend, and else asks: not loaded, cannot
 * catch up, an older revision than the window has.
 */
export class BackedWatchCache implements WatchCache {
  readonly #storage: Storage;
  readonly #follower: StoreFollower;
  readonly #fresh: FreshRevision;
  readonly #options: StoreFollowerOptions & FreshRevisionOptions;

  /** What the writers of the last commit wait for. */
  #following: { readonly revision: number; readonly reached: Promise<void> } | undefined;
  /** What was asked to be forgotten here; the window may hold more while the cache is behind. */
  #compacted = 0;

  constructor(options: StoreFollowerOptions & FreshRevisionOptions, modules: StoreFollowerModules) {
    this.#options = options;
    this.#storage = modules.storage;
    this.#follower = new StoreFollower(options, modules);
    this.#fresh = new FreshRevision(options, {
      storage: modules.storage,
      revision: () => (this.#follower.hasContent ? this.#follower.revision : -1),
      waitFor: (revision, timeoutMs) => this.waitFor(revision, timeoutMs),
      onWentBack: (from, to) => this.#follower.restart(new CompactedError(from, to)),
    });
  }

  get ready(): Promise<void> {
    return this.#follower.loaded;
  }

  isReady(): boolean {
    return this.#follower.ready;
  }

  /** Something was loaded, though it may be old by now; else everything throws StorageUnavailableError. */
  get hasContent(): boolean {
    return this.#follower.hasContent;
  }

  /** Resolves when all values are in memory; before, some are read when they are asked for. Rejects: one is damaged. */
  get filled(): Promise<void> {
    return this.#follower.filled;
  }

  isFilled(): boolean {
    return this.#follower.isFilled;
  }

  get closed(): boolean {
    return this.#follower.closed;
  }

  get revision(): number {
    return this.#follower.revision;
  }

  get oldestRevision(): number {
    return this.#follower.window.oldestRevision;
  }

  get localRevision(): number | undefined {
    return this.#storage.localRevision;
  }

  get statistics(): WatchCacheStatistics {
    const { contents, window, subscriptions, waiters } = this.#follower;
    return {
      objects: contents.size,
      valueBytes: contents.valueBytes,
      slabBytes: contents.slabBytes,
      windowEvents: window.length,
      windowBytes: window.bytes,
      frameBytes: window.frameBytes,
      subscriptions: subscriptions.size,
      pinnedStates: contents.pins,
      waiters: waiters.size,
    };
  }

  peek(key: string): CacheEntry | undefined {
    return this.#follower.contents.get(key);
  }

  freshRevision(): Promise<number> {
    return this.#follower.closed ? Promise.reject(closedError()) : this.#fresh.get();
  }

  get isFresh(): boolean {
    return !this.#follower.closed && this.#fresh.isFresh;
  }

  async waitFor(revision: number, timeoutMs: number): Promise<void> {
    const follower = this.#follower;
    if (follower.closed) throw closedError();
    // Before the first load the revision is 0 and says nothing about the content.
    if (follower.hasContent && follower.revision >= revision) return;
    await follower.waiters.wait(revision, timeoutMs, () => new FutureRevisionError(revision, follower.revision));
  }

  snapshot(prefix: string, revision = this.revision): CacheSnapshot {
    // An empty answer would say that there is nothing.
    if (!this.#follower.hasContent) throw new StorageUnavailableError('the watch cache is not loaded yet');
    return this.#follower.contents.snapshot(prefix, revision, this.revision);
  }

  present(prefix: string, from = prefix, limit?: number): readonly CacheEntry[] {
    if (!this.#follower.hasContent) throw new StorageUnavailableError('the watch cache is not loaded yet');
    return this.#follower.contents.range(from, scopeEnd(prefix), limit);
  }

  subscribe(options: SubscribeOptions): () => void {
    return this.#follower.subscribe(options);
  }

  counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const [resource, { keys }] of this.#follower.window.resources) if (keys > 0) counts.set(resource, keys);
    return counts;
  }

  async get(key: string): Promise<StoredValue | undefined> {
    if (!this.#covers(key) || !(await this.#isFresh())) return this.#storage.get(key);
    return stored(this.peek(key));
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    const { limit = 0, from, revision } = options;
    const here =
      this.#covers(prefix) &&
      (revision === undefined
        ? await this.#isFresh()
        : this.#usable && revision >= this.oldestRevision && revision <= this.revision);
    if (!here) return this.#storage.list(prefix, options);
    const snapshot = this.snapshot(prefix, revision);
    const entries = snapshot.entries(from, limit > 0 ? limit : Infinity);
    const remaining = snapshot.countFrom(from ?? prefix) - entries.length;
    return { items: entries.map((entry) => stored(entry)), revision: snapshot.revision, remaining };
  }

  create(key: string, value: Buffer, options?: WriteOptions): Promise<number> {
    return this.#storage.create(key, value, options).then(this.#written);
  }

  update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number> {
    return this.#storage.update(key, value, expected, options).then(this.#written);
  }

  delete(key: string, expected: number): Promise<number> {
    return this.#storage.delete(key, expected).then(this.#written);
  }

  watch(prefix: string, { after, signal }: WatchOptions): AsyncIterable<WatchBatch> {
    // The backend may have history that the window has not (after a restart it always has).
    const here = this.#covers(prefix) && this.#usable && after >= Math.max(this.oldestRevision, this.#compacted);
    return here ? cacheWatch(this.#follower, prefix, after, signal) : this.#storage.watch(prefix, { after, signal });
  }

  currentRevision(): Promise<number> {
    return this.#storage.currentRevision();
  }

  async compact(revision: number): Promise<void> {
    await this.#storage.compact(revision);
    this.#compacted = Math.max(this.#compacted, revision);
    if (this.#usable) await this.waitFor(revision, this.#options.timeoutMs).catch(() => undefined);
    // Never beyond what the cache has reached: a subscription must be able to start now.
    this.#follower.window.compact(Math.min(revision, this.revision));
    this.#follower.contents.dropOldPins();
  }

  check(): Promise<void> {
    return this.#storage.check();
  }

  /** Ends subscriptions and waiters, then closes the backend. */
  async close(): Promise<void> {
    // Together: a question to the backend that hangs ends only when the backend is closed.
    await Promise.all([this.#follower.close(), this.#storage.close()]);
  }

  /** False: ask the backend, which also knows what to say when everything is closed. */
  get #usable(): boolean {
    return this.#follower.hasContent && !this.#follower.closed;
  }

  #covers(scope: string): boolean {
    return scope.startsWith(this.#options.prefix);
  }

  /** True when the cache has everything a read at this moment must see. */
  async #isFresh(): Promise<boolean> {
    if (!this.#usable) return false;
    if (this.#fresh.isFresh) return true;
    try {
      await this.freshRevision();
      return true;
    } catch (error) {
      if (isStorageError(error, 'Unavailable')) return false;
      throw error;
    }
  }

  readonly #written = (revision: number): number | Promise<number> => {
    const local = this.localRevision;
    if (local === undefined || this.revision >= revision) return revision;
    // Writes that were committed together wait together, for the last of them.
    if (this.#following?.revision !== local) {
      // The backend has acknowledged it: whatever becomes of the cache, the write has happened.
      const reached = this.waitFor(local, this.#options.timeoutMs).catch(() => undefined);
      this.#following = { revision: local, reached };
    }
    return this.#following.reached.then(() => revision);
  };
}

function stored(entry: CacheEntry): StoredValue;
function stored(entry: CacheEntry | undefined): StoredValue | undefined;
function stored(entry: CacheEntry | undefined): StoredValue | undefined {
  return entry && { key: entry.key, value: entry.value, revision: entry.revision };
}
