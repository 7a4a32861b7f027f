import type { Storage } from '../interface.ts';

/** A store with its keys in memory and its values in files (file). */
export interface BulkReadStorage extends Storage {
  /**
   * Everything below a prefix at a revision, in the order of the files: reading a whole store this way costs a small part
   * of reading it page by page. Throws like {@link Storage.list}.
   */
  readBulk(prefix: string, revision: number): Promise<BulkRead>;
}

export interface BulkRead {
  /** In order. */
  readonly keys: readonly string[];
  /** Some key may contain a character from U+D800 on, so that its order differs from JavaScript's string order. */
  readonly wide: boolean;
  /** Each key once. Holds files open: the caller iterates it immediately, to the end or until it returns. */
  readonly batches: AsyncIterable<readonly BulkValue[]>;
}

export interface BulkValue {
  /** Index into {@link BulkRead.keys}. */
  readonly index: number;
  /** A view that is valid until the next batch is requested. */
  readonly value: Buffer;
  readonly revision: number;
}

export function supportsBulkRead(storage: Storage): storage is BulkReadStorage {
  return typeof (storage as Partial<BulkReadStorage>).readBulk === 'function';
}
