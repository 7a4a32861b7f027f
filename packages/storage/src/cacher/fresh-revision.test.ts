import { setImmediate as nextTurn } from 'node:timers/promises';
import { FakeClock } from '@multiplane/component-base';
import { afterEach, describe, expect, test } from '@jest/globals';
import { codeOf } from '../conformance/subject.ts';
import { openWatchCache } from './open-watch-cache.ts';
import { ScriptedBackend } from './scripted-backend.ts';
import type { BackedWatchCache } from './watch-cache.ts';

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
  backend.questions = 0;
  return { backend, cache, clock, errors };
}

/** A gate that a test opens. */
function gate(): { wait: () => Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { wait: () => promise, open: resolve };
}

describe('fresh revision', () => {
  test('on a store with one writer nothing is asked', async () => {
    const { backend, cache } = await start();
    backend.local = true;
    await backend.create(`${maps}a/1`, value);
    expect(await cache.freshRevision()).toBe(backend.localRevision);
    expect(cache.peek(`${maps}a/1`)).toBeDefined();
    expect(backend.questions).toBe(0);
  });

  test('callers of one moment share one question', async () => {
    const { backend, cache } = await start();
    const revision = await backend.create(`${maps}a/1`, value);
    const answers = await Promise.all(Array.from({ length: 100 }, () => cache.freshRevision()));
    expect(new Set(answers)).toEqual(new Set([revision]));
    expect(backend.questions).toBe(1);
  });

  test('who comes while a question is under way waits for the next one', async () => {
    const { backend, cache } = await start();
    const questions: { open: () => void }[] = [];
    const ask = backend.store.currentRevision.bind(backend.store);
    // The answer is taken at once, but delivered late: as from a network.
    backend.currentRevision = async () => {
      const answer = await ask();
      const { wait, open } = gate();
      questions.push({ open });
      await wait();
      return answer;
    };
    const first = cache.freshRevision();
    await nextTurn();
    expect(questions).toHaveLength(1);
    const written = await backend.create(`${maps}a/1`, value);
    const late = Promise.all([cache.freshRevision(), cache.freshRevision()]);
    await nextTurn();
    expect(questions).toHaveLength(1);
    questions[0]?.open();
    expect(await first).toBeLessThan(written);
    await nextTurn();
    expect(questions).toHaveLength(2);
    questions[1]?.open();
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
    await nextTurn();
    expect([done, cache.peek(`${maps}a/1`)]).toEqual([false, undefined]);
    open();
    expect(await fresh).toBe(revision);
    expect(cache.peek(`${maps}a/1`)?.revision).toBe(revision);
  });

  test('R10: a cache that does not catch up refuses, and get and list then ask the store', async () => {
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

  test('a revision without an event for the cache is reached with the progress of the watch', async () => {
    const { backend, cache, clock } = await start();
    const burnt = await backend.create('/elsewhere', value);
    expect(await cache.freshRevision()).toBe(burnt);
    expect(cache.revision).toBe(burnt);
    expect(clock.timers).toBe(0);
  });

  test('a store that does not answer is reported to those who asked, and asked again by the next', async () => {
    const { backend, cache } = await start();
    backend.beforeQuestion = async () => {
      throw new Error('no quorum');
    };
    await expect(cache.freshRevision()).rejects.toThrow('no quorum');
    backend.beforeQuestion = async () => undefined;
    expect(await cache.freshRevision()).toBe(cache.revision);
  });

  test('a store that went back is loaded again instead of being believed', async () => {
    const { backend, cache, clock, errors } = await start();
    await backend.create(`${maps}a/1`, value);
    const restored = new ScriptedBackend();
    await backend.create(`${maps}a/2`, value);
    await cache.freshRevision();
    const before = cache.revision;
    // Has given the same revision to the same key, with other content.
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
