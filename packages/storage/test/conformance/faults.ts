import { describe, expect, test } from '@jest/globals';
import { hasLocalRevision, localRevisionOf } from '../../src/capabilities/local-revision.ts';
import { bytes, codeOf, type MakeStore, prefix, put, useSubject, Watching } from './subject.ts';

/** Rules that hold for every backend without injected faults; fault tests are beside each backend. */
export function faultsConformance(makeStore: MakeStore): void {
  describe('faults', () => {
    const subject = useSubject(makeStore);

    test('revisions of concurrent writers are unique, and later writes have greater ones', async () => {
      const start = await subject.store.currentRevision();
      const spans: { before: number; revision: number }[] = [];
      await Promise.all(
        Array.from({ length: 16 }, async (_, writer) => {
          let revision = start;
          for (let i = 0; i < 20; i++) {
            const before = revision;
            revision = await subject.store.create(`${prefix}${writer}/${i}`, bytes(''));
            spans.push({ before, revision });
          }
        }),
      );
      expect(new Set(spans.map((span) => span.revision)).size).toBe(spans.length);
      for (const { before, revision } of spans) expect(revision).toBeGreaterThan(before);
      const watching = await new Watching(subject.store, prefix, start).count(spans.length);
      const sorted = spans.map((span) => span.revision).toSorted((a, b) => a - b);
      expect(watching.events.map((event) => event.revision)).toEqual(sorted);
      await watching.stop();
    });

    test('an event is never delivered before its write is readable', async () => {
      const start = await subject.store.currentRevision();
      const watching = new Watching(subject.store, prefix, start).start();
      const writes = Array.from({ length: 50 }, (_, i) => put(subject.store, `${prefix}${i}`, String(i)));
      while (watching.events.length < 50) {
        const known = watching.events.length;
        await watching.count(known + 1);
        for (const event of watching.events.slice(known)) {
          expect((await subject.store.get(event.key))?.revision).toBe(event.revision);
        }
        expect(await subject.store.currentRevision()).toBeGreaterThanOrEqual(watching.batches.at(-1)?.revision ?? 0);
      }
      await Promise.all([...writes, watching.stop()]);
    });

    test('a refused write takes no revision', async () => {
      const revision = await subject.store.create(`${prefix}a`, bytes('1'));
      const refused = await Promise.all([
        codeOf(subject.store.create(`${prefix}a`, bytes('2'))),
        codeOf(subject.store.update(`${prefix}a`, bytes('2'), revision + 1)),
        codeOf(subject.store.delete(`${prefix}a`, revision + 1)),
      ]);
      expect(refused).toEqual(['KeyExists', 'RevisionConflict', 'RevisionConflict']);
      const next = await subject.store.create(`${prefix}b`, bytes('1'));
      const watching = await new Watching(subject.store, prefix, revision).count(1);
      expect(watching.events.map((event) => event.revision)).toEqual([next]);
      await watching.stop();
    });

    test('a local revision is never behind an acknowledged write', async () => {
      if (!hasLocalRevision(subject.store)) return;
      await Promise.all(
        Array.from({ length: 30 }, async (_, i) => {
          const revision = await subject.store.create(`${prefix}${i}`, bytes(''));
          expect(localRevisionOf(subject.store)).toBeGreaterThanOrEqual(revision);
        }),
      );
      expect(localRevisionOf(subject.store)).toBe(await subject.store.currentRevision());
    });

    test('check resolves on a healthy store', async () => {
      await expect(subject.store.check()).resolves.toBeUndefined();
    });
  });
}
