import { expect, test } from '@jest/globals';
import { FakeClock } from '@multiplane/testing';
import { MemoryStorage } from '../memory/memory-storage.ts';
import { openWatchCache } from './open-watch-cache.ts';

const mebibyte = 1024 * 1024;
const maps = '/registry/core/configmaps/a/ns/';

test('releases the events and slabs of a flood once the store is quiet, and serves watches from then on', async () => {
  const clock = new FakeClock();
  const storage = new MemoryStorage();
  const cache = openWatchCache({}, { storage, clock, onError: (error) => expect(error).toBeUndefined() });
  try {
    await cache.ready;
    let last = 0;
    for (let index = 0; index < 10_000; index++) {
      const created = await cache.create(`${maps}${index}`, Buffer.alloc(1_000, 1));
      last = await cache.delete(`${maps}${index}`, created);
    }
    await cache.waitFor(last, 10_000);
    const { windowBytes, slabBytes } = cache.statistics;
    expect(windowBytes).toBeGreaterThan(20 * mebibyte);
    expect(slabBytes).toBeGreaterThan(8 * mebibyte);
    // The rate is that of the last two periods of ten seconds.
    await clock.advance(30_000);
    expect(cache.statistics.windowBytes).toBeLessThan(4.1 * mebibyte);
    expect(cache.statistics.slabBytes).toBeLessThan(6 * mebibyte);
    const seen: string[] = [];
    const stop = cache.subscribe({
      scope: maps,
      after: cache.oldestRevision,
      onEvent: ({ current, previous }) => seen.push((current ?? previous)?.key ?? ''),
      onEnd: () => undefined,
    });
    expect(seen).toHaveLength(cache.statistics.windowEvents);
    expect(seen.at(-1)).toBe(`${maps}9999`);
    stop();
  } finally {
    await cache.close();
  }
});
