import type { StoredValue } from './interface.ts';

/**
 * One version of one object in the watch cache. `attachment` belongs to the reader of the cache (the API server keeps
 * labels, field values and owners there, extracted at the write) and is dropped with this version. Each access to `value`
 * creates a new view of the bytes.
 */
export interface CacheEntry extends StoredValue {
  attachment: unknown;
}
