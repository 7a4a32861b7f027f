import type { Keyed, OrderedTree } from './cacher/ordered-tree.ts';

/**
 * The storage contract. Every backend (`memory`, `file`, `etcd`, `jetstream`) and the watch cache in front of any of
 * them passes the suite in `conformance/`.
 *
 * Revisions are one strictly increasing sequence of safe integers per store: each acknowledged write has one of its own
 * and nothing ever goes back, not even after `kill -9`. Keys are `/`-separated texts ordered by their UTF-8 bytes.
 * Values are opaque bytes; nobody may change a Buffer that was given to or came from a store.
 */
export interface Storage {
  /** The latest value (linearizable), undefined when the key does not exist. */
  get(key: string): Promise<StoredValue | undefined>;

  /**
   * Keys below a prefix in order. A prefix ends with `/`, so that `a/` never shows `ab/`.
   * Throws {@link CompactedError} for a revision whose history is gone, {@link FutureRevisionError} for one that is not
   * reached yet.
   */
  list(prefix: string, options?: ListOptions): Promise<ListResult>;

  /**
   * Only on a store that cannot list an older state, page by page (jetstream): the present state below a prefix as changes
   * that make it when they are applied in order to nothing. The state is that of the last batch's revision. Throws
   * {@link CompactedError} when the reader must begin again.
   */
  load?(prefix: string, signal: AbortSignal): AsyncIterable<WatchBatch>;

  /**
   * Only on a store that has its keys in memory and its values in files (file): everything below a prefix at a revision, in
   * whatever order costs least, which for a whole store is a small part of what its pages cost. Throws like {@link list}.
   */
  bulk?(prefix: string, revision: number): Promise<BulkState>;

  /**
   * Only on a store that nobody outside this process can write to, with its keys in memory and its values in files (file):
   * everything below a prefix, of which values are read when somebody asks for them. Undefined where that cannot be offered.
   */
  deferred?(prefix: string): DeferredState | undefined;

  /** Stores a new key; returns its revision. Throws {@link KeyExistsError}. */
  create(key: string, value: Buffer, options?: WriteOptions): Promise<number>;

  /** Replaces a key whose revision is still `expected`. Throws {@link RevisionConflictError}, also when it is gone. */
  update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number>;

  /** Removes a key whose revision is still `expected`; returns the revision of the removal. Throws {@link RevisionConflictError}. */
  delete(key: string, expected: number): Promise<number>;

  /**
   * Every change below the prefix with a revision > `after`, in order, each exactly once; all events of one revision in
   * one batch. A store without history (jetstream) leaves out what another change of the same key has overtaken before it
   * was read, never the last change. A batch without events is progress: everything up to its revision was delivered.
   * Ends when `signal` aborts. Throws {@link CompactedError} where history is gone (also under a running watch) and
   * {@link StorageUnavailableError} when the backend is lost for good; short outages are bridged without loss.
   */
  watch(prefix: string, options: WatchOptions): AsyncIterable<WatchBatch>;

  /**
   * The revision of the last write that anybody has acknowledged (linearizable). A watch of the whole store
   * (`/registry/`), whenever it began, reaches it soon and by itself, with progress where there is no event: readers of a
   * cache wait for that.
   */
  currentRevision(): Promise<number>;

  /**
   * Only on a store that nobody outside this process can write to (memory, file): what {@link currentRevision} would
   * answer, without asking. It never lies behind an acknowledged write, and a watch reaches it by itself. Undefined
   * where others write too.
   */
  readonly localRevision?: number | undefined;

  /** Forgets history below `revision`: lists at and watches after an older one fail from then on. Current values stay. */
  compact(revision: number): Promise<void>;

  /** Rejects with the reason when the store cannot take writes now (disk full, quorum lost); for readiness. */
  check(): Promise<void>;

  /** Stops every watch and gives back files and connections. Waits for writes under way. */
  close(): Promise<void>;
}

export interface StoredValue {
  readonly key: string;
  readonly value: Buffer;
  /** Revision of the last write of this key. */
  readonly revision: number;
}

export interface ListOptions {
  /** At most this many; 0 or absent: all. */
  readonly limit?: number | undefined;
  /** Begin at this key (inclusive). */
  readonly from?: string | undefined;
  /** State at exactly this revision; absent: the latest (linearizable). */
  readonly revision?: number | undefined;
  /** Nobody needs a number: `remaining` may be anything above 0 when there is more. A page then costs what it holds. */
  readonly uncounted?: boolean | undefined;
}

export interface ListResult {
  readonly items: readonly StoredValue[];
  /** The revision of the state that was read. */
  readonly revision: number;
  /** Keys of the range beyond the ones returned. */
  readonly remaining: number;
}

/** A whole state of a store that is read at once. */
export interface BulkState {
  /** In order. */
  readonly keys: readonly string[];
  /** Some key may have a character from U+D800 on, so that its order is not that of JavaScript. */
  readonly wide: boolean;
  /** Each key once. Must be gone through at once, to the end or until it is left: it holds files open. */
  readonly batches: AsyncIterable<readonly BulkValue[]>;
}

export interface BulkValue {
  /** Among {@link BulkState.keys}. */
  readonly index: number;
  /** A view, which stays as it is until the next batch is asked for. */
  readonly value: Buffer;
  readonly revision: number;
}

/** A value that is still in a file. */
export interface DeferredValue {
  readonly key: string;
  readonly revision: number;
  readonly length: number;
  /** What {@link DeferredState.read} wants. */
  readonly place: object;
}

/** What one revision wrote and replaced. */
export interface DeferredChange {
  readonly key: string;
  readonly revision: number;
  /** Undefined: it was removed. */
  readonly current: DeferredValue | undefined;
  readonly previous: DeferredValue | undefined;
}

/** The present state of a store whose values are still in its files. They stay readable until it is released. */
export interface DeferredState {
  readonly revision: number;
  /** What is made of each value when somebody looks at its key. */
  tree<T extends Keyed>(make: (value: DeferredValue) => T): OrderedTree<T>;
  /** What led to this state after an older revision. Throws {@link CompactedError}. */
  changes(after: number): readonly DeferredChange[];
  /** In this turn. Throws StorageUnavailableError, also when it is damaged. */
  read(place: object): Buffer;
  /** Many of them, in whatever order costs least. Must be gone through at once, to the end or until it is left. */
  batches(places: readonly object[]): AsyncIterable<readonly BulkValue[]>;
  release(): Promise<void>;
}

export interface WriteOptions {
  /** The key disappears, with a delete event, this many seconds after its last write that carried the option. */
  readonly ttlSeconds?: number | undefined;
}

export interface WatchOptions {
  /** The last revision the caller has seen. */
  readonly after: number;
  readonly signal: AbortSignal;
}

export interface StorageEvent {
  readonly type: 'put' | 'delete';
  readonly key: string;
  /** The new value; for a delete the last value when the backend still knows it. */
  readonly value: Buffer | undefined;
  readonly revision: number;
  /** The put made the key. */
  readonly created: boolean;
  /**
   * Only from a store that leaves out changes in between (jetstream): revision of the put that made the key. Whoever
   * knows the key with an older revision knows another object, whose removal was left out.
   */
  readonly born?: number | undefined;
}

export interface WatchBatch {
  readonly events: readonly StorageEvent[];
  /** Everything up to here has now been delivered. */
  readonly revision: number;
}
