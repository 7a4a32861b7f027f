import type { Clock } from '@multiplane/component-base';
import { LRUCache } from 'lru-cache';

/** A bounded cache whose entries expire by `clock`; the TTL, in milliseconds, is given with each `set`. */
export function ttlCache<V extends object>(maxEntries: number, clock: Clock): LRUCache<string, V> {
  return new LRUCache<string, V>({
    max: maxEntries,
    ttlResolution: 0,
    // lru-cache takes the time 0 for "no TTL", and a monotonic clock may start there.
    perf: { now: () => clock.monotonic() + 1 },
  });
}
