import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { PriorityLevel } from './flow-control-configuration.ts';
import { allocateSeats, seatLimits, type SeatDemand } from './seat-allocation.ts';

const level = (shares: number, lendablePercent = 0, borrowingLimitPercent?: number): PriorityLevel => ({
  name: 'x',
  uid: '',
  exempt: false,
  nominalConcurrencyShares: shares,
  lendablePercent,
  borrowingLimitPercent,
  queuing: undefined,
});

test('seats follow from shares, rounded up', () => {
  expect(seatLimits(600, [level(20, 50), level(100, 90), level(5, 0, 10)])).toEqual([
    { nominal: 96, min: 48, max: Number.POSITIVE_INFINITY },
    { nominal: 480, min: 48, max: Number.POSITIVE_INFINITY },
    { nominal: 24, min: 24, max: 26 },
  ]);
});

describe('lending', () => {
  const [idle, busy] = [
    { nominal: 50, min: 10, max: Number.POSITIVE_INFINITY, target: 0, highWatermark: 0 },
    { nominal: 50, min: 50, max: Number.POSITIVE_INFINITY, target: 200, highWatermark: 200 },
  ];
  test('moves seats to the level with demand, up to what the other lends', () => {
    expect(allocateSeats(100, [idle, busy])).toEqual([10, 90]);
  });
  test('ends when the lender needs its seats', () => {
    expect(allocateSeats(100, [{ ...idle, target: 80, highWatermark: 80 }, busy])).toEqual([50, 50]);
  });
  test('respects the borrowing limit', () => {
    expect(allocateSeats(100, [idle, { ...busy, max: 60 }])).toEqual([40, 60]);
  });
});

test('allocations stay within their bounds and use all seats', () => {
  const demand = fc
    .record({
      nominal: fc.integer({ min: 1, max: 100 }),
      lent: fc.integer({ min: 0, max: 100 }),
      target: fc.integer({ min: 0, max: 500 }),
      highWatermark: fc.integer({ min: 0, max: 500 }),
    })
    .map(({ nominal, lent, ...rest }): SeatDemand => ({
      nominal,
      min: Math.max(0, nominal - lent),
      max: Number.POSITIVE_INFINITY,
      ...rest,
    }));
  fc.assert(
    fc.property(fc.array(demand, { minLength: 1, maxLength: 8 }), (levels) => {
      const total = levels.reduce((sum, { nominal }) => sum + nominal, 0);
      const seats = allocateSeats(total, levels);
      for (const [index, { min, nominal, highWatermark }] of levels.entries())
        expect(seats[index]).toBeGreaterThanOrEqual(Math.max(min, Math.min(nominal, highWatermark)));
      // Each is rounded.
      expect(Math.abs(seats.reduce((sum, each) => sum + each, 0) - total)).toBeLessThanOrEqual(levels.length);
    }),
  );
});
