import { expect, test } from '@jest/globals';
import { mapConcurrently } from './map-concurrently.ts';

// oxlint-disable-next-line tests/no-real-timers -- the calls need not end at once
const nextIteration = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('starts a call per item in order, with at most the given concurrency', async () => {
  const started: number[] = [];
  let running = 0;
  let peak = 0;
  await mapConcurrently([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    started.push(item);
    peak = Math.max(peak, ++running);
    await nextIteration();
    running--;
  });
  expect(started).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(peak).toBe(3);
});

test('starts no further call after a failure, and throws it once the calls in flight have settled', async () => {
  const ended: number[] = [];
  const all = mapConcurrently([1, 2, 3, 4], 2, async (item) => {
    await nextIteration();
    ended.push(item);
    if (item < 3) throw new Error(`call ${item}`);
  });
  await expect(all).rejects.toThrow('call 1');
  expect(ended).toEqual([1, 2]);
});

test('does nothing for no items', async () => {
  const mapper = (): Promise<never> => Promise.reject(new Error('called'));
  await expect(mapConcurrently([], 3, mapper)).resolves.toBeUndefined();
});
