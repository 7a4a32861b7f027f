import type { Storage } from '../interface.ts';
import type { Keyed, OrderedTree } from '../ordered-tree.ts';
import type { BulkValue } from './bulk-read.ts';

/** A store that no other process writes to, with its keys in memory and its values in files (file). */
export interface LazyReadStorage extends Storage {
  /** The current state below a prefix without its values; undefined when the store has keys outside the prefix. */
  openLazyState(prefix: string): LazyState | undefined;
}

/** A state of a store whose values are read from its files on demand. The files stay readable until it is released. */
export interface LazyState {
  readonly revision: number;
  /** Calls `make` when a key is accessed for the first time. */
  tree<T extends Keyed>(make: (value: LazyValue) => T): OrderedTree<T>;
  /** The changes with a revision > `after` that led to this state, oldest first. Throws CompactedError. */
  changes(after: number): readonly LazyChange[];
  /** Reads one value synchronously. Throws StorageUnavailableError, also for a damaged record. */
  readSync(handle: object): Buffer;
  /**
   * Reads many values in the order of the files; {@link BulkValue.index} refers to `handles`. The caller iterates it
   * immediately, to the end or until it returns.
   */
  readBatches(handles: readonly object[]): AsyncIterable<readonly BulkValue[]>;
  release(): Promise<void>;
}

/** A value that is still in a file. */
export interface LazyValue {
  readonly key: string;
  readonly revision: number;
  /** Bytes of the value. */
  readonly length: number;
  /** The argument of {@link LazyState.readSync} and {@link LazyState.readBatches}. */
  readonly handle: object;
}

/** The change of one revision. */
export interface LazyChange {
  readonly key: string;
  readonly revision: number;
  /** Undefined for a delete. */
  readonly current: LazyValue | undefined;
  /** Undefined for a create. */
  readonly previous: LazyValue | undefined;
}

export function supportsLazyRead(storage: Storage): storage is LazyReadStorage {
  return typeof (storage as Partial<LazyReadStorage>).openLazyState === 'function';
}
