import type { OrderedTree } from '../ordered-tree.ts';
import type { CachedEntry } from './cached-entry.ts';
import type { LazyEntryChange, LazyValues } from './lazy-values.ts';

/** A complete state of the store, built beside the current contents of the cache. */
export interface LoadedContent {
  readonly revision: number;
  readonly tree: OrderedTree<CachedEntry>;
  readonly valueBytes: number;
  /** Number of keys of each resource prefix, before {@link changes}. */
  readonly resources: ReadonlyMap<string, number>;
  /** Entries of the old contents that are deleted or replaced. */
  readonly dropped: readonly CachedEntry[];
  /** The changes between the requested revision and {@link revision}, when these differ. */
  readonly changes?: readonly LazyEntryChange[] | undefined;
  /** Set when the values are not in memory yet. */
  readonly lazyValues?: LazyValues | undefined;
}
