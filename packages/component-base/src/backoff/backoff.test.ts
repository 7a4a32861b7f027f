import { expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { Backoff } from './backoff.ts';
import { retry } from './retry.ts';
import { FakeClock } from '@multiplane/testing';

test('pauses grow to the maximum and start again after a reset', () => {
  const backoff = new Backoff({ initial: 100, max: 500, jitter: 0 });
  expect([backoff.next(), backoff.next(), backoff.next(), backoff.next()]).toEqual([100, 200, 400, 500]);
  backoff.reset();
  expect(backoff.next()).toBe(100);
});

test('jitter keeps every pause within its share, and below the maximum', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.nat(20), (random, tries) => {
      const backoff = new Backoff({ initial: 10, max: 1000 }, { random: () => random });
      for (let i = 0; i < tries; i++) backoff.next();
      const base = Math.min(1000, 10 * 2 ** tries);
      const pause = backoff.next();
      expect(pause).toBeGreaterThanOrEqual(base / 2);
      expect(pause).toBeLessThanOrEqual(Math.min(1000, base * 1.5));
    }),
  );
});

test('retries after growing pauses, and calls onRetry before each', async () => {
  const clock = new FakeClock();
  const attempt = jest
    .fn<() => Promise<string>>()
    .mockRejectedValueOnce(new Error('first'))
    .mockRejectedValueOnce(new Error('second'))
    .mockResolvedValue('done');
  const pauses: number[] = [];
  const result = retry(
    attempt,
    { initial: 10, max: 100, jitter: 0, onRetry: (_error, pause) => pauses.push(pause) },
    { clock },
  );
  await clock.advance(30);
  expect(await result).toBe('done');
  expect(pauses).toEqual([10, 20]);
});

test('gives up after its attempts, and immediately on errors that are not retryable', async () => {
  const clock = new FakeClock();
  const attempt = jest.fn<() => Promise<string>>().mockRejectedValue(new Error('no'));
  const givenUp = expect(retry(attempt, { initial: 1, max: 1, attempts: 3 }, { clock })).rejects.toThrow('no');
  await clock.advance(10);
  await givenUp;
  expect(attempt).toHaveBeenCalledTimes(3);
  await expect(retry(attempt, { initial: 1, max: 1, retryable: () => false }, { clock })).rejects.toThrow('no');
  expect(attempt).toHaveBeenCalledTimes(4);
});

test('stops waiting when it is aborted', async () => {
  const clock = new FakeClock();
  const controller = new AbortController();
  const result = retry(
    () => Promise.reject(new Error('no')),
    { initial: 10, max: 10, signal: controller.signal },
    { clock },
  );
  const stopped = expect(result).rejects.toThrow('stopped');
  await clock.advance(0);
  controller.abort(new Error('stopped'));
  await stopped;
  expect(clock.timers).toBe(0);
});
