/**
 * The storage contract. Every backend (`memory`, `file`, `etcd`, `jetstream`) and the watch cache over each of them passes
 * the conformance suite. Abilities of single backends are interfaces in `capabilities/`.
 *
 * Revisions are one strictly increasing sequence of safe integers per store, as in etcd: each acknowledged write has its
 * own, and the sequence never goes back, not even after `kill -9`. Keys are `/`-separated strings ordered by their UTF-8
 * bytes. Values are opaque bytes; a Buffer that was passed to or returned by a store is never modified.
 */
export interface Storage {
  /** The latest value (linearizable); undefined when the key does not exist. */
  get(key: string): Promise<StoredValue | undefined>;

  /**
   * Keys below a prefix in order. A prefix ends with `/`, so that `a/` does not match `ab/`.
   * Throws {@link CompactedError} for a compacted revision, {@link FutureRevisionError} for a revision that is not
   * reached yet.
   */
  list(prefix: string, options?: ListOptions): Promise<ListResult>;

  /** Stores a new key; returns its revision. Throws {@link KeyExistsError}. */
  create(key: string, value: Buffer, options?: WriteOptions): Promise<number>;

  /**
   * Replaces the value of a key whose revision is `expected`; returns the new revision. Throws
   * {@link RevisionConflictError}, also when the key does not exist.
   */
  update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number>;

  /** Deletes a key whose revision is `expected`; returns the revision of the delete. Throws {@link RevisionConflictError}. */
  delete(key: string, expected: number): Promise<number>;

  /**
   * Every change below the prefix with a revision > `after`, in order, each exactly once; all events of one revision are
   * in one batch. A store without history (jetstream) omits a change that a later change of the same key replaced before
   * it was read, but never the latest change. A batch without events is a progress notification: everything up to its
   * revision was delivered.
   * Ends when `signal` aborts. Throws {@link CompactedError} when the history is compacted, also during the watch, and
   * {@link StorageUnavailableError} when the store is closed or lost; short outages are bridged without loss.
   */
  watch(prefix: string, options: WatchOptions): AsyncIterable<WatchBatch>;

  /**
   * The revision of the last acknowledged write of any process (linearizable). A watch of the whole store (`/registry/`)
   * reaches it without further writes, by an event or a progress notification: consistent reads from the cache rely on it.
   */
  currentRevision(): Promise<number>;

  /** Drops the history below `revision`: lists at and watches after an older revision fail. Current values stay. */
  compact(revision: number): Promise<void>;

  /** Rejects with the reason when the store does not accept writes (disk full, quorum lost); for readiness. */
  check(): Promise<void>;

  /** Ends every watch and closes files and connections. Waits for writes in flight. */
  close(): Promise<void>;
}

export interface StoredValue {
  readonly key: string;
  readonly value: Buffer;
  /** Revision of the last write of this key (etcd: `mod_revision`). */
  readonly revision: number;
}

export interface ListOptions {
  /** Maximum number of keys; 0 or absent: all. */
  readonly limit?: number | undefined;
  /** Start at this key (inclusive). */
  readonly from?: string | undefined;
  /** The state at exactly this revision; absent: the latest (linearizable). */
  readonly revision?: number | undefined;
  /** `remaining` need not be exact, only above 0 when there are more keys: the list then costs what it returns. */
  readonly skipRemainingCount?: boolean | undefined;
}

export interface ListResult {
  readonly items: readonly StoredValue[];
  /** The revision of the state that was read. */
  readonly revision: number;
  /** Keys of the range after the returned ones. */
  readonly remaining: number;
}

export interface WriteOptions {
  /** The key is deleted, with an event, this many seconds after its last write with this option. */
  readonly ttlSeconds?: number | undefined;
}

export interface WatchOptions {
  /** The last revision that the caller has seen. */
  readonly after: number;
  readonly signal: AbortSignal;
  /**
   * Number of keys below the prefix that the caller has whenever it asks for the next batch. A store whose keys may be
   * removed without an event (jetstream) compares it with the keys that are there.
   */
  readonly heldKeys?: (() => number) | undefined;
  /**
   * The caller lists again after CompactedError and writes what is missing below the prefix. The watch then also ends with
   * this error when readers of the store request it (jetstream).
   */
  readonly restoresKeys?: boolean | undefined;
}

export interface StorageEvent {
  readonly type: 'put' | 'delete';
  readonly key: string;
  /** The new value; for a delete the last value where the backend knows it. */
  readonly value: Buffer | undefined;
  readonly revision: number;
  /** The put created the key. */
  readonly created: boolean;
  /**
   * Revision of the put that created the key. Only set by a store that omits replaced changes (jetstream): a reader that
   * knows the key at a lower revision has missed a delete and a create.
   */
  readonly createRevision?: number | undefined;
}

export interface WatchBatch {
  readonly events: readonly StorageEvent[];
  /** Everything up to this revision is delivered with this batch. */
  readonly revision: number;
}
