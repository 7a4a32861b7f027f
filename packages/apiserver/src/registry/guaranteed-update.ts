import { isStatusError } from '@multiplane/apimachinery';
import { type CacheEntry, type WatchCache, isStorageError } from '@multiplane/storage';
import { currentState } from './store-access.ts';

/** Thrown by an attempt that found another state than it started from, where the store itself does not say so. */
export const lostRace = new Error('the object was changed meanwhile');

/**
 * Attempts a write to a key until it stands (K2.4). A lost race starts again from the new state, without end but for
 * the request's deadline. A refusal that was decided on a state from the cache is confirmed against the store first:
 * nobody is refused because a cache was behind.
 */
export async function guaranteedUpdate<T>(
  key: string,
  request: { readonly signal: AbortSignal },
  modules: { readonly cache: WatchCache },
  attempt: (existing: CacheEntry | undefined) => Promise<T>,
): Promise<T> {
  const { cache } = modules;
  let current = await currentState(cache, key, false);
  for (;;) {
    try {
      return await attempt(current.entry);
    } catch (error) {
      if (isStorageError(error, 'RevisionConflict') || error === lostRace) {
        request.signal.throwIfAborted();
        current = await currentState(cache, key, true);
        continue;
      }
      if (current.confirmed || !isStatusError(error)) throw error;
      const confirmed = await currentState(cache, key, true);
      if (confirmed.entry?.revision === current.entry?.revision) throw error;
      current = confirmed;
    }
  }
}
