import type { CacheEntry } from './cache-entry.ts';

/** Requires a value of the entries: of an index by label, `name` is the label's key and `value` the label's value. */
export interface ValueRequirement {
  readonly name: string;
  readonly value: string;
}

/** An equality index over the objects of one exported API. */
export interface CacheIndexDefinition {
  /** The segment after the resource in the keys (`/registry/<group>/<resource>/<identity>/…`), of all resources. */
  readonly identity: string;
  readonly name: string;
  /** The indexed value of an object, undefined if it has none. Depends on the bytes of the object only. */
  valueOf(entry: CacheEntry): string | undefined;
}

/** An index of the watch cache. */
export interface CacheIndex {
  /** False while the index is built: reads then go without it. */
  readonly isBuilt: boolean;
  /** Resolves when the index is built or removed; never rejects. Concurrent readers share one pass over the objects. */
  readonly built: Promise<void>;
  /** Number of current objects with a value, below a prefix of keys; undefined while the index is built. O(log n). */
  count(value: string, prefix: string): number | undefined;
  /** The values of objects, events of the window and watches. */
  values(): IterableIterator<string>;
}

/** The indexes of a watch cache, by identity and name. */
export interface CacheIndexes {
  /** Number of indexes: 0 costs readers and writers nothing. */
  readonly size: number;
  /** Builds an index in the background, without blocking the event loop. No effect if it exists. */
  add(definition: CacheIndexDefinition): void;
  /** Removes an index; its subscriptions continue without it. */
  remove(identity: string, name: string): void;
  /** The index of the objects below a prefix that contains their identity; undefined: there is none. */
  find(prefix: string, name: string): CacheIndex | undefined;
}
