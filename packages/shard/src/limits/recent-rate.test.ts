import { expect, test } from '@jest/globals';
import { RecentRate } from './recent-rate.ts';

test('the use of the last second counts, before that none', () => {
  const rate = new RecentRate();
  expect(rate.perSecond(5_000)).toBe(0);
  rate.add(5_200, 30);
  rate.add(5_900, 10);
  expect(rate.perSecond(5_900)).toBe(40);
  expect(rate.perSecond(6_000)).toBe(40);
  expect(rate.perSecond(6_250)).toBe(30);
  rate.add(6_500, 7);
  expect(rate.perSecond(6_500)).toBe(27);
  expect(rate.perSecond(7_500)).toBe(4);
  expect(rate.perSecond(9_000)).toBe(0);
});

test('an even use has its rate at any time', () => {
  const rate = new RecentRate();
  const seen = new Set<number>();
  for (let now = 0; now < 10_000; now += 10) {
    rate.add(now, 1);
    if (now >= 1_000) seen.add(rate.perSecond(now));
  }
  expect([...seen].every((perSecond) => Math.abs(perSecond - 100) <= 1)).toBe(true);
});
