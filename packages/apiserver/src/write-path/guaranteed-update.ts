import { isStatusError } from '@multiplane/apimachinery';
import { type CacheEntry, type WatchCache, isStorageError } from '@multiplane/storage';
import { currentState } from '../registry/store/current-state.ts';
import type { UpdateOutcome } from './write-result.ts';

/** Thrown by an attempt that met a concurrent write which the store does not report as a revision conflict. */
export const conflict = new Error('the object was modified concurrently');

/**
 * Attempts a write until it succeeds or fails for another reason than a conflict (`GuaranteedUpdate` of Kubernetes).
 *
 *  1. The first attempt starts from the watch cache, which may lag behind.
 *  2. After a conflict the next attempt starts from the store. Retries end only with the request's deadline.
 *  3. An attempt from cached state that is rejected, or that changes nothing, has not been confirmed by a write: the
 *     state is read from the store, and the attempt is repeated if it differs. So no request is rejected because of a
 *     stale cache, and a write that reverts a concurrent change is not mistaken for one that changes nothing.
 */
export async function guaranteedUpdate<T extends UpdateOutcome>(
  key: string,
  request: { readonly signal: AbortSignal },
  modules: { readonly cache: WatchCache },
  attempt: (existing: CacheEntry | undefined) => Promise<T>,
): Promise<T> {
  const { cache } = modules;
  let current = await currentState(cache, key, false);
  for (;;) {
    let outcome: T | undefined;
    let rejection: unknown;
    try {
      outcome = await attempt(current.entry);
      if (outcome.unchanged !== true || current.confirmed) return outcome;
    } catch (error) {
      if (isStorageError(error, 'RevisionConflict') || error === conflict) {
        request.signal.throwIfAborted();
        current = await currentState(cache, key, true);
        continue;
      }
      if (current.confirmed || !isStatusError(error)) throw error;
      rejection = error;
    }
    const confirmed = await currentState(cache, key, true);
    if (confirmed.entry?.revision === current.entry?.revision) {
      if (outcome === undefined) throw rejection;
      return outcome;
    }
    current = confirmed;
  }
}
