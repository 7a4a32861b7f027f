import { expect, test } from '@jest/globals';
import { WeightedCache } from './weighted-cache.ts';

test('computes missing values and evicts the least recently used', () => {
  const cache = new WeightedCache<{ readonly hash: string }>(2);
  const computed: string[] = [];
  const get = (hash: string): { readonly hash: string } =>
    cache.get(hash, () => {
      computed.push(hash);
      return { hash };
    });
  for (const hash of ['a', 'b', 'a', 'c', 'a', 'b']) expect(get(hash)).toEqual({ hash });
  expect(computed).toEqual(['a', 'b', 'c', 'b']);
  expect(cache.size).toBe(2);
});

test('a value that grew evicts others; a value that exceeds the capacity is not kept', () => {
  const cache = new WeightedCache<{ weight: number }>(10, ({ weight }) => weight);
  for (const hash of ['a', 'b', 'c']) cache.get(hash, () => ({ weight: 3 }));
  const c = cache.get('c', () => ({ weight: 0 }));
  c.weight = 6;
  cache.reweigh('c');
  expect(cache.size).toBe(2);
  const d = cache.get('d', () => ({ weight: 1 }));
  d.weight = 11;
  cache.reweigh('d');
  expect(cache.size).toBe(2);
  expect(cache.get('c', () => ({ weight: 0 }))).toBe(c);
  cache.reweigh('gone');
  expect(cache.size).toBe(2);
});
