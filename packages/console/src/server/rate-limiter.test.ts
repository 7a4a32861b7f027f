import { expect, test } from '@jest/globals';
import { FakeClock } from '@multiplane/testing';
import { RateLimiter } from './rate-limiter.ts';

test('a source has its burst, then its rate; others are not affected', async () => {
  const clock = new FakeClock();
  const limiter = new RateLimiter({ burst: 2, perSecond: 0.5, maxSources: 10 }, { clock });
  expect([1, 2, 3].map(() => limiter.take('a'))).toEqual([0, 0, 2]);
  expect(limiter.take('b')).toBe(0);
  await clock.advance(2_000);
  expect([limiter.take('a'), limiter.take('a')]).toEqual([0, 2]);
});

test('it remembers a bounded number of sources', () => {
  const limiter = new RateLimiter({ burst: 1, perSecond: 1, maxSources: 2 }, { clock: new FakeClock() });
  expect(['a', 'b', 'c', 'a', 'a'].map((source) => limiter.take(source))).toEqual([0, 0, 0, 0, 1]);
});
