import type { WorkQueue } from '@multiplane/client';

/** Keys added per event-loop tick. */
const keysPerTick = 2_000;

/**
 * Adds a snapshot of the keys to a queue, in batches that yield to the event loop: an APIExport may have a hundred
 * thousand bindings.
 */
export function addAll<K extends string>(queue: Pick<WorkQueue<K>, 'add'>, keys: Iterable<K>): void {
  const snapshot = Array.from(keys);
  const addFrom = (from: number): void => {
    const to = from + keysPerTick;
    for (const key of snapshot.slice(from, to)) queue.add(key);
    if (to < snapshot.length) setImmediate(addFrom, to);
  };
  addFrom(0);
}
