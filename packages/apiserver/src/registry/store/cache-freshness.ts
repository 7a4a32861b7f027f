import { statusErrors } from '@multiplane/apimachinery';
import { type WatchCache, isStorageError } from '@multiplane/storage';

/** How long a read waits for a revision that the cache has not observed; as Kubernetes. */
const maxRevisionWaitMs = 3000;

/** Throws 429 while the cache has never been loaded. During a storage outage the cached state is still served. */
export function requireLoadedCache(cache: WatchCache): void {
  if (cache.revision === 0 && !cache.isReady()) throw statusErrors.tooManyRequests('storage is (re)initializing', 1);
}

/** Throws 504 when the cache does not reach the revision in time. */
export async function waitForRevision(cache: WatchCache, revision: number): Promise<void> {
  if (revision <= cache.revision) return;
  try {
    await cache.waitFor(revision, maxRevisionWaitMs);
  } catch (error) {
    if (isStorageError(error, 'FutureRevision')) throw statusErrors.tooLargeResourceVersion(revision, cache.revision);
    throw error;
  }
}
