import { traced } from '@multiplane/component-base';
import type { CacheIndexes, ValueRequirement } from '../cache-indexes.ts';
import { isStaleValue } from '../capabilities/stale-values.ts';
import { localRevisionOf } from '../capabilities/local-revision.ts';
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
import {
  CacheReflector,
  closedError,
  type CacheReflectorModules,
  type CacheReflectorOptions,
} from './cache-reflector.ts';

/** Sizes of the cache, for metrics. */
export interface WatchCacheStatistics {
  readonly objects: number;
  /** Bytes of the values of all objects. */
  readonly valueBytes: number;
  /** Memory allocated for the values. */
  readonly slabBytes: number;
  readonly windowEvents: number;
  readonly windowBytes: number;
  readonly frameBytes: number;
  readonly subscriptions: number;
  /** Snapshots of older revisions that are kept for paged lists. */
  readonly pinnedSnapshots: number;
  /** Readers that wait until the cache reaches a revision. */
  readonly waiters: number;
  readonly indexes: number;
  /** Over all indexes: objects, events of the window, and values. */
  readonly indexedObjects: number;
  readonly indexedEvents: number;
  readonly indexedValues: number;
}

/**
 * The watch cache over a backend.
 *
 *   CacheReflector   loads the store, watches it, applies and dispatches events; describes the algorithm
 *   CacheContents    the current state and snapshots of older revisions (copy-on-write OrderedTree, values in ValueSlabs)
 *   EventWindow      the latest events, for resumed watches and snapshots of older revisions
 *   ValueIndexes     objects and events by a value, for readers of a few of many objects
 *   FreshRevision    the revision that a consistent read must wait for
 *
 *   writes           go to the backend, which alone acknowledges them. With a local revision the promise resolves when the
 *                    cache has the write too, so that the writer can read it with peek.
 *   get, list        read from memory when the result equals that of the backend; otherwise (not loaded, not caught up in
 *                    time, older revision than the window) they read from the backend.
 *   watch            subscribes to the event window; before the window it watches the backend, which may have more history
 *                    (after a restart it always has).
 */
export class BackedWatchCache implements WatchCache {
  readonly #storage: Storage;
  readonly #reflector: CacheReflector;
  readonly #fresh: FreshRevision;
  readonly #options: CacheReflectorOptions & FreshRevisionOptions;

  /** The wait that is shared by the writes of the last commit. */
  #catchingUp: { readonly revision: number; readonly reached: Promise<void> } | undefined;
  /** The revision of the last compaction through this cache; the window may reach further back while the cache lags. */
  #compacted = 0;

  constructor(options: CacheReflectorOptions & FreshRevisionOptions, modules: CacheReflectorModules) {
    this.#options = options;
    this.#storage = modules.storage;
    this.#reflector = new CacheReflector(options, modules);
    this.#fresh = new FreshRevision(options, {
      storage: modules.storage,
      revision: () => (this.#reflector.hasContent ? this.#reflector.revision : -1),
      waitFor: (revision, timeoutMs) => this.waitFor(revision, timeoutMs),
      onRevisionRegressed: (from, to) => this.#reflector.restart(new CompactedError(from, to)),
    });
  }

  get ready(): Promise<void> {
    return this.#reflector.loaded;
  }

  isReady(): boolean {
    return this.#reflector.ready;
  }

  /** True after the first load; before it, snapshots and subscriptions throw StorageUnavailableError. */
  get hasContent(): boolean {
    return this.#reflector.hasContent;
  }

  get valuesLoaded(): Promise<void> {
    return this.#reflector.valuesLoaded;
  }

  areValuesLoaded(): boolean {
    return this.#reflector.areValuesLoaded;
  }

  isStale(key: string): Promise<boolean> {
    return isStaleValue(this.#storage, key);
  }

  get closed(): boolean {
    return this.#reflector.closed;
  }

  get revision(): number {
    return this.#reflector.revision;
  }

  get oldestRevision(): number {
    return this.#reflector.window.oldestRevision;
  }

  get localRevision(): number | undefined {
    return localRevisionOf(this.#storage);
  }

  get statistics(): WatchCacheStatistics {
    const { contents, window, subscriptions, waiters, indexes } = this.#reflector;
    const indexed = indexes.statistics;
    return {
      objects: contents.size,
      valueBytes: contents.valueBytes,
      slabBytes: contents.slabBytes,
      windowEvents: window.length,
      windowBytes: window.bytes,
      frameBytes: window.frameBytes,
      subscriptions: subscriptions.size + indexed.subscriptions,
      pinnedSnapshots: contents.pins,
      waiters: waiters.size,
      indexes: indexes.size,
      indexedObjects: indexed.entries,
      indexedEvents: indexed.events,
      indexedValues: indexed.values,
    };
  }

  peek(key: string): CacheEntry | undefined {
    return this.#reflector.contents.get(key);
  }

  freshRevision(): Promise<number> {
    return this.#reflector.closed ? Promise.reject(closedError()) : traced('watch cache wait', () => this.#fresh.get());
  }

  get isFresh(): boolean {
    return !this.#reflector.closed && this.#fresh.isFresh;
  }

  async waitFor(revision: number, timeoutMs: number): Promise<void> {
    const reflector = this.#reflector;
    if (reflector.closed) throw closedError();
    // Before the first load the revision is 0, which is not a revision of the contents.
    if (reflector.hasContent && reflector.revision >= revision) return;
    await reflector.waiters.wait(revision, timeoutMs, () => new FutureRevisionError(revision, reflector.revision));
  }

  get indexes(): CacheIndexes {
    return this.#reflector.indexes;
  }

  snapshot(prefix: string, revision = this.revision, where?: ValueRequirement): CacheSnapshot {
    // An empty snapshot would mean that there are no objects.
    if (!this.#reflector.hasContent) throw new StorageUnavailableError('the watch cache is not loaded yet');
    return this.#reflector.snapshot(prefix, revision, where);
  }

  listCurrent(prefix: string, from = prefix, limit?: number): readonly CacheEntry[] {
    if (!this.#reflector.hasContent) throw new StorageUnavailableError('the watch cache is not loaded yet');
    return this.#reflector.contents.range(from, scopeEnd(prefix), limit);
  }

  subscribe(options: SubscribeOptions): () => void {
    return this.#reflector.subscribe(options);
  }

  counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const [resource, { keys }] of this.#reflector.window.resources) if (keys > 0) counts.set(resource, keys);
    return counts;
  }

  async get(key: string): Promise<StoredValue | undefined> {
    if (!this.#covers(key) || !(await this.#isFresh())) return this.#storage.get(key);
    return storedValue(this.peek(key));
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    const { limit = 0, from, revision } = options;
    const fromMemory =
      this.#covers(prefix) &&
      (revision === undefined
        ? await this.#isFresh()
        : this.#usable && revision >= this.oldestRevision && revision <= this.revision);
    if (!fromMemory) return this.#storage.list(prefix, options);
    const snapshot = this.snapshot(prefix, revision);
    const entries = snapshot.entries(from, limit > 0 ? limit : Infinity);
    const remaining = snapshot.countFrom(from ?? prefix) - entries.length;
    return { items: entries.map((entry) => storedValue(entry)), revision: snapshot.revision, remaining };
  }

  create(key: string, value: Buffer, options?: WriteOptions): Promise<number> {
    return traced('storage create', () => this.#storage.create(key, value, options).then(this.#afterWrite));
  }

  update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number> {
    return traced('storage update', () => this.#storage.update(key, value, expected, options).then(this.#afterWrite));
  }

  delete(key: string, expected: number): Promise<number> {
    return traced('storage delete', () => this.#storage.delete(key, expected).then(this.#afterWrite));
  }

  watch(prefix: string, { after, signal }: WatchOptions): AsyncIterable<WatchBatch> {
    const fromMemory = this.#covers(prefix) && this.#usable && after >= Math.max(this.oldestRevision, this.#compacted);
    return fromMemory
      ? cacheWatch(this.#reflector, prefix, after, signal)
      : this.#storage.watch(prefix, { after, signal });
  }

  currentRevision(): Promise<number> {
    return this.#storage.currentRevision();
  }

  async compact(revision: number): Promise<void> {
    await this.#storage.compact(revision);
    this.#compacted = Math.max(this.#compacted, revision);
    if (this.#usable) await this.waitFor(revision, this.#options.timeoutMs).catch(() => undefined);
    // Not beyond the revision of the cache: a subscription must be able to start at it.
    this.#reflector.window.compact(Math.min(revision, this.revision));
    this.#reflector.dropOldPins();
  }

  check(): Promise<void> {
    return this.#storage.check();
  }

  /** Ends subscriptions and waiters, then closes the backend. */
  async close(): Promise<void> {
    // Concurrently: a hanging request to the backend ends only when the backend is closed.
    await Promise.all([this.#reflector.close(), this.#storage.close()]);
  }

  /** False: use the backend, which also returns the error for a closed store. */
  get #usable(): boolean {
    return this.#reflector.hasContent && !this.#reflector.closed;
  }

  #covers(scope: string): boolean {
    return scope.startsWith(this.#options.prefix);
  }

  /** True when the cache has everything that a consistent read must see now. */
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

  readonly #afterWrite = (revision: number): number | Promise<number> => {
    const local = this.localRevision;
    if (local === undefined || this.revision >= revision) return revision;
    // Writes of one commit share the wait for the last of them.
    if (this.#catchingUp?.revision !== local) {
      // The backend has acknowledged the write, so a cache that does not catch up is no error of the write.
      const reached = this.waitFor(local, this.#options.timeoutMs).catch(() => undefined);
      this.#catchingUp = { revision: local, reached };
    }
    return this.#catchingUp.reached.then(() => revision);
  };
}

function storedValue(entry: CacheEntry): StoredValue;
function storedValue(entry: CacheEntry | undefined): StoredValue | undefined;
function storedValue(entry: CacheEntry | undefined): StoredValue | undefined {
  return entry && { key: entry.key, value: entry.value, revision: entry.revision };
}
