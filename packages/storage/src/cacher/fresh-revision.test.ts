import { afterEach, describe, expect, test } from '@jest/globals';
import { codeOf } from '../../test/conformance/subject.ts';
import { openWatchCache } from './open-watch-cache.ts';
import { ScriptedBackend } from '../../test/cacher/scripted-backend.ts';
import type { BackedWatchCache } from './watch-cache.ts';
import { FakeClock, eventLoopIdle } from '@multiplane/testing';

const maps = '/registry/core/configmaps/';
const value = Buffer.from('1');
let open: BackedWatchCache | undefined;

afterEach(async () => {
  await open?.close();
  open = undefined;
});

async function start(): Promise<{
  backend: ScriptedBackend;
  cache: BackedWatchCache;
  clock: FakeClock;
  errors: string[];
}> {
  const backend = new ScriptedBackend();
  const clock = new FakeClock();
  const errors: string[] = [];
  const cache = openWatchCache(
    { freshTimeoutMs: 3000 },
    { storage: backend, clock, onError: (error, what) => errors.push(`${what}: ${String(error)}`) },
  );
  open = cache;
  await cache.ready;
  backend.revisionRequests = 0;
  return { backend, cache, clock, errors };
}

/** A promise that a test resolves. */
function gate(): { wait: () => Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { wait: () => promise, open: resolve };
}

describe('fresh revision', () => {
  test('a store with a local revision gets no request', async () => {
    const { backend, cache } = await start();
    backend.local = true;
    await backend.create(`${maps}a/1`, value);
    expect(await cache.freshRevision()).toBe(backend.localRevision);
    expect(cache.peek(`${maps}a/1`)).toBeDefined();
    expect(backend.revisionRequests).toBe(0);
  });

  test('concurrent callers share one request', async () => {
    const { backend, cache } = await start();
    const revision = await backend.create(`${maps}a/1`, value);
    const answers = await Promise.all(Array.from({ length: 100 }, () => cache.freshRevision()));
    expect(new Set(answers)).toEqual(new Set([revision]));
    expect(backend.revisionRequests).toBe(1);
  });

  test('callers that arrive later in the same iteration of the event loop share the request', async () => {
    const { backend, cache } = await start();
    const first = cache.freshRevision();
    for (let microtask = 0; microtask < 50; microtask++) await Promise.resolve();
    await Promise.all([first, cache.freshRevision()]);
    expect(backend.revisionRequests).toBe(1);
  });

  test('a caller that arrives while a request is in flight waits for the next one', async () => {
    const { backend, cache } = await start();
    const revisionRequests: { open: () => void }[] = [];
    const ask = backend.store.currentRevision.bind(backend.store);
    // The response is determined immediately and delivered late, as over a network.
    backend.currentRevision = async () => {
      const answer = await ask();
      const { wait, open } = gate();
      revisionRequests.push({ open });
      await wait();
      return answer;
    };
    const first = cache.freshRevision();
    await eventLoopIdle();
    expect(revisionRequests).toHaveLength(1);
    const written = await backend.create(`${maps}a/1`, value);
    const late = Promise.all([cache.freshRevision(), cache.freshRevision()]);
    await eventLoopIdle();
    expect(revisionRequests).toHaveLength(1);
    revisionRequests[0]?.open();
    expect(await first).toBeLessThan(written);
    await eventLoopIdle();
    expect(revisionRequests).toHaveLength(2);
    revisionRequests[1]?.open();
    expect(await late).toEqual([written, written]);
  });

  test('waits until the cache has caught up', async () => {
    const { backend, cache } = await start();
    const { wait, open } = gate();
    backend.onBatch = async (batch) => {
      await wait();
      return [batch];
    };
    const revision = await backend.create(`${maps}a/1`, value);
    let done = false;
    const fresh = cache.freshRevision().then((answer) => {
      done = true;
      return answer;
    });
    await eventLoopIdle();
    expect([done, cache.peek(`${maps}a/1`)]).toEqual([false, undefined]);
    open();
    expect(await fresh).toBe(revision);
    expect(cache.peek(`${maps}a/1`)?.revision).toBe(revision);
  });

  test('fails when the cache does not catch up; get and list then read from the store', async () => {
    const { backend, cache, clock } = await start();
    const { wait, open } = gate();
    backend.onBatch = async (batch) => {
      await wait();
      return [batch];
    };
    const revision = await backend.create(`${maps}a/1`, value);
    const refused = codeOf(cache.freshRevision());
    const got = cache.get(`${maps}a/1`);
    const listed = cache.list(maps);
    await clock.advance(3000);
    expect(await refused).toBe('Unavailable');
    expect((await got)?.revision).toBe(revision);
    expect((await listed).items.map((item) => item.revision)).toEqual([revision]);
    expect(cache.statistics.waiters).toBe(0);
    open();
    expect(await cache.freshRevision()).toBeGreaterThanOrEqual(revision);
    expect(cache.peek(`${maps}a/1`)?.revision).toBe(revision);
  });

  test('a revision without an event is reached by a progress notification', async () => {
    const { backend, cache, clock } = await start();
    const burnt = await backend.create('/elsewhere', value);
    expect(await cache.freshRevision()).toBe(burnt);
    expect(cache.revision).toBe(burnt);
    expect(clock.timers).toBe(0);
  });

  test('a failed request is reported to its callers, and the next caller requests again', async () => {
    const { backend, cache } = await start();
    backend.beforeCurrentRevision = async () => {
      throw new Error('no quorum');
    };
    await expect(cache.freshRevision()).rejects.toThrow('no quorum');
    backend.beforeCurrentRevision = async () => undefined;
    expect(await cache.freshRevision()).toBe(cache.revision);
  });

  test('a store whose revision went back is loaded again', async () => {
    const { backend, cache, clock, errors } = await start();
    await backend.create(`${maps}a/1`, value);
    const restored = new ScriptedBackend();
    await backend.create(`${maps}a/2`, value);
    await cache.freshRevision();
    const before = cache.revision;
    // Has assigned the same revision to the same key with another value.
    await restored.create(`${maps}a/1`, Buffer.from('2'));
    backend.currentRevision = () => restored.currentRevision();
    backend.list = (prefix, options) => restored.list(prefix, options);
    backend.watch = (prefix, options) => restored.watch(prefix, options);
    expect(await codeOf(cache.freshRevision())).toBe('Unavailable');
    await clock.advance(100);
    expect(cache.revision).toBeLessThan(before);
    expect((await cache.get(`${maps}a/1`))?.value.toString()).toBe('2');
    expect(cache.peek(`${maps}a/2`)).toBeUndefined();
    expect(errors.join()).toContain('went back');
    await restored.close();
  });
});
