import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { compareKeys } from '../key-order.ts';
import { sortByKey } from './sort-by-key.ts';

const isAscii = (key: string): boolean => Buffer.byteLength(key) === key.length;

function bothWays(keys: readonly string[]): { sorted: unknown; expected: unknown } {
  const items = keys.map((key, place) => ({ key, place }));
  const expected = items.toSorted((a, b) => compareKeys(a.key, b.key));
  sortByKey(items, { ascii: keys.every(isAscii) });
  return { sorted: items, expected };
}

function expectSorted(keys: readonly string[]): void {
  const { sorted, expected } = bothWays(keys);
  expect(sorted).toEqual(expected);
}

const part = fc.constantFrom('', 'a', 'ab', 'abc', 'abcd', 'abcdefgh', '\0', '\u007f', '/registry/core/', '0', '-');
const grown = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(''));

test('sorts keys with common prefixes, prefixes of each other and duplicates; the sort is stable', () => {
  fc.assert(fc.property(fc.array(grown, { maxLength: 200 }), expectSorted), { numRuns: 300 });
});

test('sorts arbitrary keys', () => {
  const wide = fc.oneof(grown, fc.string({ unit: 'grapheme' }), fc.constantFrom('\uE000', '\uFFFF', '😀'));
  fc.assert(fc.property(fc.array(wide, { maxLength: 100 }), expectSorted), { numRuns: 300 });
});

test('sorts sorted, reversed and empty input', () => {
  const keys = Array.from({ length: 3000 }, (_, i) => `/registry/core/configmaps/${String(i).padStart(6, '0')}/x`);
  for (const some of [keys, keys.toReversed(), []]) {
    const { sorted, expected } = bothWays(some);
    expect(sorted).toEqual(expected);
  }
});
