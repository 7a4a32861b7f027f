import { describe, expect, test } from '@jest/globals';
import { codeOf } from '../../test/conformance/subject.ts';
import { CompactedError } from '../errors.ts';
import type { WatchBatch } from '../interface.ts';
import type { CacheEvent } from '../watch-cache-interface.ts';
import { bytes, follow, maps, scriptedCaches, secrets } from '../../test/cacher/scripted-cache.ts';

const setUp = scriptedCaches();

describe('subscriptions', () => {
  test('deliver the events after their start, replayed or live, in order, once each', async () => {
    const { cache, put, remove } = setUp();
    await cache.ready;
    const start = await put(`${maps}a/1`, 'a');
    const second = await put(`${maps}a/1`, 'b');
    await put(`${secrets}a/1`, 's');
    const third = await put(`${maps}a/2`, 'c');
    const early = follow(cache, maps, start);
    const exact = follow(cache, `${maps}a/2`, start);
    const late = follow(cache, maps, third);
    const removed = await remove(`${maps}a/1`);
    const lines = [`${second} 1 a>b`, `${third} 2 ->c`, `${removed} 1 b>-`];
    expect(early.events).toEqual(lines);
    expect(exact.events).toEqual([lines[1]]);
    expect(late.events).toEqual([lines[2]]);
    early.stop();
    early.stop();
    await put(`${maps}a/2`, 'd');
    expect(early.events).toHaveLength(3);
    expect(late.events).toHaveLength(2);
    expect(cache.statistics.subscriptions).toBe(2);
  });

  test('all subscribers share one event and its frames', async () => {
    const { cache, put } = setUp();
    await cache.ready;
    const seen: CacheEvent[] = [];
    for (const scope of [maps, '/registry/', `${maps}a/1`]) {
      cache.subscribe({ scope, after: cache.revision, onEvent: (event) => seen.push(event), onEnd: () => undefined });
    }
    await put(`${maps}a/1`);
    expect(new Set(seen).size).toBe(1);
    seen[0]?.memo.set('json', bytes('frame'));
    expect(seen[2]?.memo.get('json')?.toString()).toBe('frame');
  });

  test('a handler may subscribe; every event is delivered once', async () => {
    const { cache, put } = setUp();
    await cache.ready;
    const start = cache.revision;
    const inner: { events: string[] }[] = [];
    cache.subscribe({
      scope: maps,
      after: start,
      onEvent: ({ revision }) => inner.push(follow(cache, maps, revision - 1)),
      onEnd: () => undefined,
    });
    const first = await put(`${maps}a/1`, 'a');
    const second = await put(`${maps}a/1`, 'b');
    expect(inner.map(({ events }) => events)).toEqual([[`${first} 1 ->a`, `${second} 1 a>b`], [`${second} 1 a>b`]]);
  });

  test('one that throws is removed and reported, also during replay; the others continue', async () => {
    const { cache, put, errors } = setUp();
    await cache.ready;
    const before = cache.revision;
    const healthy = follow(cache, maps);
    const ends: string[] = [];
    const broken = {
      scope: maps,
      after: before,
      onEvent: () => {
        throw new Error('bug');
      },
      onEnd: (reason: Error) => {
        ends.push(reason.message);
        throw new Error('another bug');
      },
    };
    cache.subscribe(broken);
    await put(`${maps}a/1`);
    cache.subscribe(broken);
    await put(`${maps}a/2`);
    expect(healthy.events).toHaveLength(2);
    expect(ends).toEqual(['the subscriber failed', 'the subscriber failed']);
    expect(errors).toHaveLength(4);
    expect(cache.statistics.subscriptions).toBe(1);
  });

  test('a reader inside or after dispatch sees a state that matches the revision', async () => {
    const { cache, backend } = setUp();
    await cache.ready;
    const received: number[] = [];
    cache.subscribe({
      scope: maps,
      after: cache.revision,
      onEvent: ({ revision }) => {
        received.push(revision);
        expect(cache.revision).toBe(revision);
        expect(
          cache
            .snapshot(maps)
            .entries(undefined, 100)
            .map((entry) => entry.revision),
        ).toEqual(received);
      },
      onEnd: () => undefined,
    });
    // The revision of the batch is far ahead of its events, as those of etcd during catch-up.
    backend.onBatch = async (batch) => [
      { events: batch.events.slice(0, 5), revision: batch.events[4]?.revision ?? batch.revision },
      { events: batch.events.slice(5), revision: batch.revision },
    ];
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => backend.create(`${maps}a/${String(i).padStart(2, '0')}`, bytes('x'))),
    );
    await cache.waitFor(await backend.currentRevision(), Infinity);
    expect(received).toHaveLength(20);
  });

  test('repeated and past events of the store change nothing', async () => {
    const { cache, backend, put } = setUp();
    await cache.ready;
    const history: WatchBatch[] = [];
    backend.onBatch = async (batch) => {
      history.push(batch);
      return [batch, ...history];
    };
    const seen = follow(cache, maps);
    const first = await put(`${maps}a/1`, 'a');
    const second = await put(`${maps}a/1`, 'b');
    const third = await put(`${maps}a/2`, 'c');
    expect(seen.events).toEqual([`${first} 1 ->a`, `${second} 1 a>b`, `${third} 2 ->c`]);
    expect(cache.peek(`${maps}a/1`)?.value.toString()).toBe('b');
    expect(cache.revision).toBe(third);
  });

  test('a long batch yields between two revisions', async () => {
    const { cache, backend, clock } = setUp();
    await cache.ready;
    let handed = 0;
    const start = clock.monotonic();
    clock.monotonic = () => start + 2 * handed;
    const during: number[] = [];
    cache.subscribe({
      scope: maps,
      after: cache.revision,
      // Each event takes 2 ms of this clock.
      onEvent: () => handed++,
      onEnd: () => undefined,
    });
    const held: WatchBatch[] = [];
    backend.onBatch = async (batch) => {
      held.push(batch);
      if (held.flatMap((batch) => batch.events).length < 50) return [];
      // oxlint-disable-next-line tests/no-real-timers -- it reads the count in the next iteration
      setImmediate(() => during.push(handed));
      return [{ events: held.flatMap((batch) => batch.events), revision: batch.revision }];
    };
    for (let i = 0; i < 50; i++) await backend.create(`${maps}a/${i}`, bytes('x'));
    await cache.waitFor(await backend.currentRevision(), Infinity);
    expect(handed).toBe(50);
    expect(during[0]).toBeLessThan(50);
  });
});

describe('window', () => {
  test('a start before the window is refused with the oldest revision; the oldest revision itself is served', async () => {
    const { cache, put } = setUp({ windowBytes: 20_000 });
    await cache.ready;
    const start = cache.revision;
    for (let i = 0; i < 100; i++) await put(`${maps}a/${i % 10}`, 'x'.repeat(100));
    expect(cache.oldestRevision).toBeGreaterThan(start);
    expect(() => follow(cache, maps, start)).toThrow(
      expect.objectContaining({ code: 'Compacted', oldest: cache.oldestRevision }),
    );
    expect(follow(cache, maps, cache.oldestRevision).events).toHaveLength(cache.revision - cache.oldestRevision);
    expect(cache.statistics.windowBytes).toBeLessThanOrEqual(20_000);
    expect(() => cache.snapshot(maps, cache.oldestRevision - 1)).toThrow(CompactedError);
    expect(cache.snapshot(maps, cache.oldestRevision).entries(undefined, 100)).toHaveLength(10);
    expect(() => cache.snapshot(maps, cache.revision + 1)).toThrow(expect.objectContaining({ code: 'FutureRevision' }));
  });

  test('a slow watcher alone is ended when the window has moved past it', async () => {
    const { cache, put } = setUp({ windowBytes: 20_000 });
    await cache.ready;
    const after = cache.revision;
    const signal = new AbortController().signal;
    const slow = cache.watch(maps, { after, signal })[Symbol.asyncIterator]();
    const first = slow.next();
    await put(`${maps}a/first`);
    expect((await first).value).toMatchObject({ events: [{ key: `${maps}a/first` }] });
    const fast = follow(cache, maps, after);
    for (let i = 0; i < 100; i++) await put(`${maps}a/${i % 10}`, 'x'.repeat(100));
    expect(fast.events).toHaveLength(101);
    expect(await codeOf(slow.next())).toBe('Compacted');
    expect(cache.statistics.subscriptions).toBe(1);
  });

  test('a watch from before the window is served from the history of the store', async () => {
    const { cache, put, backend } = setUp({ windowBytes: 5000 });
    await cache.ready;
    const after = cache.revision;
    for (let i = 0; i < 50; i++) await put(`${maps}a/1`, String(i));
    expect(cache.oldestRevision).toBeGreaterThan(after);
    const controller = new AbortController();
    const seen: string[] = [];
    for await (const { events } of cache.watch(maps, { after, signal: controller.signal })) {
      seen.push(...events.map((event) => String(event.value)));
      if (seen.length === 50) controller.abort();
    }
    expect(seen).toEqual(Array.from({ length: 50 }, (_, i) => String(i)));
    expect((await cache.list(maps, { revision: after + 3 })).items.map((item) => item.value.toString())).toEqual(['2']);
    expect(backend.watches).toBe(2);
  });
});
