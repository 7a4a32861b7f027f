import { describe, expect, test } from '@jest/globals';
import { bytes, codeOf, type MakeStore, prefix, remove, useSubject } from './subject.ts';

export function createConformance(makeStore: MakeStore): void {
  describe('create', () => {
    const subject = useSubject(makeStore);

    test('each create gets a new revision, greater than all before', async () => {
      let last = await subject.store.currentRevision();
      for (const name of ['a', 'b', 'c']) {
        const revision = await subject.store.create(prefix + name, bytes(name));
        expect(revision).toBeGreaterThan(last);
        expect(await subject.store.currentRevision()).toBe(revision);
        last = revision;
      }
    });

    test('an existing key is refused and not changed', async () => {
      const revision = await subject.store.create(`${prefix}a`, bytes('1'));
      await expect(subject.store.create(`${prefix}a`, bytes('2'))).rejects.toMatchObject({
        code: 'KeyExists',
        key: `${prefix}a`,
      });
      expect(await subject.store.get(`${prefix}a`)).toMatchObject({ value: bytes('1'), revision });
      expect(await subject.store.currentRevision()).toBe(revision);
    });

    test('a deleted key can be created again, with a greater revision', async () => {
      const first = await subject.store.create(`${prefix}a`, bytes('1'));
      const removed = await remove(subject.store, `${prefix}a`);
      const second = await subject.store.create(`${prefix}a`, bytes('2'));
      expect([first < removed, removed < second]).toEqual([true, true]);
    });

    test('a value over the limit is refused as too large, and nothing is written', async () => {
      const revision = await subject.store.create(`${prefix}a`, bytes('1'));
      const huge = Buffer.alloc(3 << 20, 'x');
      expect(await codeOf(subject.store.create(`${prefix}b`, huge))).toBe('ValueTooLarge');
      expect(await codeOf(subject.store.update(`${prefix}a`, huge, revision))).toBe('ValueTooLarge');
      expect(await subject.store.currentRevision()).toBe(revision);
      expect((await subject.store.list(prefix)).items).toHaveLength(1);
    });

    test('of concurrent creates of one key exactly one succeeds', async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, i) => codeOf(subject.store.create(`${prefix}a`, bytes(String(i))))),
      );
      expect(outcomes.filter((code) => code === 'none')).toHaveLength(1);
      expect(outcomes.filter((code) => code === 'KeyExists')).toHaveLength(19);
      const winner = outcomes.indexOf('none');
      expect((await subject.store.get(`${prefix}a`))?.value.toString()).toBe(String(winner));
    });

    test('concurrent creates of different keys all succeed, with different revisions', async () => {
      const revisions = await Promise.all(
        Array.from({ length: 200 }, (_, i) => subject.store.create(`${prefix}${i}`, bytes(String(i)))),
      );
      expect(new Set(revisions).size).toBe(200);
      const { items } = await subject.store.list(prefix);
      for (const item of items) expect(item.revision).toBe(revisions[Number(item.value.toString())]);
    });
  });
}
