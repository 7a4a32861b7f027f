import type { WorkQueue } from '@multiplane/client';

/** Keys that are added in one turn of the event loop. */
const atOnce = 2_000;

/**
 * Adds the keys to a queue, as they are now. An export may have a hundred thousand bindings: others have their turn in
 * between.
 */
export function addAll<K extends string>(queue: Pick<WorkQueue<K>, 'add'>, keys: Iterable<K>): void {
  const all = Array.from(keys);
  const add = (from: number): void => {
    for (const key of all.slice(from, from + atOnce)) queue.add(key);
    if (from + atOnce < all.length) setImmediate(add, from + atOnce);
  };
  add(0);
}
