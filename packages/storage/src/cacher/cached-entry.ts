import type { CacheEntry } from '../watch-cache-interface.ts';
import type { UnreadValues } from './unread-values.ts';
import { type Slab, type ValueHolder, noSlab, notRead } from './value-slabs.ts';

/**
 * One version of one object. There may be a million of these, so a field costs 8 MB: the value is a place in a slab, and
 * the Buffer is a view made on demand.
 */
export class CachedEntry implements CacheEntry, ValueHolder {
  readonly key: string;
  readonly revision: number;
  readonly length: number;
  attachment: unknown = undefined;
  slab: Slab = noSlab;
  offset = 0;
  index = 0;

  constructor(key: string, revision: number, length: number) {
    this.key = key;
    this.revision = revision;
    this.length = length;
  }

  get value(): Buffer {
    if (this.offset === notRead) (this.slab as UnreadValues).fetch(this);
    return this.slab.bytes.subarray(this.offset, this.offset + this.length);
  }
}
