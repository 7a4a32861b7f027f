import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest, test } from '@jest/globals';
import { CompactedError } from '../errors.ts';
import { openFileStorage } from './open-file-storage.ts';

const tick = 10_000;
let directory: string;
let time = 1_000_000;
const open = (historyBytes?: number): ReturnType<typeof openFileStorage> =>
  openFileStorage({ directory, now: () => time, historyBytes });

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multiplane-trimmer-'));
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'setTimeout', 'performance'] });
});
afterEach(async () => {
  jest.useRealTimers();
  await rm(directory, { recursive: true, force: true });
});

/** Writes ten values of 100 kB to one key; returns the revision of the first. */
async function write(): Promise<number> {
  const store = await open();
  const first = await store.create('/a', Buffer.alloc(100_000, '0'));
  let last = first;
  for (let i = 1; i < 10; i++) last = await store.update('/a', Buffer.alloc(100_000, `${i}`), last);
  await store.close();
  return first;
}

/** Advances the clock to the next trim and waits for it. */
async function trim(store: Awaited<ReturnType<typeof open>>): Promise<void> {
  jest.advanceTimersByTime(tick);
  await store.compact(1);
}

describe('history from before a restart', () => {
  it('is kept as long as other history', async () => {
    const first = await write();
    const store = await open();
    await trim(store);
    expect((await store.list('/', { revision: first })).items[0]?.value[0]).toBe('0'.charCodeAt(0));
    time += 5 * 60_000;
    await trim(store);
    await expect(store.list('/', { revision: first })).rejects.toBeInstanceOf(CompactedError);
    await store.close();
  });

  it('is kept within the byte limit', async () => {
    const first = await write();
    const store = await open(500_000);
    await trim(store);
    await expect(store.list('/', { revision: first })).rejects.toBeInstanceOf(CompactedError);
    await store.close();
  });
});

test('history of a load that has ended is dropped down to 4 MiB', async () => {
  const store = await open();
  /** Writes a value of 100 kB this many times; returns the last revision. */
  const update = async (times: number, revision: number): Promise<number> => {
    let last = revision;
    for (let i = 0; i < times; i++) last = await store.update('/a', Buffer.alloc(100_000), last);
    return last;
  };
  const first = await store.create('/a', Buffer.alloc(100_000));
  const loaded = await update(120, first);
  const latest = await update(30, loaded);
  time += tick;
  await trim(store);
  // The rate is still that of the load.
  expect((await store.list('/', { revision: first })).items).toHaveLength(1);
  for (let i = 0; i < 3; i++) {
    time += tick;
    await trim(store);
  }
  await expect(store.list('/', { revision: loaded - 20 })).rejects.toBeInstanceOf(CompactedError);
  expect((await store.list('/', { revision: loaded })).items).toHaveLength(1);
  expect((await store.get('/a'))?.revision).toBe(latest);
  await store.close();
});

test('history of a steady load is kept for five minutes', async () => {
  const store = await open();
  const first = await store.create('/a', Buffer.alloc(300_000));
  let last = first;
  for (let i = 0; i < 28; i++) {
    last = await store.update('/a', Buffer.alloc(1_000_000), last);
    time += tick;
    await trim(store);
  }
  expect((await store.list('/', { revision: first })).items).toHaveLength(1);
  await store.close();
});
