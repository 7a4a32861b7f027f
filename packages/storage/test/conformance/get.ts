import { describe, expect, test } from '@jest/globals';
import { bytes, codeOf, type MakeStore, prefix, put, remove, useSubject } from './subject.ts';

export function getConformance(makeStore: MakeStore): void {
  describe('get', () => {
    const subject = useSubject(makeStore);

    test('an unknown key is undefined, also when it is a prefix of other keys', async () => {
      await put(subject.store, `${prefix}a/b`, 'x');
      expect(await subject.store.get(`${prefix}a`)).toBeUndefined();
      expect(await subject.store.get(`${prefix}a/`)).toBeUndefined();
    });

    test('returns the last write and its revision', async () => {
      const key = `${prefix}a`;
      const created = await subject.store.create(key, bytes('1'));
      expect(await subject.store.get(key)).toEqual({ key, value: bytes('1'), revision: created });
      const updated = await subject.store.update(key, bytes('2'), created);
      expect(await subject.store.get(key)).toEqual({ key, value: bytes('2'), revision: updated });
      await subject.store.delete(key, updated);
      expect(await subject.store.get(key)).toBeUndefined();
    });

    test('values are returned byte for byte: empty, every byte, a megabyte', async () => {
      const values = [
        Buffer.alloc(0),
        Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
        Buffer.alloc(1 << 20, 'abcdefg'),
      ];
      for (const [i, value] of values.entries()) {
        await subject.store.create(`${prefix}${i}`, value);
        expect((await subject.store.get(`${prefix}${i}`))?.value.equals(value)).toBe(true);
      }
    });

    test.each(['__proto__', 'constructor', 'système:é', '😀', 'a.b:c~d', ' ', 'a%2Fb', 'x'.repeat(800)])(
      'a key may contain %j',
      async (part) => {
        const key = `${prefix}${part}`;
        const revision = await subject.store.create(key, bytes(part));
        expect(await subject.store.get(key)).toEqual({ key, value: bytes(part), revision });
        expect((await subject.store.list(prefix)).items.map((item) => item.key)).toEqual([key]);
      },
    );

    test('a read that starts after an acknowledged write sees it, under concurrency', async () => {
      await Promise.all(
        Array.from({ length: 32 }, async (_, i) => {
          const key = `${prefix}${i}`;
          for (let round = 0; round < 5; round++) {
            const revision = await put(subject.store, key, String(round));
            expect(await subject.store.get(key)).toEqual({ key, value: bytes(String(round)), revision });
            expect(await subject.store.currentRevision()).toBeGreaterThanOrEqual(revision);
          }
          const removed = await remove(subject.store, key);
          expect(await subject.store.get(key)).toBeUndefined();
          expect(await subject.store.currentRevision()).toBeGreaterThanOrEqual(removed);
        }),
      );
    });

    test('after close everything is refused', async () => {
      await subject.store.close();
      expect(await codeOf(subject.store.get(`${prefix}a`))).toBe('Unavailable');
      expect(await codeOf(subject.store.list(prefix))).toBe('Unavailable');
      expect(await codeOf(subject.store.create(`${prefix}a`, bytes('')))).toBe('Unavailable');
      expect(await codeOf(subject.store.check())).toBe('Unavailable');
    });
  });
}
