import type { ListResult, Storage, StoredValue, WatchBatch, WatchOptions } from '@multiplane/storage';

/**
 * The parts of the storage contract that virtual resources do not have: they are written elsewhere, and read through a watch
 * cache. Each of them fails; subclasses implement what their readers use.
 */
export abstract class ReadOnlyStorage implements Storage {
  abstract currentRevision(): Promise<number>;

  get(_key: string): Promise<StoredValue | undefined> {
    return Promise.reject(readOnly());
  }
  list(): Promise<ListResult> {
    return Promise.reject(readOnly());
  }
  create(): Promise<number> {
    return Promise.reject(readOnly());
  }
  update(): Promise<number> {
    return Promise.reject(readOnly());
  }
  delete(): Promise<number> {
    return Promise.reject(readOnly());
  }
  watch(_prefix: string, _options: WatchOptions): AsyncIterable<WatchBatch> {
    throw readOnly();
  }
  compact(): Promise<void> {
    return Promise.reject(readOnly());
  }
  async check(): Promise<void> {}
  async close(): Promise<void> {}
}

const readOnly = (): Error => new TypeError('cached objects are only read here');
