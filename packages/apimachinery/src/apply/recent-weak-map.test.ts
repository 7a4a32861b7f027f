import { expect, test } from '@jest/globals';
import { RecentWeakMap } from './recent-weak-map.ts';

test('what was set or used lately is known, what was not is forgotten', () => {
  const map = new RecentWeakMap<object, number>(3);
  const keys = Array.from({ length: 12 }, () => ({}));
  map.set(keys[0] as object, 0);
  expect(map.get(keys[0] as object)).toBe(0);
  for (let index = 1; index < keys.length; index++) {
    map.set(keys[index] as object, index);
    expect(map.get(keys[index] as object)).toBe(index);
    expect(map.get(keys[0] as object)).toBe(0);
  }
  const known = keys.map((key, index) => map.get(key) === index);
  expect(known[0]).toBe(true);
  expect(known.slice(-3)).toEqual([true, true, true]);
  expect(known.filter(Boolean).length).toBeLessThanOrEqual(6);
});

test('what is set anew counts', () => {
  const map = new RecentWeakMap<object, number>(2);
  const key = {};
  map.set(key, 1);
  map.set({}, 0);
  map.set({}, 0);
  map.set(key, 2);
  expect(map.get(key)).toBe(2);
});
