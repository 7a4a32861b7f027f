import type { CacheEntry } from '../watch-cache-interface.ts';
import { emptySlab, type LazySlab, notLoaded, type Slab, type ValueHolder } from './value-slabs.ts';

/**
 * One version of one object. A cache may hold a million of these, so a field costs 8 MB: the value is a position in a slab,
 * and the Buffer is a view that is created on access.
 */
export class CachedEntry implements CacheEntry, ValueHolder {
  readonly key: string;
  readonly revision: number;
  readonly length: number;
  attachment: unknown = undefined;
  slab: Slab = emptySlab;
  offset = 0;
  index = 0;

  constructor(key: string, revision: number, length: number) {
    this.key = key;
    this.revision = revision;
    this.length = length;
  }

  get value(): Buffer {
    if (this.offset === notLoaded) (this.slab as LazySlab).load(this);
    return this.slab.bytes.subarray(this.offset, this.offset + this.length);
  }
}
