import { isStatusError } from '@multiplane/apimachinery';
import { type CacheEntry, type WatchCache, isStorageError } from '@multiplane/storage';
import { currentState } from './store-access.ts';

/** Thrown by an attempt that found another state than it started from, where the store itself does not say so. */
export const lostRace = new Error('the object was changed meanwhile');

/** What an attempt came to. */
export interface Attempted {
  /** It found nothing to write: what it answers is what it started from. */
  readonly nothingWritten?: true | undefined;
}

/**
 * Attempts a write to a key until it stands (K2.4). A lost race starts again from the new state, without end but for
 * the request's deadline. What was decided on a state from the cache and no write has proved is confirmed against the store
 * first: nobody is refused because a cache was behind, and nobody who takes a change back is told that all is as it was.
 */
export async function guaranteedUpdate<T extends Attempted>(
  key: string,
  request: { readonly signal: AbortSignal },
  modules: { readonly cache: WatchCache },
  attempt: (existing: CacheEntry | undefined) => Promise<T>,
): Promise<T> {
  const { cache } = modules;
  let current = await currentState(cache, key, false);
  for (;;) {
    let outcome: T | undefined;
    let refusal: unknown;
    try {
      outcome = await attempt(current.entry);
      if (outcome.nothingWritten !== true || current.confirmed) return outcome;
    } catch (error) {
      if (isStorageError(error, 'RevisionConflict') || error === lostRace) {
        request.signal.throwIfAborted();
        current = await currentState(cache, key, true);
        continue;
      }
      if (current.confirmed || !isStatusError(error)) throw error;
      refusal = error;
    }
    const confirmed = await currentState(cache, key, true);
    if (confirmed.entry?.revision === current.entry?.revision) {
      if (outcome === undefined) throw refusal;
      return outcome;
    }
    current = confirmed;
  }
}
