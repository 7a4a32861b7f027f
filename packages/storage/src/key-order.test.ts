import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { compareKeys, lowerBound } from './key-order.ts';

test('keys are ordered by their UTF-8 bytes', () => {
  const text = fc.string({ unit: 'grapheme' });
  const known = fc.constantFrom('', 'a', 'a\0', '\uE000', '\uFFFF', '😀', '\u{10FFFF}', '\uD7FF');
  const any = fc.oneof(text, known);
  fc.assert(
    fc.property(any, any, any, (start, a, b) => {
      const expected = Buffer.compare(Buffer.from(start + a), Buffer.from(start + b));
      expect(Math.sign(compareKeys(start + a, start + b))).toBe(expected);
    }),
    { numRuns: 1000 },
  );
});

test('the lower bound is the first key that is not smaller', () => {
  const sorted = ['a', 'c', '\uFFFD', '😀'];
  expect(['', 'a', 'b', 'c', 'd', '😀', '\u{10FFFF}'].map((key) => lowerBound(sorted, key, (s) => s))).toEqual([
    0, 0, 1, 1, 2, 3, 4,
  ]);
});
