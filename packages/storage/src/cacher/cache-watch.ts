import { CompactedError } from '../errors.ts';
import type { StorageEvent, WatchBatch } from '../interface.ts';
import { Signal } from '../signal.ts';
import type { CacheEvent } from '../watch-cache-interface.ts';
import { closedError, type StoreFollower } from './store-follower.ts';

/**
 * A subscription as the storage contract's watch. The queue holds references to events of the window, nothing of its
 * own; a reader so slow that the window has moved on is refused as one that comes too late (R7: nobody else notices).
 */
export async function* cacheWatch(
  follower: StoreFollower,
  scope: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<WatchBatch, void, undefined> {
  let queue: CacheEvent[] = [];
  let end: Error | undefined;
  const changed = new Signal();
  const unsubscribe = follower.subscribe({
    scope,
    after,
    onEvent: (event) => {
      const first = queue[0];
      if (first !== undefined && first.revision <= follower.window.oldestRevision) {
        end ??= new CompactedError(first.revision, follower.window.oldestRevision);
        queue = [];
      }
      if (end !== undefined) return;
      queue.push(event);
      changed.notify();
    },
    onEnd: (reason) => {
      end ??= reason;
      changed.notify();
    },
  });
  try {
    while (!signal.aborted) {
      if (queue.length > 0) {
        const events = queue.map(storageEvent);
        queue = [];
        // Events are handed out before the revision is visible to anybody, so these are all up to it.
        yield { events, revision: follower.revision };
      } else if (end !== undefined) {
        throw follower.closed ? closedError() : end;
      } else {
        await changed.wait(signal);
      }
    }
  } finally {
    unsubscribe();
  }
}

function storageEvent({ current, previous, revision }: CacheEvent): StorageEvent {
  return {
    type: current === undefined ? 'delete' : 'put',
    key: (current ?? previous)?.key ?? '',
    value: (current ?? previous)?.value,
    revision,
    created: previous === undefined,
  };
}
