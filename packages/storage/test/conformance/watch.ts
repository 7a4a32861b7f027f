import { describe, expect, test } from '@jest/globals';
import type { StorageEvent } from '../../src/interface.ts';
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
  Watching,
} from './subject.ts';

const short = ({ type, key, value, created }: StorageEvent): string =>
  `${type} ${key.slice(prefix.length)}${type === 'put' ? `=${value?.toString()}${created ? ' new' : ''}` : ''}`;

export function watchConformance(makeStore: MakeStore, without: Limits): void {
  describe('watch', () => {
    const subject = useSubject(makeStore);
    if (without.history === undefined) everyChange(subject);
    else latestChanges(subject);
    delivery(subject);
    lifetime(subject);
  });
}

function delivery(subject: Subject): void {
  test('nothing at or before the given revision is delivered', async () => {
    await put(subject.store, `${prefix}a`, '1');
    const middle = await put(subject.store, `${prefix}a`, '2');
    const last = await put(subject.store, `${prefix}a`, '3');
    const watching = await new Watching(subject.store, prefix, middle).count(1);
    const fresh = new Watching(subject.store, prefix, last).start();
    await put(subject.store, `${prefix}a`, '4');
    await watching.count(2);
    await fresh.count(1);
    expect(watching.events.map(short)).toEqual(['put a=3', 'put a=4']);
    expect(fresh.events.map(short)).toEqual(['put a=4']);
    await Promise.all([watching.stop(), fresh.stop()]);
  });

  test('later changes are delivered as they happen', async () => {
    const watching = new Watching(subject.store, prefix, await subject.store.currentRevision()).start();
    for (let i = 0; i < 5; i++) {
      const revision = await put(subject.store, `${prefix}a`, String(i));
      await watching.count(i + 1);
      expect(watching.events.at(-1)).toMatchObject({ revision, value: bytes(String(i)), created: i === 0 });
    }
    await watching.stop();
  });

  test('ends exactly at the prefix', async () => {
    const start = await subject.store.currentRevision();
    for (const name of ['a', 'a!/1', 'a/1', 'ab/1', 'b/1', 'a/2']) await put(subject.store, prefix + name, 'x');
    const watching = await new Watching(subject.store, `${prefix}a/`, start).count(2);
    expect(watching.events.map((event) => event.key)).toEqual([`${prefix}a/1`, `${prefix}a/2`]);
    await watching.stop();
  });

  test('the revision of a batch is never ahead of an undelivered event nor behind a delivered one', async () => {
    const start = await subject.store.currentRevision();
    const writes = Array.from({ length: 300 }, (_, i) => put(subject.store, `${prefix}${i}`, String(i)));
    const watching = new Watching(subject.store, prefix, start);
    await Promise.all([...writes, watching.count(300)]);
    let reached = start;
    for (const batch of watching.batches) {
      for (const event of batch.events) {
        expect(event.revision).toBeGreaterThan(reached);
        expect(event.revision).toBeLessThanOrEqual(batch.revision);
      }
      expect(batch.revision).toBeGreaterThanOrEqual(reached);
      reached = batch.revision;
    }
    await watching.stop();
  });

  test('a slow reader loses nothing and does not block others', async () => {
    const start = await subject.store.currentRevision();
    const lazy = new Watching(subject.store, prefix, start).start();
    const eager = new Watching(subject.store, prefix, start).start();
    const value = Buffer.alloc(10_000, 'x');
    const keys = Array.from({ length: 1500 }, (_, i) => `${prefix}${String(i).padStart(4, '0')}`);
    for (let i = 0; i < keys.length; i += 100) {
      await Promise.all(keys.slice(i, i + 100).map((key) => subject.store.create(key, value)));
      await eager.count(i + 100);
    }
    await lazy.count(keys.length);
    expect(lazy.events.map((event) => event.revision)).toEqual(eager.events.map((event) => event.revision));
    expect(new Set(lazy.events.map((event) => event.key)).size).toBe(keys.length);
    await Promise.all([lazy.stop(), eager.stop()]);
  });

  test('watches of different scopes each receive their own events', async () => {
    const start = await subject.store.currentRevision();
    const watches = Array.from({ length: 50 }, (_, i) => new Watching(subject.store, `${prefix}${i}/`, start).start());
    await Promise.all(watches.map((_, i) => put(subject.store, `${prefix}${i}/x`, String(i))));
    for (const [i, watching] of watches.entries()) {
      await watching.count(1);
      expect(watching.events.map((event) => event.value?.toString())).toEqual([String(i)]);
      await watching.stop();
    }
  });
}

function lifetime(subject: Subject): void {
  test('aborting ends it without an error, also before it started', async () => {
    const watching = new Watching(subject.store, prefix, await subject.store.currentRevision()).start();
    await watching.stop();
    const late = new Watching(subject.store, prefix, await subject.store.currentRevision());
    await late.stop();
    expect(watching.events.length + late.events.length).toBe(0);
  });

  test('breaking out of the loop ends it and does not affect the store', async () => {
    const start = await subject.store.currentRevision();
    await put(subject.store, `${prefix}a`, '1');
    const seen: string[] = [];
    const { signal } = new AbortController();
    for await (const batch of subject.store.watch(prefix, { after: start, signal })) {
      seen.push(...batch.events.map(short));
      if (seen.length > 0) break;
    }
    expect(seen).toEqual(['put a=1 new']);
    await put(subject.store, `${prefix}b`, '2');
    const watching = await new Watching(subject.store, prefix, start).count(2);
    await watching.stop();
  });

  test('closing the store ends it with an error', async () => {
    const watching = new Watching(subject.store, prefix, await subject.store.currentRevision()).start();
    await subject.store.close();
    expect(await codeOf(watching.count(1))).toBe('Unavailable');
  });
}

/** A store with history delivers every change. */
function everyChange(subject: Subject): void {
  test('delivers every change after the given revision, in order, with its revision', async () => {
    const start = await put(subject.store, `${prefix}before`, 'x');
    const revisions = [
      await put(subject.store, `${prefix}a`, '1'),
      await put(subject.store, `${prefix}b`, '1'),
      await put(subject.store, `${prefix}a`, '2'),
      await remove(subject.store, `${prefix}a`),
      await put(subject.store, `${prefix}a`, '3'),
    ];
    const watching = await new Watching(subject.store, prefix, start).count(5);
    expect(watching.events.map(short)).toEqual(['put a=1 new', 'put b=1 new', 'put a=2', 'delete a', 'put a=3 new']);
    expect(watching.events.map((event) => event.revision)).toEqual(revisions);
    const last = watching.events[3]?.value;
    if (last !== undefined) expect(last.toString()).toBe('2');
    await watching.stop();
  });

  test('a watch of the whole store receives the complete sequence', async () => {
    const start = await subject.store.currentRevision();
    await put(subject.store, '/registry/core/secrets/x', '1');
    await put(subject.store, '/registry/apps/deployments/x', '1');
    const last = await remove(subject.store, '/registry/core/secrets/x');
    const watching = await new Watching(subject.store, '/registry/', start).count(3);
    expect(watching.events.at(-1)).toMatchObject({ type: 'delete', revision: last });
    await watching.stop();
  });

  test('every change is delivered once without gaps, wherever among concurrent writers the watch starts', async () => {
    const start = await subject.store.currentRevision();
    const watches: Watching[] = [];
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let i = 0; i < 30; i++) {
        const key = `${prefix}${writer}-${i % 3}`;
        const current = await subject.store.get(key);
        if (current !== undefined && i % 5 === 4) await subject.store.delete(key, current.revision);
        else await put(subject.store, key, String(i));
        if (i % 10 === 5) watches.push(new Watching(subject.store, prefix, start).start());
      }
    });
    await Promise.all(writers);
    const total = 8 * 30;
    const reference = (await new Watching(subject.store, prefix, start).count(total)).events.map(short);
    for (const watching of watches) {
      await watching.count(total);
      expect(watching.events.map(short)).toEqual(reference);
      expect(new Set(watching.events.map((event) => event.revision)).size).toBe(total);
      await watching.stop();
    }
  });
}

function lastOfEach(events: readonly StorageEvent[]): StorageEvent[] {
  const last = new Map(events.map((event) => [event.key, event]));
  return [...last.values()].toSorted((a, b) => a.revision - b.revision);
}

/** A store without history delivers at least the last change of each key. */
function latestChanges(subject: Subject): void {
  test('the events after a revision lead to the current state, including deletes and recreated keys', async () => {
    const start = await put(subject.store, `${prefix}before`, 'x');
    await put(subject.store, `${prefix}a`, '1');
    const removed = await remove(subject.store, `${prefix}before`);
    await put(subject.store, `${prefix}b`, '1');
    await remove(subject.store, `${prefix}b`);
    const createRevision = await put(subject.store, `${prefix}b`, '2');
    const updated = await put(subject.store, `${prefix}b`, '3');
    const last = await put(subject.store, `${prefix}a`, '2');
    const watching = await new Watching(subject.store, prefix, start).until(
      ({ batches }) => (batches.at(-1)?.revision ?? 0) >= last,
    );
    const received = lastOfEach(watching.events);
    expect(received.map((event) => [short(event), event.revision])).toEqual([
      ['delete before', removed],
      ['put b=3', updated],
      ['put a=2', last],
    ]);
    // Where the delete of the first `b` was omitted, the second one shows by its create revision that it is another object.
    if (!watching.events.some((event) => short(event) === 'delete b'))
      expect(received[1]?.createRevision).toBe(createRevision);
    await watching.stop();
  });

  test('no change is repeated and no last change is missed, wherever among concurrent writers the watch starts', async () => {
    const start = await subject.store.currentRevision();
    const watches: Watching[] = [];
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let i = 0; i < 30; i++) {
        const key = `${prefix}${writer}-${i % 3}`;
        const current = await subject.store.get(key);
        if (current !== undefined && i % 5 === 4) await subject.store.delete(key, current.revision);
        else await put(subject.store, key, String(i));
        if (i % 10 === 5) watches.push(new Watching(subject.store, prefix, start).start());
      }
    });
    await Promise.all(writers);
    const end = await subject.store.currentRevision();
    const { items } = await subject.store.list(prefix);
    for (const watching of watches) {
      await watching.until(({ batches }) => (batches.at(-1)?.revision ?? 0) >= end);
      const revisions = watching.events.map((event) => event.revision);
      expect(revisions).toEqual([...new Set(revisions)].toSorted((a, b) => a - b));
      const alive = lastOfEach(watching.events).filter((event) => event.type === 'put');
      expect(alive.map(({ key, revision }) => `${key}@${revision}`).toSorted()).toEqual(
        items.map(({ key, revision }) => `${key}@${revision}`).toSorted(),
      );
      await watching.stop();
    }
  });
}
