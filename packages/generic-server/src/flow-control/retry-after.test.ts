import { expect, test } from '@jest/globals';
import { RetryAfter } from './retry-after.ts';

test('doubles while many requests are rejected, up to 32 seconds, and shrinks again', () => {
  const retryAfter = new RetryAfter();
  let second = 0;
  const reject = (requests: number): number => {
    for (let i = 0; i < requests; i++) retryAfter.rejected(second * 1000);
    second++;
    return retryAfter.seconds;
  };
  const growing = Array.from({ length: 70 }, () => reject(10));
  expect(growing.slice(0, 4)).toEqual([1, 2, 2, 4]);
  expect(Math.max(...growing)).toBe(32);
  second += 100;
  const shrinking = Array.from({ length: 40 }, () => {
    second += 40;
    return reject(1);
  });
  expect(shrinking.at(-1)).toBe(1);
});

test('single rejections do not change it', () => {
  const retryAfter = new RetryAfter();
  for (let second = 0; second < 100; second += 2) retryAfter.rejected(second * 1000);
  expect(retryAfter.seconds).toBe(1);
});
