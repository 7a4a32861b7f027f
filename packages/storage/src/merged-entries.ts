import type { CacheEntry, CacheSnapshot } from './watch-cache-interface.ts';
import { compareKeys } from './key-order.ts';

/** Entries that are read from a snapshot at a time. */
const batchSize = 100;

/**
 * Two states of one range in key order, as pairs of the entries of one key; undefined where a state does not have the key.
 * Keys that both have are included, so that a caller can yield to the event loop in between.
 */
export function* mergedEntries(
  before: CacheSnapshot | undefined,
  now: CacheSnapshot,
): Generator<readonly [before: CacheEntry | undefined, now: CacheEntry | undefined], undefined, undefined> {
  const left = entriesOf(before);
  const right = entriesOf(now);
  let old = left.next();
  let current = right.next();
  while (old.done !== true || current.done !== true) {
    const order = old.done === true ? 1 : current.done === true ? -1 : compareKeys(old.value.key, current.value.key);
    yield [order > 0 ? undefined : old.value, order < 0 ? undefined : current.value];
    if (order <= 0) old = left.next();
    if (order >= 0) current = right.next();
  }
}

function* entriesOf(snapshot: CacheSnapshot | undefined): Generator<CacheEntry, undefined, undefined> {
  let from: string | undefined;
  for (;;) {
    const entries = snapshot?.entries(from, batchSize) ?? [];
    yield* entries;
    if (entries.length < batchSize) return undefined;
    from = `${(entries.at(-1) as CacheEntry).key}\u0000`;
  }
}
