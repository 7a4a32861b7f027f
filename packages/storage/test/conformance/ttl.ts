import { describe, expect, test } from '@jest/globals';
import { bytes, codeOf, type Limits, type MakeStore, prefix, useSubject, Watching } from './subject.ts';

const key = (name: string): string => prefix + name;

export function ttlConformance(makeStore: MakeStore, without: Limits): void {
  describe('expiry', () => {
    const subject = useSubject(makeStore);

    if (without.expiry === true) {
      test('a write with a TTL is refused instead of being kept for ever', async () => {
        const { store } = subject;
        const kept = await store.create(key('kept'), bytes('1'));
        expect(await codeOf(store.create(key('short'), bytes('1'), { ttlSeconds: 1 }))).toBe('Unusable');
        expect(await codeOf(store.update(key('kept'), bytes('2'), kept, { ttlSeconds: 1 }))).toBe('Unusable');
        expect((await store.list(prefix)).items.map((item) => item.value.toString())).toEqual(['1']);
      });
      return;
    }

    // One test for all rules, because real backends expire keys in real seconds.
    test('a key expires with a delete event; only a write with a TTL changes its expiry time', async () => {
      const { store } = subject;
      const start = await store.currentRevision();
      const short = { ttlSeconds: 1 };

      const reborn = await store.create(key('reborn'), bytes('1'), short);
      await store.delete(key('reborn'), reborn);
      await store.create(key('reborn'), bytes('2'));
      const extended = await store.create(key('extended'), bytes('1'), short);
      await store.update(key('extended'), bytes('2'), extended, { ttlSeconds: 600 });
      const kept = await store.create(key('kept'), bytes('1'), short);
      await store.update(key('kept'), bytes('2'), kept);
      const later = await store.create(key('later'), bytes('1'));
      await store.update(key('later'), bytes('2'), later, short);
      await store.create(key('plain'), bytes('1'), short);

      const watching = await new Watching(store, prefix, start).until(
        ({ events }) => events.filter((event) => event.type === 'delete').length >= 4,
      );
      const expired = watching.events.filter((event) => event.type === 'delete').map((event) => event.key);
      expect(expired.slice(1).toSorted()).toEqual([key('kept'), key('later'), key('plain')]);
      expect((await store.list(prefix)).items.map((item) => item.key)).toEqual([key('extended'), key('reborn')]);
      expect(await store.get(key('plain'))).toBeUndefined();
      await watching.stop();
    });
  });
}
