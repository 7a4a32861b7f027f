import { describe, expect, test } from '@jest/globals';
import { yieldToEventLoop } from '@multiplane/component-base';
import { eventLoopIdle } from '@multiplane/testing';
import { codeOf } from '../../test/conformance/subject.ts';
import { CompactedError, StorageUnavailableError } from '../errors.ts';
import { ScriptedBackend } from '../../test/cacher/scripted-backend.ts';
import { bytes, follow, maps, scriptedCaches, secrets } from '../../test/cacher/scripted-cache.ts';

const setUp = scriptedCaches();

describe('first load', () => {
  test('reads all objects in pages of one revision, whatever is written meanwhile', async () => {
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

  test('is retried with growing delays until the store responds', async () => {
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

  test('starts again when the history is compacted meanwhile, and releases what it read', async () => {
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
    const states = async (historyRevisions: number): Promise<{ oldest: number; received: number }> => {
      const { cache } = setUp({ pageSize: 7, historyRevisions }, backend);
      await cache.ready;
      const { oldestRevision } = cache;
      expect([cache.isReady(), cache.revision]).toEqual([true, removed]);
      expect(cache.snapshot(maps).countFrom(maps)).toBe(49);
      const then = cache.snapshot(maps, oldestRevision);
      expect(then.countFrom(maps)).toBe((await backend.list(maps, { revision: oldestRevision })).items.length);
      return { oldest: oldestRevision, received: follow(cache, maps, oldestRevision).events.length };
    };
    expect(await states(0)).toEqual({ oldest: removed, received: 0 });
    expect(await states(20)).toEqual({ oldest: removed - 20, received: 20 });
    expect(await states(10_000)).toEqual({ oldest: 1, received: 51 });
    await backend.compact(revisions[39] as number);
    expect(await states(10_000)).toEqual({ oldest: revisions[39], received: 11 });
    expect(await states(5)).toEqual({ oldest: removed - 5, received: 5 });
  });

  test('is not ready before it has reached the revision of the store at the start', async () => {
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

  test('close ends it and its waiters', async () => {
    const backend = new ScriptedBackend();
    backend.beforeList = () => new Promise(() => undefined);
    const { cache } = setUp({}, backend);
    const outcomes = Promise.all([codeOf(cache.ready), codeOf(cache.waitFor(5, Infinity))]);
    void cache.close();
    expect(await outcomes).toEqual(['Unavailable', 'Unavailable']);
  });
});

describe('snapshots', () => {
  test('do not change while the contents change', async () => {
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

  test('of an older revision show the state at it, without intermediate states being kept', async () => {
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
    expect(cache.statistics.pinnedSnapshots).toBeLessThanOrEqual(64);
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
  test('an outage without loss is not visible to subscribers', async () => {
    const { cache, backend, clock, put, errors } = setUp();
    await cache.ready;
    await put(`${maps}a/1`, 'a');
    const seen = follow(cache, maps);
    let down = true;
    backend.beforeCurrentRevision = async () => {
      if (down) throw new StorageUnavailableError('down');
    };
    backend.breakWatches(new StorageUnavailableError('connection lost'));
    await eventLoopIdle();
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

  test('compacted history ends subscriptions without skipped events, and the contents match the store', async () => {
    const { cache, backend, clock, put } = setUp();
    await cache.ready;
    for (const name of ['kept', 'changed', 'removed', 'reborn']) await put(`${maps}a/${name}`, 'old');
    const kept = cache.peek(`${maps}a/kept`);
    if (kept !== undefined) kept.attachment = 'what a reader found out';
    const changed = cache.peek(`${maps}a/changed`);
    const oldState = cache.snapshot(maps);
    const seen = follow(cache, maps);
    const before = cache.revision;
    const received: string[] = [];
    cache.subscribe({
      scope: `${maps}a/removed`,
      after: before,
      onEvent: () => undefined,
      onEnd: (_, state) =>
        received.push(...(state?.entries(undefined, 9) ?? []).map((entry) => `${entry.key} ${entry.value.toString()}`)),
    });
    backend.onWatch = (after) => {
      if (after === before) throw new CompactedError(after, before + 3);
    };
    backend.breakWatches(new StorageUnavailableError('connection lost'));
    await eventLoopIdle();
    await backend.update(`${maps}a/changed`, bytes('new'), changed?.revision ?? 0);
    await backend.delete(`${maps}a/removed`, (await backend.get(`${maps}a/removed`))?.revision ?? 0);
    await backend.delete(`${maps}a/reborn`, (await backend.get(`${maps}a/reborn`))?.revision ?? 0);
    await backend.create(`${maps}a/reborn`, bytes('new'));
    await backend.create(`${secrets}a/1`, bytes('new'));
    await clock.advance(10_000);

    expect(cache.isReady()).toBe(true);
    expect(seen.events).toEqual([]);
    expect(seen.ends).toEqual(['Compacted']);
    // The state that they have received, from which they derive the missed deletes.
    expect(received).toEqual([`${maps}a/removed old`]);
    const now = cache.snapshot('/registry/').entries(undefined, 10);
    expect(now.map((entry) => `${entry.key.split('/').at(-1)}=${entry.value.toString()}`)).toEqual([
      'changed=new',
      'kept=old',
      'reborn=new',
      '1=new',
    ]);
    // An unchanged object keeps its entry and attachment.
    expect(cache.peek(`${maps}a/kept`)).toBe(kept);
    expect(cache.peek(`${maps}a/kept`)?.attachment).toBe('what a reader found out');
    expect(cache.counts()).toEqual(
      new Map([
        [maps, 3],
        [secrets, 1],
      ]),
    );
    expect(cache.statistics.valueBytes).toBe(4 * 3);
    // Watches from before get 410, paged lists of an older state continue.
    expect(() => follow(cache, maps, before)).toThrow(CompactedError);
    expect(oldState.entries(undefined, 10)).toHaveLength(4);
    const again = follow(cache, maps);
    const written = await put(`${maps}a/kept`, 'new');
    expect(again.events).toEqual([`${written} kept old>new`]);
  });

  test('a read at a compacted revision fails instead of returning wrong data', async () => {
    const { cache, put } = setUp();
    await cache.ready;
    const first = await put(`${maps}a/1`, 'a');
    const second = await put(`${maps}a/1`, 'b');
    await cache.compact(second);
    expect(() => cache.snapshot(maps, first)).toThrow(CompactedError);
    expect(await codeOf(cache.list(maps, { revision: first }))).toBe('Compacted');
    expect(cache.snapshot(maps, second).entries(undefined, 1)[0]?.value.toString()).toBe('b');
  });

  test('an unexpected error is reported and everything is loaded again', async () => {
    const { cache, backend, clock, errors, put } = setUp();
    await cache.ready;
    await put(`${maps}a/1`);
    const seen = follow(cache, maps);
    backend.breakWatches(new TypeError('a bug in the backend'));
    await clock.advance(1000);
    expect(errors).toEqual(['the watch cache loads again: a bug in the backend']);
    expect(seen.ends).toEqual(['Compacted']);
    expect(cache.isReady()).toBe(true);
  });

  test('close ends subscriptions, waiters and later calls', async () => {
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

test('waiting for a revision ends when it is reached or after the timeout', async () => {
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

test('on a store with a local revision an acknowledged write is in the cache', async () => {
  const backend = new ScriptedBackend();
  backend.local = true;
  const { cache } = setUp({}, backend);
  await cache.ready;
  backend.onBatch = async (batch) => {
    await yieldToEventLoop();
    return [batch];
  };
  const created = await cache.create(`${maps}a/1`, bytes('a'));
  expect(cache.peek(`${maps}a/1`)?.revision).toBe(created);
  const updated = await cache.update(`${maps}a/1`, bytes('b'), created);
  expect(cache.peek(`${maps}a/1`)?.value.toString()).toBe('b');
  await cache.delete(`${maps}a/1`, updated);
  expect(cache.peek(`${maps}a/1`)).toBeUndefined();
});
