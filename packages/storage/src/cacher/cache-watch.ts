import { CompactedError } from '../errors.ts';
import type { StorageEvent, WatchBatch } from '../interface.ts';
import { ConditionVariable } from '../condition-variable.ts';
import type { CacheEvent } from '../watch-cache-interface.ts';
import { closedError, type CacheReflector } from './cache-reflector.ts';

/**
 * A subscription as a watch of the storage contract. The queue only references events of the event window. A watcher that
 * falls behind the window gets CompactedError (410 Expired); other watchers are not affected.
 */
export async function* cacheWatch(
  reflector: CacheReflector,
  scope: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<WatchBatch, void, undefined> {
  let queue: CacheEvent[] = [];
  let end: Error | undefined;
  const changed = new ConditionVariable();
  const unsubscribe = reflector.subscribe({
    scope,
    after,
    onEvent: (event) => {
      const first = queue[0];
      if (first !== undefined && first.revision <= reflector.window.oldestRevision) {
        end ??= new CompactedError(first.revision, reflector.window.oldestRevision);
        queue = [];
      }
      if (end !== undefined) return;
      queue.push(event);
      changed.notifyAll();
    },
    onEnd: (reason) => {
      end ??= reason;
      changed.notifyAll();
    },
  });
  try {
    while (!signal.aborted) {
      if (queue.length > 0) {
        const events = queue.map(storageEvent);
        queue = [];
        // The reflector dispatches events before it publishes their revision, so the queue is complete up to it.
        yield { events, revision: reflector.revision };
      } else if (end !== undefined) {
        throw reflector.closed ? closedError() : end;
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
