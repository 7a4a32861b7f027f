import type { CacheEntry, StoredValue, WatchCache } from '@multiplane/storage';

/** The state of a key that a write starts from. */
export interface CurrentState {
  readonly entry: CacheEntry | undefined;
  /** Read from the store; otherwise from the watch cache, which may lag behind. */
  readonly confirmed: boolean;
}

/**
 * Reads the state that a write starts from: from the cache, or from the store if `fresh` (after a conflict). Absence is
 * always confirmed by the store.
 */
export async function currentState(cache: WatchCache, key: string, fresh: boolean): Promise<CurrentState> {
  if (!fresh) {
    const entry = cache.peek(key);
    if (entry !== undefined) return { entry, confirmed: false };
  }
  const value = await cache.get(key);
  return { entry: value === undefined ? undefined : asEntry(cache, value), confirmed: true };
}

/** The cache's own entry if it has the same revision, so that metadata attached to that entry is shared. */
function asEntry(cache: WatchCache, value: StoredValue): CacheEntry {
  const cached = cache.peek(value.key);
  return cached !== undefined && cached.revision === value.revision
    ? cached
    : { key: value.key, value: value.value, revision: value.revision, attachment: undefined };
}
