import { describe, expect, test } from '@jest/globals';
import type { ListOptions, Storage } from '../../src/interface.ts';
import {
  bytes,
  codeOf,
  type Limits,
  type MakeStore,
  prefix,
  put,
  remove,
  type Subject,
  useSubject,
} from './subject.ts';

async function names(store: Storage, scope: string, options?: ListOptions): Promise<string[]> {
  return (await store.list(scope, options)).items.map((item) => item.key.slice(scope.length));
}

export function listConformance(makeStore: MakeStore, without: Limits): void {
  describe('list', () => {
    const subject = useSubject(makeStore);

    test('an empty prefix has no items and the current revision', async () => {
      const result = await subject.store.list(prefix);
      expect(result).toEqual({ items: [], revision: await subject.store.currentRevision(), remaining: 0 });
    });

    test('returns keys, values and revisions like get', async () => {
      const a = await put(subject.store, `${prefix}a`, '1');
      const b = await put(subject.store, `${prefix}b`, '2');
      const result = await subject.store.list(prefix);
      expect(result.items).toEqual([
        { key: `${prefix}a`, value: bytes('1'), revision: a },
        { key: `${prefix}b`, value: bytes('2'), revision: b },
      ]);
      expect(result.revision).toBe(b);
    });

    test('is ordered by the UTF-8 bytes of the keys', async () => {
      const ordered = ['A', 'a', 'a!', 'a/b', 'aa', 'b', 'é', '\uE000', '\uFFFD', '😀', '\u{10FFFF}'];
      for (const name of ordered.toReversed()) await put(subject.store, prefix + name, name);
      expect(await names(subject.store, prefix)).toEqual(ordered);
      expect(await names(subject.store, prefix, { from: `${prefix}\uFFFD`, limit: 2 })).toEqual(['\uFFFD', '😀']);
    });

    test('ends exactly at the prefix', async () => {
      for (const name of ['a/1', 'a/2', 'ab/1', 'a', 'a!/1', 'b/1']) await put(subject.store, prefix + name, name);
      expect(await names(subject.store, `${prefix}a/`)).toEqual(['1', '2']);
      expect(await names(subject.store, `${prefix}ab/`)).toEqual(['1']);
      expect(await names(subject.store, `${prefix}c/`)).toEqual([]);
    });

    test('limit truncates, from is inclusive, remaining counts the rest', async () => {
      for (const name of ['a', 'b', 'c', 'd', 'e']) await put(subject.store, prefix + name, name);
      await put(subject.store, '/registry/core/secrets/z', 'other');
      const page = async (options: ListOptions): Promise<unknown> => {
        const { items, remaining } = await subject.store.list(prefix, options);
        return [items.map((item) => item.key.slice(prefix.length)).join(''), remaining];
      };
      expect(await page({ limit: 2 })).toEqual(['ab', 3]);
      expect(await page({ limit: 2, from: `${prefix}c` })).toEqual(['cd', 1]);
      expect(await page({ limit: 2, from: `${prefix}b\0` })).toEqual(['cd', 1]);
      expect(await page({ limit: 2, from: `${prefix}e` })).toEqual(['e', 0]);
      expect(await page({ limit: 5 })).toEqual(['abcde', 0]);
      expect(await page({ limit: 0 })).toEqual(['abcde', 0]);
      expect(await page({ from: '/a' })).toEqual(['abcde', 0]);
      expect(await page({ from: '/z' })).toEqual(['', 0]);
      expect(await page({ from: `${prefix}f` })).toEqual(['', 0]);
    });

    test('without a count, remaining only shows whether there are more keys', async () => {
      for (const name of ['a', 'b', 'c', 'd']) await put(subject.store, prefix + name, name);
      const then = await subject.store.currentRevision();
      await remove(subject.store, `${prefix}d`);
      await put(subject.store, '/registry/core/secrets/z', 'other');
      const page = async (options: ListOptions): Promise<string> => {
        const { items, remaining } = await subject.store.list(prefix, { ...options, skipRemainingCount: true });
        return items.map((item) => item.key.slice(prefix.length)).join('') + (remaining > 0 ? '…' : '');
      };
      expect(await page({ limit: 2 })).toBe('ab…');
      expect(await page({ limit: 2, from: `${prefix}b` })).toBe('bc');
      expect(await page({ limit: 3 })).toBe('abc');
      expect(await page({})).toBe('abc');
      if (without.history !== undefined) return;
      expect(await page({ limit: 3, revision: then })).toBe('abc…');
      expect(await page({ limit: 3, revision: then, from: `${prefix}b` })).toBe('bcd');
      expect(await page({ limit: 1, revision: then, from: `${prefix}d` })).toBe('d');
    });

    if (without.history === 'all') {
      test('an older revision is refused, the current one is served', async () => {
        const older = await put(subject.store, `${prefix}a`, 'a1');
        const now = await put(subject.store, `${prefix}b`, 'b1');
        await expect(subject.store.list(prefix, { revision: older })).rejects.toMatchObject({
          code: 'Compacted',
          oldest: now,
        });
        expect((await subject.store.list(prefix, { revision: now })).items).toHaveLength(2);
      });
    }
    if (without.history === undefined) historyOfLists(subject);

    test('a future revision is refused', async () => {
      const current = await put(subject.store, `${prefix}a`, '1');
      expect(await codeOf(subject.store.list(prefix, { revision: current + 1000 }))).toBe('FutureRevision');
    });

    test('thousands of keys are complete and in order', async () => {
      const expected = Array.from({ length: 2500 }, (_, i) => `k${String(i).padStart(5, '0')}`);
      const value = Buffer.alloc(500, 'v');
      await Promise.all(expected.map((name) => subject.store.create(prefix + name, value)));
      expect(await names(subject.store, prefix)).toEqual(expected);
      const { items, remaining } = await subject.store.list(prefix, { limit: 10, from: `${prefix}k01000` });
      expect([items.length, remaining]).toEqual([10, 1490]);
    });
  });
}

function historyOfLists(subject: Subject): void {
  test('at an older revision returns the state at it: old values, deleted keys, nothing newer', async () => {
    await put(subject.store, `${prefix}a`, 'a1');
    await put(subject.store, `${prefix}b`, 'b1');
    const then = await put(subject.store, `${prefix}c`, 'c1');
    await put(subject.store, `${prefix}a`, 'a2');
    await put(subject.store, `${prefix}a`, 'a3');
    await remove(subject.store, `${prefix}b`);
    const between = await subject.store.currentRevision();
    await put(subject.store, `${prefix}b`, 'b2');
    await put(subject.store, `${prefix}d`, 'd1');

    const state = async (revision?: number): Promise<string[]> =>
      (await subject.store.list(prefix, { revision })).items.map((item) => item.value.toString());
    expect(await state(then)).toEqual(['a1', 'b1', 'c1']);
    expect(await state(between)).toEqual(['a3', 'c1']);
    expect(await state()).toEqual(['a3', 'b2', 'c1', 'd1']);
    const page = await subject.store.list(prefix, { revision: then, limit: 1, from: `${prefix}b` });
    expect(page.items.map((item) => item.value.toString())).toEqual(['b1']);
    expect(page).toMatchObject({ revision: then, remaining: 1 });
  });

  test('pages of any size show the state at their revision, whatever was created and deleted since', async () => {
    const all = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => prefix + name);
    const there = new Map<string, string>();
    const states: { revision: number; content: string[] }[] = [];
    // Visits each key at different times, so that each exists in some states and not in others.
    for (let step = 0; step < 60; step++) {
      const key = all[(step * step + step * 3) % all.length] as string;
      if (there.has(key) && step % 3 !== 0) {
        await remove(subject.store, key);
        there.delete(key);
      } else {
        await put(subject.store, key, `v${step}`);
        there.set(key, `v${step}`);
      }
      const revision = await subject.store.currentRevision();
      states.push({ revision, content: Array.from(there, (pair) => pair.join(' ')).sort() });
    }
    for (const { revision, content } of states) {
      for (const [limit, skipRemainingCount] of [
        [1, false],
        [3, true],
        [5, false],
        [0, true],
      ] as const) {
        const seen: string[] = [];
        let from: string | undefined;
        for (let remaining = 1; remaining > 0;) {
          const page = await subject.store.list(prefix, { limit, from, revision, skipRemainingCount });
          ({ remaining } = page);
          for (const { key, value } of page.items) seen.push(`${key} ${value.toString()}`);
          from = `${page.items.at(-1)?.key ?? ''}\0`;
          if (!skipRemainingCount) expect(remaining).toBe(content.length - seen.length);
        }
        expect(seen).toEqual(content);
      }
    }
  });

  test('pages over one state while everything changes', async () => {
    const expected = Array.from({ length: 25 }, (_, i) => `k${String(i).padStart(2, '0')}`);
    for (const name of expected) await put(subject.store, prefix + name, 'old');
    const seen: string[] = [];
    let from: string | undefined;
    let revision: number | undefined;
    for (let remaining = 1, round = 0; remaining > 0; round++) {
      const page = await subject.store.list(prefix, { limit: 4, from, revision });
      ({ revision, remaining } = page);
      for (const item of page.items) {
        expect(item.value.toString()).toBe('old');
        seen.push(item.key.slice(prefix.length));
      }
      from = `${page.items.at(-1)?.key}\0`;
      await put(subject.store, `${prefix}k00x${round}`, 'new');
      await remove(subject.store, prefix + (expected[24 - round] as string));
      await put(subject.store, prefix + (expected[12 + (round % 3)] as string), 'new');
    }
    expect(seen).toEqual(expected);
  });
}
