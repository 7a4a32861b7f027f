import type { Storage, StoredValue } from './interface.ts';

/**
 * One object in the watch cache. `attachment` belongs to whoever reads the cache (the API server keeps labels, field
 * values and owners of the object there, taken when it was written): it lives and dies with this version of the object.
 * `value` is a new view of the bytes at each access, so take it once.
 */
export interface CacheEntry extends StoredValue {
  attachment: unknown;
}

/** One change, shared by every subscriber; `memo` holds encoded frames by encoding, built once by the first who needs one. */
export interface CacheEvent {
  /** The object after the change; undefined for a removal. */
  readonly current: CacheEntry | undefined;
  /** The object before the change; undefined when it is new. */
  readonly previous: CacheEntry | undefined;
  readonly revision: number;
  readonly memo: Map<string, Buffer>;
}

/** A state of one range at one revision; it stays readable and equal however long the reader takes. */
export interface CacheSnapshot {
  readonly revision: number;
  /** Entries in the order of their keys from `from` (inclusive) on, at most `limit` of them. */
  entries(from: string | undefined, limit: number): readonly CacheEntry[];
  /** Keys at or after `from`. */
  countFrom(from: string): number;
}

export interface SubscribeOptions {
  /** A prefix (ends with `/`) or one whole key. */
  readonly scope: string;
  /** Events with a revision greater than this one. Throws CompactedError when it has left the window. */
  readonly after: number;
  /** Called in order, synchronously, on the dispatch path: must not block and must not throw. */
  readonly onEvent: (event: CacheEvent) => void;
  /**
   * The cache starts over or closes: the subscriber gets nothing more and must begin again. `before` is the scope as the
   * subscriber was last told, when the cache started over: compared with the state of now it tells what was missed.
   */
  readonly onEnd: (reason: Error, before?: CacheSnapshot) => void;
}

/**
 * The cache of a whole store, in front of any backend: reads and watches are served from memory, writes go through.
 * One watch stream per backend; its progress is the cache's `revision`, so a consistent read only needs to know whether
 * the cache has reached a revision.
 */
export interface WatchCache extends Storage {
  /** Resolves when the first load is complete. */
  readonly ready: Promise<void>;
  isReady(): boolean;
  /**
   * Resolves when all values are in memory. Before, a value may have to be read when somebody asks for it, so whoever wants
   * to look at very many waits for this. Rejects when one cannot be read. Absent: they always are.
   */
  readonly filled?: Promise<void>;
  /** For good: nothing comes any more. */
  readonly closed: boolean;
  /** Everything up to here is in the cache. */
  readonly revision: number;
  /** Oldest revision a subscription may start after. */
  readonly oldestRevision: number;

  /** The entry as the cache has it now. Synchronous; may be stale on a store that others write to. */
  peek(key: string): CacheEntry | undefined;

  /**
   * Resolves with the revision that a read at "most recent" must see once the cache has reached it. Callers waiting at
   * the same moment share one question to the backend; on a store with one writer process nothing is asked at all.
   * Throws StorageUnavailableError when the cache cannot catch up in time.
   */
  freshRevision(): Promise<number>;

  /** True when a read at "most recent" need not wait: {@link freshRevision} would resolve at once. */
  readonly isFresh: boolean;

  /** Resolves once `revision` is in the cache; throws FutureRevisionError after `timeoutMs`. */
  waitFor(revision: number, timeoutMs: number): Promise<void>;

  /** The range as it is now, or as it was at an older revision of the window (throws CompactedError beyond it). */
  snapshot(prefix: string, revision?: number): CacheSnapshot;

  /**
   * Everything in the range as it is now, by key, for who looks at it in this turn: no state is kept for it, so that the
   * writes that follow have nothing to copy. From a key below the prefix on, and at most so many, where that is told.
   */
  present(prefix: string, from?: string, limit?: number): readonly CacheEntry[];

  /** Starts a subscription; call the result to end it. Costs nothing on the dispatch path of other scopes. */
  subscribe(options: SubscribeOptions): () => void;

  /** Resource prefixes (`/registry/<group>/<resource>/`) that hold anything, with the number of keys: for metrics and controllers. */
  counts(): ReadonlyMap<string, number>;
}
