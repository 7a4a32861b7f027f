import { expect, test } from '@jest/globals';
import { FakeClock } from '@multiplane/testing';
import { IdleGarbageCollection } from './idle-garbage-collection.ts';

const mebibyte = 1024 * 1024;

test('collects once the process is idle after work, and not again before it has allocated', async () => {
  const clock = new FakeClock();
  const state = { used: 50 * mebibyte, utilization: 0 };
  const collections: number[] = [];
  const collection = new IdleGarbageCollection({
    clock,
    used: () => state.used,
    utilization: () => state.utilization,
    collect: (bytes) => collections.push(bytes / mebibyte),
  });
  await collection.start();
  const pass = (): Promise<unknown> => clock.advance(10_000);
  await pass();
  expect(collections).toEqual([]);

  state.used = 300 * mebibyte;
  state.utilization = 0.9;
  await pass();
  expect(collections).toEqual([]);
  state.utilization = 0.01;
  await pass();
  expect(collections).toEqual([300]);

  // What is left is in use.
  state.used = 120 * mebibyte;
  await pass();
  state.used = 122 * mebibyte;
  await pass();
  expect(collections).toEqual([300]);
  // V8 collects, and then there is garbage again.
  state.used = 80 * mebibyte;
  await pass();
  state.used = 90 * mebibyte;
  await pass();
  expect(collections).toEqual([300, 90]);

  await collection.stop();
  state.used = 500 * mebibyte;
  await pass();
  expect(collections).toHaveLength(2);
});
