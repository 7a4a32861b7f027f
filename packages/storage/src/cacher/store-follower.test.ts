import { setImmediate as nextTurn } from 'node:timers/promises';
import { FakeClock } from '@multiplane/component-base';
import { afterEach, describe, expect, test } from '@jest/globals';
import { codeOf } from '../conformance/subject.ts';
import { CompactedError, StorageUnavailableError } from '../errors.ts';
import type { WatchBatch } from '../interface.ts';
import type { CacheEvent } from '../watch-cache-interface.ts';
import { type WatchCacheOptions, openWatchCache } from './open-watch-cache.ts';
import { ScriptedBackend } from './scripted-backend.ts';
import type { BackedWatchCache } from './watch-cache.ts';

const maps = '/registry/core/configmaps/';
const secrets = '/registry/core/secrets/';
const bytes = (text: string): Buffer => Buffer.from(text);
let open: BackedWatchCache | undefined;

afterEach(async () => {
  await open?.close();
  open = undefined;
});

interface Setup {
  readonly backend: ScriptedBackend;
  readonly cache: BackedWatchCache;
  readonly clock: FakeClock;
  readonly errors: string[];
  /** Writes and waits until the cache has it. */
  readonly put: (key: string, text?: string) => Promise<number>;
  readonly remove: (key: string) => Promise<number>;
}

function setUp(options: WatchCacheOptions = {}, backend = new ScriptedBackend()): Setup {
  const clock = new FakeClock();
  const errors: string[] = [];
  const cache = openWatchCache(options, {
    storage: backend,
    clock,
    onError: (error, what) => errors.push(`${what}: ${(error as Error).message}`),
  });
  open = cache;
  const seen = async (revision: number): Promise<number> => {
    await cache.waitFor(revision, Infinity);
    return revision;
  };
  return {
    backend,
    cache,
    clock,
    errors,
    put: async (key, text = 'x') => {
      const current = await backend.get(key);
      return await seen(
        await (current ? backend.update(key, bytes(text), current.revision) : backend.create(key, bytes(text))),
      );
    },
    remove: async (key) => {
      return await seen(await backend.delete(key, (await backend.get(key))?.revision ?? 0));
    },
  };
}

/** A subscription that writes down what it is told. */
function follow(
  cache: BackedWatchCache,
  scope: string,
  after = cache.revision,
): { events: string[]; ends: string[]; stop: () => void } {
  const events: string[] = [];
  const ends: string[] = [];
  const stop = cache.subscribe({
    scope,
    after,
    onEvent: (event) => events.push(describeEvent(event)),
    onEnd: (reason) => ends.push((reason as { code?: string }).code ?? reason.message),
  });
  return { events, ends, stop };
}

function describeEvent({ current, previous, revision }: CacheEvent): string {
  const name = (current ?? previous)?.key.split('/').at(-1);
  return `${revision} ${name} ${previous?.value.toString() ?? '-'}>${current?.value.toString() ?? '-'}`;
}

describe('first load', () => {
  test('takes everything that is there, in pages of one revision, whatever is written meanwhile', async () => {
    const backend = new ScriptedBackend();
    for (let i = 0; i < 25; i++) await backend.create(`${maps}a/${String(i).padStart(2, '0')}`, bytes('old'));
    let pages = 0;
    backend.beforeList = async ({ revision }) => {
      if (pages++ > 0) expect(revision).toBeDefined();
      await backend.store.create(`${maps}a/new${pages}`, bytes('new'));
    };
    const { cache } = setUp({ pageSize: 10, historyRevisions: 0 }, backend);
    expect(cache.isReady()).toBe(false);
    expect(() => cache.snapshot(maps)).toThrow(StorageUnavailableError);
    expect(() => follow(cache, maps)).toThrow(StorageUnavailableError);
    await cache.ready;
    expect(cache.isReady()).toBe(true);
    expect(cache.snapshot(maps).countFrom(maps)).toBe(25);
    await cache.waitFor(await backend.currentRevision(), Infinity);
    expect(cache.snapshot(maps).countFrom(maps)).toBe(25 + pages);
    expect(cache.counts()).toEqual(new Map([[maps, 25 + pages]]));
  });

  test('is tried again until the store is there, with growing pauses', async () => {
    const backend = new ScriptedBackend();
    let tries = 0;
    backend.beforeList = async () => {
      if (++tries < 4) throw new StorageUnavailableError('not yet');
    };
    const { cache, clock, errors } = setUp({ retryDelayMs: (attempt) => 100 * 2 ** attempt }, backend);
    const waiting = cache.waitFor(1, Infinity);
    await clock.advance(99);
    expect(tries).toBe(1);
    await clock.advance(1 + 200 + 400);
    await Promise.all([cache.ready, waiting]);
    expect(tries).toBe(4);
    expect(errors).toHaveLength(3);
  });

  test('begins again when history is cut in the middle, and gives back what it took', async () => {
    const backend = new ScriptedBackend();
    for (let i = 0; i < 25; i++) await backend.create(`${maps}a/${i}`, bytes('old'));
    let pages = 0;
    backend.beforeList = async () => {
      if (++pages !== 2) return;
      await backend.store.create(`${maps}b/1`, bytes('new'));
      await backend.store.compact(await backend.store.currentRevision());
    };
    const { cache, clock } = setUp({ pageSize: 10, historyRevisions: 0 }, backend);
    await clock.advance(1000);
    await cache.ready;
    expect(cache.snapshot(maps).countFrom(maps)).toBe(26);
    expect(cache.statistics.valueBytes).toBe(26 * 3);
  });

  test('serves revisions from before the start, as far as the store has kept them', async () => {
    const backend = new ScriptedBackend();
    const revisions: number[] = [];
    for (let i = 0; i < 50; i++)
      revisions.push(await backend.create(`${maps}a/${String(i).padStart(2, '0')}`, bytes('x')));
    const removed = await backend.delete(`${maps}a/00`, revisions[0] as number);
    const states = async (historyRevisions: number): Promise<{ oldest: number; told: number }> => {
      const { cache } = setUp({ pageSize: 7, historyRevisions }, backend);
      await cache.ready;
      const { oldestRevision } = cache;
      expect([cache.isReady(), cache.revision]).toEqual([true, removed]);
      expect(cache.snapshot(maps).countFrom(maps)).toBe(49);
      const then = cache.snapshot(maps, oldestRevision);
      expect(then.countFrom(maps)).toBe((await backend.list(maps, { revision: oldestRevision })).items.length);
      return { oldest: oldestRevision, told: follow(cache, maps, oldestRevision).events.length };
    };
    expect(await states(0)).toEqual({ oldest: removed, told: 0 });
    expect(await states(20)).toEqual({ oldest: removed - 20, told: 20 });
    expect(await states(10_000)).toEqual({ oldest: 1, told: 51 });
    await backend.compact(revisions[39] as number);
    expect(await states(10_000)).toEqual({ oldest: revisions[39], told: 11 });
    expect(await states(5)).toEqual({ oldest: removed - 5, told: 5 });
  });

  test('is not ready before it has reached what the store had when it began', async () => {
    const backend = new ScriptedBackend();
    for (let i = 0; i < 50; i++) await backend.create(`${maps}a/${i}`, bytes('x'));
    const gate = Promise.withResolvers<void>();
    backend.onBatch = async (batch) => {
      await gate.promise;
      return [batch];
    };
    const { cache, clock } = setUp({ historyRevisions: 10 }, backend);
    await clock.advance(10);
    expect(backend.watches).toBe(1);
    expect(cache.isReady()).toBe(false);
    expect(() => cache.snapshot(maps)).toThrow(StorageUnavailableError);
    gate.resolve();
    await cache.ready;
    expect(cache.snapshot(maps).countFrom(maps)).toBe(50);
  });

  test('closing while it is under way ends it and those who wait', async () => {
    const backend = new ScriptedBackend();
    backend.beforeList = () => new Promise(() => undefined);
    const { cache } = setUp({}, backend);
    const outcomes = Promise.all([codeOf(cache.ready), codeOf(cache.waitFor(5, Infinity))]);
    void cache.close();
    open = undefined;
    expect(await outcomes).toEqual(['Unavailable', 'Unavailable']);
  });
});

describe('subscriptions', () => {
  test('get what came after their start, replayed or live, in order, once each', async () => {
    const { cache, put, remove } = setUp();
    await cache.ready;
    const start = await put(`${maps}a/1`, 'a');
    const second = await put(`${maps}a/1`, 'b');
    await put(`${secrets}a/1`, 's');
    const third = await put(`${maps}a/2`, 'c');
    const early = follow(cache, maps, start);
    const exact = follow(cache, `${maps}a/2`, start);
    const late = follow(cache, maps, third);
    const gone = await remove(`${maps}a/1`);
    const lines = [`${second} 1 a>b`, `${third} 2 ->c`, `${gone} 1 b>-`];
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

  test('may be started by a handler, with every event once', async () => {
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

  test('one that throws is ended and reported, also while it is replayed; the others go on', async () => {
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

  test('R4: whoever looks at the revision inside or after a hand-out sees a state that fits to it', async () => {
    const { cache, backend } = setUp();
    await cache.ready;
    const told: number[] = [];
    cache.subscribe({
      scope: maps,
      after: cache.revision,
      onEvent: ({ revision }) => {
        told.push(revision);
        expect(cache.revision).toBe(revision);
        expect(
          cache
            .snapshot(maps)
            .entries(undefined, 100)
            .map((entry) => entry.revision),
        ).toEqual(told);
      },
      onEnd: () => undefined,
    });
    // The store's message carries its present revision, far ahead of the events, as etcd's do while catching up.
    backend.onBatch = async (batch) => [
      { events: batch.events.slice(0, 5), revision: batch.events[4]?.revision ?? batch.revision },
      { events: batch.events.slice(5), revision: batch.revision },
    ];
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => backend.create(`${maps}a/${String(i).padStart(2, '0')}`, bytes('x'))),
    );
    await cache.waitFor(await backend.currentRevision(), Infinity);
    expect(told).toHaveLength(20);
  });

  test('R5 and R6: a store that repeats itself or tells of what is past changes nothing', async () => {
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

  test('a long batch gives way to others between two revisions', async () => {
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
  test('a start from before it is refused with the oldest revision; the oldest itself is served', async () => {
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

  test('R7: a reader that does not read is cut off alone when the window has moved on', async () => {
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

describe('snapshots', () => {
  test('stay as they are while everything changes', async () => {
    const { cache, put, remove } = setUp();
    await cache.ready;
    for (let i = 0; i < 300; i++) await put(`${maps}a/${String(i).padStart(3, '0')}`, `old${i}`);
    await put(`${maps}ab/1`, 'other');
    const taken = cache.snapshot(`${maps}a/`);
    const values = (): string[] => taken.entries(undefined, Infinity).map((entry) => entry.value.toString());
    const expected = Array.from({ length: 300 }, (_, i) => `old${i}`);
    const first = taken.entries(undefined, 100);
    for (let i = 0; i < 300; i++) {
      if (i % 3 === 0) await remove(`${maps}a/${String(i).padStart(3, '0')}`);
      else await put(`${maps}a/${String(i).padStart(3, '0')}`, 'new');
      await put(`${maps}a/new${i}`, 'new');
    }
    expect(values()).toEqual(expected);
    expect(
      [...first, ...taken.entries(`${first.at(-1)?.key}\0`, Infinity)].map((entry) => entry.value.toString()),
    ).toEqual(expected);
    expect(taken.countFrom(`${maps}a/290`)).toBe(10);
    expect(taken.countFrom('')).toBe(300);
    expect(taken.countFrom('/z')).toBe(0);
    expect(cache.snapshot(`${maps}a/`).countFrom('')).toBe(500);
  });

  test('of an older revision show the state of then, without the states in between being kept', async () => {
    const { cache, put, remove } = setUp();
    await cache.ready;
    const states = new Map<number, string[]>();
    const now = (): string[] =>
      cache
        .snapshot(maps)
        .entries(undefined, Infinity)
        .map((entry) => `${entry.key}=${entry.value.toString()}`);
    for (let i = 0; i < 200; i++) {
      const key = `${maps}a/${(i * 7) % 30}`;
      const revision = i % 4 === 3 && cache.peek(key) !== undefined ? await remove(key) : await put(key, String(i));
      await put(`${secrets}a/1`, String(i));
      states.set(revision, now());
    }
    expect(cache.statistics.pinnedStates).toBeLessThanOrEqual(64);
    for (const [revision, state] of states) {
      const taken = cache.snapshot(maps, revision);
      expect(taken.revision).toBe(revision);
      expect(taken.entries(undefined, Infinity).map((entry) => `${entry.key}=${entry.value.toString()}`)).toEqual(
        state,
      );
    }
  });
});

describe('when the watch of the store ends', () => {
  test('an outage without loss goes unnoticed by subscribers', async () => {
    const { cache, backend, clock, put, errors } = setUp();
    await cache.ready;
    await put(`${maps}a/1`, 'a');
    const seen = follow(cache, maps);
    let down = true;
    backend.beforeQuestion = async () => {
      if (down) throw new StorageUnavailableError('down');
    };
    backend.breakWatches(new StorageUnavailableError('connection lost'));
    await nextTurn();
    await nextTurn();
    expect(cache.isReady()).toBe(false);
    const missed = await backend.store.create(`${maps}a/2`, bytes('b'));
    await clock.advance(20_000);
    expect(seen.events).toEqual([]);
    expect(cache.peek(`${maps}a/1`)).toBeDefined();
    down = false;
    await clock.advance(5000);
    expect(cache.isReady()).toBe(true);
    expect(seen.events).toEqual([`${missed} 2 ->b`]);
    expect(seen.ends).toEqual([]);
    expect(errors.length).toBeGreaterThan(3);
  });

  test('R8: lost history ends subscriptions and is never skipped; the content is that of the store', async () => {
    const { cache, backend, clock, put } = setUp();
    await cache.ready;
    for (const name of ['kept', 'changed', 'removed', 'reborn']) await put(`${maps}a/${name}`, 'old');
    const kept = cache.peek(`${maps}a/kept`);
    if (kept !== undefined) kept.attachment = 'what a reader found out';
    const changed = cache.peek(`${maps}a/changed`);
    const oldState = cache.snapshot(maps);
    const seen = follow(cache, maps);
    const before = cache.revision;
    const told: string[] = [];
    cache.subscribe({
      scope: `${maps}a/removed`,
      after: before,
      onEvent: () => undefined,
      onEnd: (_, state) =>
        told.push(...(state?.entries(undefined, 9) ?? []).map((entry) => `${entry.key} ${entry.value.toString()}`)),
    });
    backend.onWatch = (after) => {
      if (after === before) throw new CompactedError(after, before + 3);
    };
    backend.breakWatches(new StorageUnavailableError('connection lost'));
    await nextTurn();
    await backend.update(`${maps}a/changed`, bytes('new'), changed?.revision ?? 0);
    await backend.delete(`${maps}a/removed`, (await backend.get(`${maps}a/removed`))?.revision ?? 0);
    await backend.delete(`${maps}a/reborn`, (await backend.get(`${maps}a/reborn`))?.revision ?? 0);
    await backend.create(`${maps}a/reborn`, bytes('new'));
    await backend.create(`${secrets}a/1`, bytes('new'));
    await clock.advance(10_000);

    expect(cache.isReady()).toBe(true);
    expect(seen.events).toEqual([]);
    expect(seen.ends).toEqual(['Compacted']);
    // What they knew, so that they can tell what is gone.
    expect(told).toEqual([`${maps}a/removed old`]);
    const now = cache.snapshot('/registry/').entries(undefined, 10);
    expect(now.map((entry) => `${entry.key.split('/').at(-1)}=${entry.value.toString()}`)).toEqual([
      'changed=new',
      'kept=old',
      'reborn=new',
      '1=new',
    ]);
    // An object that did not change is the same entry, with what was attached.
    expect(cache.peek(`${maps}a/kept`)).toBe(kept);
    expect(cache.peek(`${maps}a/kept`)?.attachment).toBe('what a reader found out');
    expect(cache.counts()).toEqual(
      new Map([
        [maps, 3],
        [secrets, 1],
      ]),
    );
    expect(cache.statistics.valueBytes).toBe(4 * 3);
    // Whoever comes with a revision from before is sent away; whoever reads an old state goes on.
    expect(() => follow(cache, maps, before)).toThrow(CompactedError);
    expect(oldState.entries(undefined, 10)).toHaveLength(4);
    const again = follow(cache, maps);
    const written = await put(`${maps}a/kept`, 'new');
    expect(again.events).toEqual([`${written} kept old>new`]);
  });

  test('R9: a read at a revision that is gone fails, never with wrong data', async () => {
    const { cache, put } = setUp();
    await cache.ready;
    const first = await put(`${maps}a/1`, 'a');
    const second = await put(`${maps}a/1`, 'b');
    await cache.compact(second);
    expect(() => cache.snapshot(maps, first)).toThrow(CompactedError);
    expect(await codeOf(cache.list(maps, { revision: first }))).toBe('Compacted');
    expect(cache.snapshot(maps, second).entries(undefined, 1)[0]?.value.toString()).toBe('b');
  });

  test('an error nobody expected is reported and everything is loaded again', async () => {
    const { cache, backend, clock, errors, put } = setUp();
    await cache.ready;
    await put(`${maps}a/1`);
    const seen = follow(cache, maps);
    backend.breakWatches(new TypeError('a bug in the backend'));
    await clock.advance(1000);
    expect(errors).toEqual(['the watch cache starts over: a bug in the backend']);
    expect(seen.ends).toEqual(['Compacted']);
    expect(cache.isReady()).toBe(true);
  });

  test('closing ends subscriptions, waiters and everything that is asked later', async () => {
    const { cache, clock, put } = setUp();
    await cache.ready;
    await put(`${maps}a/1`);
    const seen = follow(cache, maps);
    const waiting = codeOf(cache.waitFor(cache.revision + 1, 1000));
    await cache.close();
    expect(seen.ends).toEqual(['Unavailable']);
    expect(await waiting).toBe('Unavailable');
    expect(await codeOf(cache.waitFor(1, 1000))).toBe('Unavailable');
    expect(await codeOf(cache.freshRevision())).toBe('Unavailable');
    expect(() => follow(cache, maps)).toThrow(StorageUnavailableError);
    expect(clock.timers).toBe(0);
  });
});

test('waiting for a revision ends when it comes or when time is up', async () => {
  const { cache, clock, put } = setUp();
  await cache.ready;
  const next = cache.revision + 1;
  const outcomes = Promise.all(
    [next, next + 1, next, next + 2].map((revision) => codeOf(cache.waitFor(revision, 3000))),
  );
  await put(`${maps}a/1`);
  await clock.advance(3000);
  expect(await outcomes).toEqual(['none', 'FutureRevision', 'none', 'FutureRevision']);
  expect(cache.statistics.waiters).toBe(0);
});

test('on a store with one writer a write is in the cache when it is acknowledged', async () => {
  const backend = new ScriptedBackend();
  backend.local = true;
  const { cache } = setUp({}, backend);
  await cache.ready;
  backend.onBatch = async (batch) => {
    await nextTurn();
    return [batch];
  };
  const created = await cache.create(`${maps}a/1`, bytes('a'));
  expect(cache.peek(`${maps}a/1`)?.revision).toBe(created);
  const updated = await cache.update(`${maps}a/1`, bytes('b'), created);
  expect(cache.peek(`${maps}a/1`)?.value.toString()).toBe('b');
  await cache.delete(`${maps}a/1`, updated);
  expect(cache.peek(`${maps}a/1`)).toBeUndefined();
});
