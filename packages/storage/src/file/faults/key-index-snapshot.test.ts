import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { eventsUpTo } from '../../conformance/events-up-to.ts';
import { codeOf } from '../../conformance/subject.ts';
import type { StorageEvent, StoredValue } from '../../interface.ts';
import { openFileStorage } from '../open-file-storage.ts';
import { recover } from '../recovery.ts';
import { CrashModel, CrashRun } from './crash-run.ts';

const key = (i: number): string => `/registry/core/configmaps/${i % 7}/${i}`;
const value = (i: number): Buffer => Buffer.alloc(500 + i, String(i % 10));
const far = 1e15;

let folder: TempDir;
beforeEach(async () => {
  folder = await TempDir.create('key-file');
});
afterEach(async () => {
  await folder.remove();
});

const keys = (): string => folder.join('keys');
const openStore = (directory = folder.path): ReturnType<typeof openFileStorage> =>
  openFileStorage({ directory, wholeBelowBytes: 0 });

/** Bytes that opening the folder reads behind its file of keys; undefined: it reads everything. */
async function readBehind(directory = folder.path): Promise<number | undefined> {
  const { state, behind } = await recover({ folder: directory, wholeBelowBytes: 0 });
  for (const segment of state.segments) await segment.retire(false);
  return behind;
}

/** Creates, changes and removes keys from a number on; some of them go some time. */
async function write(store: Awaited<ReturnType<typeof openStore>>, from: number, to: number): Promise<void> {
  for (let i = from; i < to; i++) {
    const revision = await store.create(key(i), value(i), i % 5 === 0 ? { ttlSeconds: 1e9 } : undefined);
    if (i % 3 === 0) await store.update(key(i), value(i + 1), revision);
    if (i % 4 === 0) await store.delete(key(i), (await store.get(key(i)))?.revision ?? 0);
  }
}

/** Makes so much garbage that the files are merged. */
async function merge(store: Awaited<ReturnType<typeof openStore>>): Promise<void> {
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

/** A closed store of 60 keys with its file of keys, and what it holds. */
async function fill(): Promise<Content> {
  const store = await openStore();
  await write(store, 0, 60);
  const content = await contentOf(store);
  await store.close();
  return content;
}

/** Opens, compares, writes, and opens again. */
async function expectContent(content: Content): Promise<void> {
  const store = await openStore();
  expect(await contentOf(store)).toEqual(content);
  await write(store, 1000, 1003);
  const after = await contentOf(store);
  await store.close();
  expect(await readBehind()).toBe(0);
  const again = await openStore();
  expect(await contentOf(again)).toEqual(after);
  await again.close();
}

describe('a store with a file of its keys', () => {
  test('is opened by it, with all that it had, and works on', async () => {
    const content = await fill();
    expect(await readBehind()).toBe(0);
    await expectContent(content);
  });

  test('that was merged, and forgot its history, is the same too', async () => {
    const store = await openStore();
    await write(store, 0, 60);
    await merge(store);
    await write(store, 100, 120);
    const content = await contentOf(store);
    await store.close();
    expect(readdirSync(folder.path).some((name) => name.endsWith('.base'))).toBe(true);
    expect(await readBehind()).toBe(0);
    await expectContent(content);
  });

  test('of keys beyond ASCII has them in their order', async () => {
    const store = await openStore();
    const names = ['/a/\uFFFD', '/a/😀', '/a/😁', '/a/ä', '/a/äb', '/a', '/a/x'];
    for (const name of names) await store.create(name, value(1));
    const content = await contentOf(store);
    await store.close();
    expect(await readBehind()).toBe(0);
    await expectContent(content);
  });

  test('that is small is read as a whole', async () => {
    const content = await fill();
    const store = await openFileStorage({ directory: folder.path });
    expect(await contentOf(store)).toEqual(content);
    await store.close();
    expect(existsSync(keys())).toBe(false);
  });

  test('removes keys whose time has run out, known from the file or written since', async () => {
    let now = 1_000_000;
    const options = { directory: folder.path, wholeBelowBytes: 0, now: () => now };
    const first = await openFileStorage(options);
    await first.create('/a', value(1), { ttlSeconds: 60 });
    await first.close();
    copyFileSync(keys(), folder.join('old'));
    const second = await openFileStorage(options);
    await second.create('/b', value(1), { ttlSeconds: 60 });
    const revision = await second.create('/c', value(1), { ttlSeconds: 600 });
    await second.close();
    copyFileSync(folder.join('old'), keys());
    expect(await readBehind()).toBeGreaterThan(0);
    now += 61_000;
    const third = await openFileStorage(options);
    const events = await eventsUpTo(third, '/', revision, revision + 2);
    expect(events.map(({ type, key }) => `${type} ${key}`).sort()).toEqual(['delete /a', 'delete /b']);
    expect(await third.get('/c')).toBeDefined();
    await third.close();
  });

  test('does not serve a value that the disk has changed', async () => {
    await fill();
    const log = folder.join('00000001.log');
    const bytes = readFileSync(log);
    bytes[64 + 36 + 40] = (bytes[64 + 36 + 40] as number) ^ 1;
    writeFileSync(log, bytes);
    const store = await openStore();
    const codes = [await codeOf(store.list('/', { revision: 2 })), await codeOf(eventsUpTo(store, '/', 1, 2))];
    expect(codes).toEqual(['Unavailable', 'Unavailable']);
    await store.close();
  });
});

describe('a file of keys that is not what it should be', () => {
  test('missing, torn anywhere, or of other content: everything is read', async () => {
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
      expect(await readBehind()).toBeUndefined();
      // It has gone, so that it will not be believed when the files have grown to fit it.
      expect(existsSync(keys())).toBe(false);
    }
    await expectContent(content);
  });

  test('of another layout: everything is read', async () => {
    const content = await fill();
    const bytes = readFileSync(keys());
    bytes.writeUInt32LE(99, 12);
    writeFileSync(keys(), bytes);
    expect(await readBehind()).toBeUndefined();
    await expectContent(content);
  });

  test('an older one: what was written since is read, removals and forgotten history too', async () => {
    await fill();
    copyFileSync(keys(), folder.join('old'));
    const store = await openStore();
    await write(store, 60, 90);
    const { items } = await store.list('/');
    for (const { key, revision } of items.slice(0, 10)) await store.delete(key, revision);
    const content = await contentOf(store);
    await store.close();
    copyFileSync(folder.join('old'), keys());
    expect(await readBehind()).toBeGreaterThan(5000);
    copyFileSync(folder.join('old'), keys());
    await expectContent(content);
  });

  test('one from before a merge: everything is read', async () => {
    await fill();
    copyFileSync(keys(), folder.join('old'));
    const store = await openStore();
    await merge(store);
    const content = await contentOf(store);
    await store.close();
    copyFileSync(folder.join('old'), keys());
    expect(await readBehind()).toBeUndefined();
    await expectContent(content);
  });

  test('one of a store that went another way from the same files: everything is read', async () => {
    await fill();
    const other = folder.join('other');
    const names = readdirSync(folder.path).filter((name) => name !== 'lock');
    for (const name of names) cpSync(folder.join(name), join(other, name));
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
    expect(await readBehind()).toBeUndefined();
    await expectContent(content);
  });

  test('one that knows of more than the files have: everything is read', async () => {
    await fill();
    const log = folder.join('00000001.log');
    const { size } = statSync(log);
    const store = await openStore();
    const before = await contentOf(store);
    await store.create('/last', value(1));
    await store.close();
    // As of a backup of the files that was taken before.
    truncateSync(log, size);
    expect(await readBehind()).toBeUndefined();
    await expectContent(before);
  });

  test('one that was being written is not looked at', async () => {
    const content = await fill();
    writeFileSync(`${keys()}.new`, 'half');
    expect(await readBehind()).toBe(0);
    expect(existsSync(`${keys()}.new`)).toBe(false);
    await expectContent(content);
  });

  test('behind it the end of a write that was not finished is cut off; damage before a whole write is refused', async () => {
    await fill();
    copyFileSync(keys(), folder.join('old'));
    const store = await openStore();
    const before = await contentOf(store);
    await store.create('/last', value(1));
    const content = await contentOf(store);
    await store.create('/torn', value(1));
    await store.close();
    const log = folder.join('00000001.log');
    const whole = readFileSync(log);
    truncateSync(log, whole.length - 10);
    copyFileSync(folder.join('old'), keys());
    const torn = await openStore();
    expect(torn.repaired).toContain('were cut off');
    expect(await contentOf(torn)).toEqual(content);
    await torn.close();
    whole[(await sizeAt(before.revision)) + 200] = 0xff;
    writeFileSync(log, whole);
    copyFileSync(folder.join('old'), keys());
    expect(await codeOf(openStore())).toBe('Unusable');
  });
});

/** Where the record after a revision begins in the only log. */
async function sizeAt(revision: number): Promise<number> {
  const { state } = await recover({ folder: folder.path, wholeBelowBytes: far });
  const next = state.history.after(revision, 1)[0]?.entry.offset ?? 0;
  for (const segment of state.segments) await segment.retire(false);
  return next;
}

test('kill -9 while keys are written down and files merged: what was acknowledged is there', async () => {
  const seed = Date.now() % 1000;
  const model = new CrashModel();
  const behind: (number | undefined)[] = [];
  for (let round = 0; round < 12; round++) {
    // So little history that it is trimmed, and files merged, all the time; in between only writes.
    const historyBytes = round % 2 === 0 ? 100_000 : 1 << 30;
    const options = { directory: folder.path, historyBytes, wholeBelowBytes: 0 };
    const run = new CrashRun({ ...options, firstNumber: round * 1_000_000, workers: 8, valueBytes: 20_000 });
    await run.acknowledged(100 + ((round * 7919 + seed * 104_729) % 200));
    const said = await run.kill();
    behind.push(await readBehind());
    const store = await openFileStorage(options);
    await model.check(store, said, round % 2 === 1);
    await store.close();
  }
  expect(behind.filter((bytes) => bytes !== undefined).length).toBeGreaterThan(0);
}, 240_000);
