import { describe, expect, test } from '@jest/globals';
import { bytes, codeOf, type MakeStore, prefix, useSubject } from './subject.ts';

export function deleteConformance(makeStore: MakeStore): void {
  describe('delete', () => {
    const subject = useSubject(makeStore);

    test('deletes a key with the expected revision and returns a new revision', async () => {
      const created = await subject.store.create(`${prefix}a`, bytes('1'));
      const removed = await subject.store.delete(`${prefix}a`, created);
      expect(removed).toBeGreaterThan(created);
      expect(await subject.store.currentRevision()).toBe(removed);
      expect(await subject.store.get(`${prefix}a`)).toBeUndefined();
      expect((await subject.store.list(prefix)).items).toEqual([]);
    });

    test('another revision or a missing key is refused, and nothing is written', async () => {
      const first = await subject.store.create(`${prefix}a`, bytes('1'));
      const second = await subject.store.update(`${prefix}a`, bytes('2'), first);
      await expect(subject.store.delete(`${prefix}a`, first)).rejects.toMatchObject({
        code: 'RevisionConflict',
        current: second,
      });
      for (const known of [first, second])
        expect(await codeOf(subject.store.delete(`${prefix}b`, known))).toBe('RevisionConflict');
      expect(await subject.store.currentRevision()).toBe(second);
      await subject.store.delete(`${prefix}a`, second);
      expect(await codeOf(subject.store.delete(`${prefix}a`, second))).toBe('RevisionConflict');
    });

    test('of a concurrent update and delete exactly one succeeds', async () => {
      for (let round = 0; round < 10; round++) {
        const key = `${prefix}${round}`;
        const created = await subject.store.create(key, bytes('1'));
        const outcomes = await Promise.all([
          codeOf(subject.store.update(key, bytes('2'), created)),
          codeOf(subject.store.delete(key, created)),
        ]);
        expect(outcomes.toSorted()).toEqual(['RevisionConflict', 'none']);
        expect((await subject.store.get(key)) === undefined).toBe(outcomes[1] === 'none');
      }
    });
  });
}
