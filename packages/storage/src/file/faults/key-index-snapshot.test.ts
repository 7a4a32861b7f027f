import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { repetitions, TempDir } from '@multiplane/testing';
import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { eventsUpTo } from '../../../test/conformance/events-up-to.ts';
import { codeOf } from '../../../test/conformance/subject.ts';
import type { StorageEvent, StoredValue } from '../../interface.ts';
import { openFileStorage } from '../open-file-storage.ts';
import { recover } from '../recovery.ts';
import { CrashModel, CrashRun } from '../../../test/file/crash-run.ts';

const key = (i: number): string => `/registry/core/configmaps/${i % 7}/${i}`;
const value = (i: number): Buffer => Buffer.alloc(500 + i, String(i % 10));
const far = 1e15;

let tempDir: TempDir;
beforeEach(async () => {
  tempDir = await TempDir.create('key-index-snapshot');
});
afterEach(async () => {
  await tempDir.remove();
});

const keys = (): string => tempDir.join('keys');
const openStore = (directory = tempDir.path): ReturnType<typeof openFileStorage> =>
  openFileStorage({ directory, minIndexSnapshotBytes: 0 });

/** Bytes that recovery replays after the snapshot; undefined: it replays everything. */
async function replayedBytesOf(directory = tempDir.path): Promise<number | undefined> {
  const { state, replayedBytes } = await recover({ directory, minIndexSnapshotBytes: 0 });
  for (const segment of state.segments) await segment.retire(false);
  return replayedBytes;
}

/** Creates, changes and deletes keys from a number on; some of them have an expiry time. */
async function write(store: Awaited<ReturnType<typeof openStore>>, from: number, to: number): Promise<void> {
  for (let i = from; i < to; i++) {
    const revision = await store.create(key(i), value(i), i % 5 === 0 ? { ttlSeconds: 1e9 } : undefined);
    if (i % 3 === 0) await store.update(key(i), value(i + 1), revision);
    if (i % 4 === 0) await store.delete(key(i), (await store.get(key(i)))?.revision ?? 0);
  }
}

/** Creates enough garbage for a segment compaction. */
async function compactSegments(store: Awaited<ReturnType<typeof openStore>>): Promise<void> {
  for (let i = 0; i < 100; i++) await store.create(`/x/${i}`, Buffer.alloc(2000));
  for (const { key, revision } of (await store.list('/x/')).items) await store.delete(key, revision);
  await store.compact(await store.currentRevision());
}

interface Content {
  readonly revision: number;
  readonly items: readonly StoredValue[];
  readonly history: readonly StorageEvent[];
  readonly past: readonly StoredValue[];
}

async function contentOf(store: Awaited<ReturnType<typeof openStore>>): Promise<Content> {
  const { items, revision } = await store.list('/');
  const oldest = await store.list('/', { revision: 1 }).then(
    () => 1,
    (error: { readonly oldest: number }) => error.oldest,
  );
  const history = await eventsUpTo(store, '/', oldest, revision);
  return { revision, items, history, past: (await store.list('/', { revision: oldest })).items };
}

/** A closed store of 60 keys with its snapshot, and its content. */
async function fill(): Promise<Content> {
  const store = await openStore();
  await write(store, 0, 60);
  const content = await contentOf(store);
  await store.close();
  return content;
}

/** Opens the store, compares, writes, and opens it again. */
async function expectContent(content: Content): Promise<void> {
  const store = await openStore();
  expect(await contentOf(store)).toEqual(content);
  await write(store, 1000, 1003);
  const after = await contentOf(store);
  await store.close();
  expect(await replayedBytesOf()).toBe(0);
  const again = await openStore();
  expect(await contentOf(again)).toEqual(after);
  await again.close();
}

describe('a store with a key index snapshot', () => {
  test('is restored from it completely and accepts writes', async () => {
    const content = await fill();
    expect(await replayedBytesOf()).toBe(0);
    await expectContent(content);
  });

  test('is restored after a segment compaction and a trimmed history', async () => {
    const store = await openStore();
    await write(store, 0, 60);
    await compactSegments(store);
    await write(store, 100, 120);
    const content = await contentOf(store);
    await store.close();
    expect(readdirSync(tempDir.path).some((name) => name.endsWith('.base'))).toBe(true);
    expect(await replayedBytesOf()).toBe(0);
    await expectContent(content);
  });

  test('keeps the order of keys beyond ASCII', async () => {
    const store = await openStore();
    const names = ['/a/\uFFFD', '/a/😀', '/a/😁', '/a/ä', '/a/äb', '/a', '/a/x'];
    for (const name of names) await store.create(name, value(1));
    const content = await contentOf(store);
    await store.close();
    expect(await replayedBytesOf()).toBe(0);
    await expectContent(content);
  });

  test('is replayed completely when it is small', async () => {
    const content = await fill();
    const store = await openFileStorage({ directory: tempDir.path });
    expect(await contentOf(store)).toEqual(content);
    await store.close();
    expect(existsSync(keys())).toBe(false);
  });

  test('deletes expired keys that are in the snapshot or were written after it', async () => {
    let now = 1_000_000;
    const options = { directory: tempDir.path, minIndexSnapshotBytes: 0, now: () => now };
    const first = await openFileStorage(options);
    await first.create('/a', value(1), { ttlSeconds: 60 });
    await first.close();
    copyFileSync(keys(), tempDir.join('old'));
    const second = await openFileStorage(options);
    await second.create('/b', value(1), { ttlSeconds: 60 });
    const revision = await second.create('/c', value(1), { ttlSeconds: 600 });
    await second.close();
    copyFileSync(tempDir.join('old'), keys());
    expect(await replayedBytesOf()).toBeGreaterThan(0);
    now += 61_000;
    const third = await openFileStorage(options);
    const events = await eventsUpTo(third, '/', revision, revision + 2);
    expect(events.map(({ type, key }) => `${type} ${key}`).sort()).toEqual(['delete /a', 'delete /b']);
    expect(await third.get('/c')).toBeDefined();
    await third.close();
  });

  test('does not serve a value that was changed on disk', async () => {
    await fill();
    const log = tempDir.join('00000001.log');
    const bytes = readFileSync(log);
    bytes[64 + 36 + 40] = (bytes[64 + 36 + 40] as number) ^ 1;
    writeFileSync(log, bytes);
    const store = await openStore();
    const codes = [await codeOf(store.list('/', { revision: 2 })), await codeOf(eventsUpTo(store, '/', 1, 2))];
    expect(codes).toEqual(['Unavailable', 'Unavailable']);
    await store.close();
  });
});

describe('an invalid key index snapshot', () => {
  test('missing, truncated anywhere, or of other content: everything is replayed', async () => {
    const content = await fill();
    const whole = readFileSync(keys());
    const part = Math.ceil(whole.length / 40);
    const damages: Buffer[] = [Buffer.alloc(0), Buffer.alloc(whole.length), Buffer.concat([whole, Buffer.alloc(1)])];
    for (let at = 0; at < whole.length; at += part) {
      damages.push(whole.subarray(0, at));
      const flipped = Buffer.from(whole);
      flipped[at] = (flipped[at] as number) ^ 0x20;
      damages.push(flipped);
    }
    for (const damage of damages) {
      writeFileSync(keys(), damage);
      expect(await replayedBytesOf()).toBeUndefined();
      // It was removed, so that it cannot become valid when the segments have grown.
      expect(existsSync(keys())).toBe(false);
    }
    await expectContent(content);
  });

  test('of another layout: everything is replayed', async () => {
    const content = await fill();
    const bytes = readFileSync(keys());
    bytes.writeUInt32LE(99, 12);
    writeFileSync(keys(), bytes);
    expect(await replayedBytesOf()).toBeUndefined();
    await expectContent(content);
  });

  test('an older one: later writes, deletes and the trimmed history are replayed', async () => {
    await fill();
    copyFileSync(keys(), tempDir.join('old'));
    const store = await openStore();
    await write(store, 60, 90);
    const { items } = await store.list('/');
    for (const { key, revision } of items.slice(0, 10)) await store.delete(key, revision);
    const content = await contentOf(store);
    await store.close();
    copyFileSync(tempDir.join('old'), keys());
    expect(await replayedBytesOf()).toBeGreaterThan(5000);
    copyFileSync(tempDir.join('old'), keys());
    await expectContent(content);
  });

  test('one from before a segment compaction: everything is replayed', async () => {
    await fill();
    copyFileSync(keys(), tempDir.join('old'));
    const store = await openStore();
    await compactSegments(store);
    const content = await contentOf(store);
    await store.close();
    copyFileSync(tempDir.join('old'), keys());
    expect(await replayedBytesOf()).toBeUndefined();
    await expectContent(content);
  });

  test('one of a store that diverged from the same files: everything is replayed', async () => {
    await fill();
    const other = tempDir.join('other');
    const names = readdirSync(tempDir.path).filter((name) => name !== 'lock');
    for (const name of names) cpSync(tempDir.join(name), join(other, name));
    const there = await openStore(other);
    await there.create('/there', value(7));
    await there.close();
    const here = await openStore();
    await here.create('/here!', value(7));
    await here.create('/more', value(8));
    const content = await contentOf(here);
    await here.close();
    copyFileSync(join(other, 'keys'), keys());
    rmSync(other, { recursive: true });
    expect(await replayedBytesOf()).toBeUndefined();
    await expectContent(content);
  });

  test('one that covers more than the segments contain: everything is replayed', async () => {
    await fill();
    const log = tempDir.join('00000001.log');
    const { size } = statSync(log);
    const store = await openStore();
    const before = await contentOf(store);
    await store.create('/last', value(1));
    await store.close();
    // As in a backup of the segments that was taken earlier.
    truncateSync(log, size);
    unlinkSync(tempDir.join('end'));
    expect(await replayedBytesOf()).toBeUndefined();
    await expectContent(before);
  });

  test('an unfinished one is ignored', async () => {
    const content = await fill();
    writeFileSync(`${keys()}.new`, 'half');
    expect(await replayedBytesOf()).toBe(0);
    expect(existsSync(`${keys()}.new`)).toBe(false);
    await expectContent(content);
  });

  test('after it an unfinished write is truncated; damage before a complete write is quarantined', async () => {
    await fill();
    copyFileSync(keys(), tempDir.join('old'));
    const store = await openStore();
    const before = await contentOf(store);
    await store.create('/last', value(1));
    const content = await contentOf(store);
    await store.create('/torn', value(1));
    await store.close();
    const log = tempDir.join('00000001.log');
    const whole = readFileSync(log);
    truncateSync(log, whole.length - 10);
    unlinkSync(tempDir.join('end'));
    copyFileSync(tempDir.join('old'), keys());
    const torn = await openStore();
    expect(torn.recoveryReport.truncated).toContain('its last write was not finished');
    expect(await contentOf(torn)).toEqual(content);
    await torn.close();
    whole[(await sizeAt(before.revision)) + 200] = 0xff;
    writeFileSync(log, whole);
    copyFileSync(tempDir.join('old'), keys());
    const damaged = await openStore();
    expect(damaged.recoveryReport.quarantined.map(({ key }) => key)).toEqual(['/last']);
    await damaged.close();
  });
});

/** Offset of the record after a revision in the only log. */
async function sizeAt(revision: number): Promise<number> {
  const { state } = await recover({ directory: tempDir.path, minIndexSnapshotBytes: far });
  const next = state.history.after(revision, 1)[0]?.entry.offset ?? 0;
  for (const segment of state.segments) await segment.retire(false);
  return next;
}

test(
  'kill -9 while snapshots are written and segments are compacted: acknowledged writes are present',
  async () => {
    const seed = Date.now() % 1000;
    const model = new CrashModel();
    const behind: (number | undefined)[] = [];
    for (let round = 0; round < repetitions(6); round++) {
      // The limit is so small that history is trimmed and segments are compacted all the time.
      const historyBytes = round % 2 === 0 ? 100_000 : 1 << 30;
      const options = { directory: tempDir.path, historyBytes, minIndexSnapshotBytes: 0 };
      const run = new CrashRun({ ...options, firstNumber: round * 1_000_000, workers: 8, valueBytes: 20_000 });
      await run.acknowledged(100 + ((round * 7919 + seed * 104_729) % 200));
      const said = await run.kill();
      behind.push(await replayedBytesOf());
      const store = await openFileStorage(options);
      await model.check(store, said, round % 2 === 1);
      await store.close();
    }
    expect(behind.filter((bytes) => bytes !== undefined).length).toBeGreaterThan(0);
  },
  repetitions(240_000),
);
