import type { CacheEntry } from './cache-entry.ts';
import type { CacheIndexes, ValueRequirement } from './cache-indexes.ts';
import type { Storage } from './interface.ts';

export type { CacheEntry } from './cache-entry.ts';

/** One change, shared by all subscribers. `memo` holds encoded watch frames by encoding; the first watcher that needs one adds it. */
export interface CacheEvent {
  /** The object after the change; undefined for a delete. */
  readonly current: CacheEntry | undefined;
  /** The object before the change; undefined for a create. */
  readonly previous: CacheEntry | undefined;
  readonly revision: number;
  readonly memo: Map<string, Buffer>;
  /**
   * What a reader sees changed without a change of the store (a consumer came or went): the revision is that of the
   * present state, and a subscriber takes the event although it knows the revision.
   */
  readonly isUnordered?: true | undefined;
}

/** An immutable state of one range at one revision. */
export interface CacheSnapshot {
  readonly revision: number;
  /** True if it has only the entries that meet the requirement that it was requested with. */
  readonly isNarrowed?: boolean | undefined;
  /** Entries in key order from `from` (inclusive), at most `limit`. */
  entries(from: string | undefined, limit: number): readonly CacheEntry[];
  /** Keys at or after `from`. */
  countFrom(from: string): number;
}

export interface SubscribeOptions {
  /** A prefix (ends with `/`) or a complete key. */
  readonly scope: string;
  /** Delivers events with a revision > `after`. {@link WatchCache.subscribe} throws CompactedError below the window. */
  readonly after: number;
  /**
   * Only events before or after which the object meets this are of interest. If an index has them, others are not delivered;
   * without an index they are.
   */
  readonly where?: ValueRequirement | undefined;
  /** Called in order, synchronously, on the dispatch path: must neither block nor throw. */
  readonly onEvent: (event: CacheEvent) => void;
  /**
   * Called once when the cache loads again or closes; the subscriber receives no further events and subscribes again.
   * `before` is the state that the subscriber has received, when the cache loads again: its difference to the current
   * state are the missed changes.
   */
  readonly onEnd: (reason: Error, before?: CacheSnapshot) => void;
}

/**
 * The cache of a whole store over any backend: reads and watches are served from memory, writes go to the backend. There is
 * one watch per backend. Its progress is the `revision` of the cache, so a consistent read only has to wait until the
 * cache has reached a revision.
 */
export interface WatchCache extends Storage {
  /** Resolves when the cache is loaded and up to date for the first time. */
  readonly ready: Promise<void>;
  isReady(): boolean;
  /**
   * Resolves when all values are in memory; rejects when one cannot be read. Before, an access to a value may read it from
   * a file synchronously, so readers of many values wait. Absent: all values are always in memory.
   */
  readonly valuesLoaded?: Promise<void>;
  /** True when the stored value should be encrypted again (capabilities/stale-values.ts). Absent: never. */
  isStale?(key: string): Promise<boolean>;
  /** True after close. */
  readonly closed: boolean;
  /** The cache has all writes up to this revision. */
  readonly revision: number;
  /** The oldest revision that a subscription can start after. */
  readonly oldestRevision: number;

  /** The current entry of the cache; may be stale on a store with other writers. */
  peek(key: string): CacheEntry | undefined;

  /**
   * Resolves with the revision that a consistent read must see, when the cache has reached it. Concurrent callers share one
   * request to the backend; a store with a local revision needs none.
   * Throws StorageUnavailableError when the cache does not catch up in time.
   */
  freshRevision(): Promise<number>;

  /** True when a consistent read need not wait: {@link freshRevision} would resolve immediately. */
  readonly isFresh: boolean;

  /** Resolves when the cache has reached `revision`; throws FutureRevisionError after `timeoutMs`. */
  waitFor(revision: number, timeoutMs: number): Promise<void>;

  /** Equality indexes; absent: the cache has none. */
  readonly indexes?: CacheIndexes | undefined;

  /**
   * The range at the current revision, or at an older one of the window (throws CompactedError before it). With a
   * requirement and a built index for it, the snapshot is narrowed to the entries that meet it.
   */
  snapshot(prefix: string, revision?: number, where?: ValueRequirement): CacheSnapshot;

  /**
   * The current entries below a prefix in key order, from a key (inclusive), at most `limit`. Unlike {@link snapshot} it
   * freezes no state, so that following writes need not copy tree nodes.
   */
  listCurrent(prefix: string, from?: string, limit?: number): readonly CacheEntry[];

  /** Returns a function that ends the subscription. Subscriptions to other scopes do not slow down dispatch. */
  subscribe(options: SubscribeOptions): () => void;

  /** Number of keys of each resource prefix (`/registry/<group>/<resource>/`) that has any: for metrics and controllers. */
  counts(): ReadonlyMap<string, number>;
}
