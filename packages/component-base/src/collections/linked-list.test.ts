import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { LinkedList } from './linked-list.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { readonly type: 'minor' | 'major' }) => void;

describe('a linked list', () => {
  test('keeps insertion order when elements are removed anywhere', () => {
    const list = new LinkedList<string>();
    expect([...list]).toEqual([]);
    expect(list.first).toBeUndefined();
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((value) => list.add(value));
    expect([...list]).toEqual(['a', 'b', 'c', 'd']);
    b?.remove();
    expect([...list]).toEqual(['a', 'c', 'd']);
    a?.remove();
    d?.remove();
    expect([...list]).toEqual(['c']);
    expect(list.first).toBe(c);
    expect(list.size).toBe(1);
    c?.remove();
    expect([...list]).toEqual([]);
    expect(list.first).toBeUndefined();
    list.add('e');
    expect([...list]).toEqual(['e']);
    expect(list.size).toBe(1);
  });

  test('ignores a second removal', () => {
    const list = new LinkedList<number>();
    const first = list.add(1);
    list.add(2);
    first.remove();
    first.remove();
    expect(list.size).toBe(1);
    expect([...list]).toEqual([2]);
  });

  test('iterates over a snapshot', () => {
    const list = new LinkedList<number>();
    const elements = [1, 2, 3].map((value) => list.add(value));
    const seen: number[] = [];
    for (const value of list) {
      seen.push(value);
      for (const element of elements) element.remove();
      list.add(4);
    }
    expect(seen).toEqual([1, 2, 3]);
    expect([...list]).toEqual([4, 4, 4]);
  });

  test('lets the young generation collect removed elements of an old list', () => {
    const list = new LinkedList<number[]>();
    const inFlight = Array.from({ length: 32 }, () => list.add([]));
    for (let i = 0; i < 3; i++) collect({ type: 'minor' });
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 20_000; n++) {
      inFlight[n % inFlight.length]?.remove();
      inFlight[n % inFlight.length] = list.add(Array.from({ length: 500 }, () => n + 0.5));
      if (n % 1_000 === 0) collect({ type: 'minor' });
    }
    for (let i = 0; i < 3; i++) collect({ type: 'minor' });
    // All of it would be 80 MB, and a Set keeps a part or nearly all of it here.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(5e6);
  });
});
