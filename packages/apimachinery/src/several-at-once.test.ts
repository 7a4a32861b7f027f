import { expect, test } from '@jest/globals';
import { severalAtOnce } from './several-at-once.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('jobs are done for all items in their order, and no more at a time than told', async () => {
  const begun: number[] = [];
  let running = 0;
  let most = 0;
  await severalAtOnce([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    begun.push(item);
    most = Math.max(most, ++running);
    await turn();
    running--;
  });
  expect(begun).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(most).toBe(3);
});

test('a failure begins nothing more, and is thrown when what runs has ended', async () => {
  const ended: number[] = [];
  const all = severalAtOnce([1, 2, 3, 4], 2, async (item) => {
    await turn();
    ended.push(item);
    if (item < 3) throw new Error(`job ${item}`);
  });
  await expect(all).rejects.toThrow('job 1');
  expect(ended).toEqual([1, 2]);
});
