import { describe, expect, test } from '@jest/globals';
import {
  codeOf,
  type Limits,
  type MakeStore,
  prefix,
  put,
  remove,
  type Subject,
  useSubject,
  Watching,
} from './subject.ts';

export function compactionConformance(makeStore: MakeStore, without: Limits): void {
  describe('compaction', () => {
    const subject = useSubject(makeStore);
    if (without.history === undefined) keptHistory(subject);

    test('a watch that has received everything continues', async () => {
      const start = await subject.store.currentRevision();
      const watching = new Watching(subject.store, prefix, start).start();
      for (let i = 0; i < 5; i++) {
        await put(subject.store, `${prefix}a`, String(i));
        await watching.count(i + 1);
        await subject.store.compact(await subject.store.currentRevision());
      }
      expect(watching.events.map((event) => event.value?.toString())).toEqual(['0', '1', '2', '3', '4']);
      await watching.stop();
    });

    test('a delete at the compacted revision is delivered or the watch is refused, never skipped', async () => {
      const created = await put(subject.store, `${prefix}a`, '1');
      const removed = await remove(subject.store, `${prefix}a`);
      const last = await put(subject.store, `${prefix}b`, '1');
      await subject.store.compact(removed);
      const watching = new Watching(subject.store, prefix, created);
      expect(await codeOf(watching.until(({ batches }) => batches.some(({ revision }) => revision >= last)))).toBe(
        'Compacted',
      );
      expect(watching.events).toEqual([]);
    });

    test('compacting the same or an older revision changes nothing, a future one is refused', async () => {
      const first = await put(subject.store, `${prefix}a`, '1');
      const second = await put(subject.store, `${prefix}a`, '2');
      await subject.store.compact(second);
      await subject.store.compact(second);
      await subject.store.compact(first);
      expect(await codeOf(subject.store.list(prefix, { revision: first }))).toBe('Compacted');
      expect(await codeOf(subject.store.compact(second + 1000))).toBe('FutureRevision');
      const { revision } = await subject.store.list(prefix);
      if (without.freeCompaction === true) expect(revision).toBeGreaterThan(second);
      else expect(revision).toBe(second);
      expect((await subject.store.get(`${prefix}a`))?.revision).toBe(second);
    });

    test('revisions continue after everything was deleted and compacted', async () => {
      await put(subject.store, `${prefix}a`, '1');
      const removed = await remove(subject.store, `${prefix}a`);
      await subject.store.compact(removed);
      if (without.freeCompaction !== true) expect(await subject.store.currentRevision()).toBe(removed);
      expect(await put(subject.store, `${prefix}a`, '2')).toBeGreaterThan(removed);
      if (without.history === undefined)
        expect((await subject.store.list(prefix, { revision: removed })).items).toEqual([]);
    });
  });
}

/** The history after a compaction. */
function keptHistory(subject: Subject): void {
  test('states before the compacted revision are refused, it and newer ones are exact', async () => {
    const old = await put(subject.store, `${prefix}a`, '1');
    const middle = await put(subject.store, `${prefix}a`, '2');
    await put(subject.store, `${prefix}b`, '1');
    const removed = await remove(subject.store, `${prefix}b`);
    const last = await put(subject.store, `${prefix}a`, '3');
    await subject.store.compact(removed);
    for (const revision of [old, middle]) {
      await expect(subject.store.list(prefix, { revision })).rejects.toMatchObject({
        code: 'Compacted',
        oldest: removed,
      });
    }
    const state = async (revision: number): Promise<string[]> =>
      (await subject.store.list(prefix, { revision })).items.map((item) => item.value.toString());
    expect(await state(removed)).toEqual(['2']);
    expect(await state(last)).toEqual(['3']);
    expect((await subject.store.get(`${prefix}a`))?.value.toString()).toBe('3');
  });

  test('watches after an older revision are refused, after the compacted one they are complete', async () => {
    const first = await put(subject.store, `${prefix}a`, '1');
    const second = await put(subject.store, `${prefix}a`, '2');
    await put(subject.store, `${prefix}a`, '3');
    await subject.store.compact(second);
    expect(await codeOf(new Watching(subject.store, prefix, first).count(1))).toBe('Compacted');
    const watching = await new Watching(subject.store, prefix, second).count(1);
    expect(watching.events.map((event) => event.value?.toString())).toEqual(['3']);
    await watching.stop();
  });

  test('a watch that lags behind the compaction gets everything or an error, never a gap', async () => {
    const start = await put(subject.store, `${prefix}a`, 'start');
    const lagging = new Watching(subject.store, prefix, start).start();
    const revisions: number[] = [];
    for (let i = 0; i < 50; i++) revisions.push(await put(subject.store, `${prefix}a`, String(i)));
    await subject.store.compact(revisions[40] as number);
    const outcome = await codeOf(lagging.count(50));
    expect(['none', 'Compacted']).toContain(outcome);
    expect(lagging.events.map((event) => event.revision)).toEqual(revisions.slice(0, lagging.events.length));
  });
}
