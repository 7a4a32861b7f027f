import { describe, expect, test } from '@jest/globals';
import { bytes, codeOf, type MakeStore, prefix, remove, useSubject } from './subject.ts';

export function updateConformance(makeStore: MakeStore): void {
  describe('update', () => {
    const subject = useSubject(makeStore);

    test('replaces the value at the expected revision', async () => {
      const created = await subject.store.create(`${prefix}a`, bytes('1'));
      const updated = await subject.store.update(`${prefix}a`, bytes('2'), created);
      expect(updated).toBeGreaterThan(created);
      expect(await subject.store.get(`${prefix}a`)).toMatchObject({ value: bytes('2'), revision: updated });
    });

    test('writing the same bytes is a new write', async () => {
      const created = await subject.store.create(`${prefix}a`, bytes('1'));
      expect(await subject.store.update(`${prefix}a`, bytes('1'), created)).toBeGreaterThan(created);
    });

    test('another revision is refused with the current one, and nothing is written', async () => {
      const first = await subject.store.create(`${prefix}a`, bytes('1'));
      const second = await subject.store.update(`${prefix}a`, bytes('2'), first);
      for (const stale of [first, second + 1]) {
        await expect(subject.store.update(`${prefix}a`, bytes('3'), stale)).rejects.toMatchObject({
          code: 'RevisionConflict',
          key: `${prefix}a`,
          current: second,
        });
      }
      expect(await subject.store.get(`${prefix}a`)).toMatchObject({ value: bytes('2'), revision: second });
      expect(await subject.store.currentRevision()).toBe(second);
    });

    test('a key that was deleted, never existed, or was created again is refused', async () => {
      const first = await subject.store.create(`${prefix}a`, bytes('1'));
      expect(await codeOf(subject.store.update(`${prefix}never`, bytes('x'), first))).toBe('RevisionConflict');
      const removed = await remove(subject.store, `${prefix}a`);
      for (const stale of [first, removed]) {
        expect(await codeOf(subject.store.update(`${prefix}a`, bytes('2'), stale))).toBe('RevisionConflict');
      }
      await subject.store.create(`${prefix}a`, bytes('3'));
      expect(await codeOf(subject.store.update(`${prefix}a`, bytes('4'), first))).toBe('RevisionConflict');
    });

    test('of concurrent updates with one expected revision exactly one succeeds', async () => {
      const created = await subject.store.create(`${prefix}a`, bytes('start'));
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, i) => codeOf(subject.store.update(`${prefix}a`, bytes(String(i)), created))),
      );
      expect(outcomes.filter((code) => code === 'none')).toHaveLength(1);
      expect(outcomes.filter((code) => code === 'RevisionConflict')).toHaveLength(19);
      expect((await subject.store.get(`${prefix}a`))?.value.toString()).toBe(String(outcomes.indexOf('none')));
    });

    test('concurrent increments with compare-and-set lose nothing', async () => {
      const key = `${prefix}counter`;
      await subject.store.create(key, bytes('0'));
      const increment = async (): Promise<void> => {
        for (;;) {
          const current = await subject.store.get(key);
          if (current === undefined) throw new Error('the counter does not exist');
          const next = bytes(String(Number(current.value.toString()) + 1));
          if ((await codeOf(subject.store.update(key, next, current.revision))) === 'none') return;
        }
      };
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let i = 0; i < 5; i++) await increment();
        }),
      );
      expect((await subject.store.get(key))?.value.toString()).toBe('40');
    });
  });
}
