import { describe, expect, test } from '@jest/globals';
import { RecentlyUsed } from './recently-used.ts';

describe('what was used lately', () => {
  test('stays, whatever else comes', () => {
    const kept = new RecentlyUsed<string, number>(16);
    kept.set('mine', 0);
    for (let i = 1; i < 1_000; i++) {
      kept.set(`other${i}`, i);
      expect(kept.get('mine')).toBe(0);
      expect(kept.weight).toBeLessThanOrEqual(16);
    }
    expect(kept.get('other1')).toBeUndefined();
    expect(kept.get('other999')).toBe(999);
  });

  test('goes all the same when all were used', () => {
    const kept = new RecentlyUsed<number, number>(8);
    for (let i = 0; i < 100; i++) {
      kept.set(i, i);
      for (let j = 0; j <= i; j++) kept.get(j);
      expect(kept.weight).toBeLessThanOrEqual(8);
      expect(kept.get(i)).toBe(i);
    }
  });

  test('a look that is no use keeps nothing', () => {
    const kept = new RecentlyUsed<number, number>(8);
    for (let i = 0; i < 100; i++) {
      kept.set(i, i);
      kept.peek(0);
    }
    expect(kept.peek(0)).toBeUndefined();
  });

  test('is counted by its weight', () => {
    const kept = new RecentlyUsed<string, string>(100, (value) => value.length);
    kept.set('a', 'x'.repeat(60));
    kept.set('a', 'x'.repeat(30));
    expect(kept.weight).toBe(30);
    kept.set('b', 'x'.repeat(60));
    kept.delete('a');
    kept.delete('a');
    expect(kept.weight).toBe(60);
    kept.set('c', 'x'.repeat(60));
    expect([kept.peek('b'), kept.weight]).toEqual([undefined, 60]);
    kept.clear();
    expect([kept.peek('c'), kept.weight]).toEqual([undefined, 0]);
  });

  test('what alone is too heavy stays until the next one comes', () => {
    const kept = new RecentlyUsed<string, string>(10, (value) => value.length);
    kept.set('heavy', 'x'.repeat(50));
    expect(kept.get('heavy')).toBeDefined();
    kept.set('light', 'x');
    expect([kept.peek('heavy'), kept.peek('light'), kept.weight]).toEqual([undefined, 'x', 1]);
  });
});
