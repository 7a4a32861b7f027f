import { expect, test } from '@jest/globals';
import { SurfaceCache } from './surface-cache.ts';

test('makes what is missing, keeps what is used', () => {
  const cache = new SurfaceCache<string>(2);
  const made: string[] = [];
  const get = (hash: string): string =>
    cache.get(hash, () => {
      made.push(hash);
      return hash;
    });
  for (const hash of ['a', 'b', 'a', 'c', 'a', 'b']) expect(get(hash)).toBe(hash);
  expect(made).toEqual(['a', 'b', 'c', 'b']);
  expect(cache.size).toBe(2);
});

test('an entry that grew pushes others out; one too large for all goes alone', () => {
  const cache = new SurfaceCache<{ weight: number }>(10, ({ weight }) => weight);
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
