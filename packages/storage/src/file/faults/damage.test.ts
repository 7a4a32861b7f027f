import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { eventsUpTo } from '../../conformance/events-up-to.ts';
import { codeOf } from '../../conformance/subject.ts';
import { isStorageError } from '../../errors.ts';
import { encodeFileHead } from '../file-head.ts';
import { openFileStorage } from '../open-file-storage.ts';
import { dataFiles } from './folder-size.ts';

const key = (i: number): string => `/registry/core/configmaps/${i}`;
const value = (i: number): Buffer => Buffer.alloc(2000, String(i % 10));

let folder: TempDir;
beforeEach(async () => {
  folder = await TempDir.create('damage');
});
afterEach(async () => {
  await folder.remove();
});

/** A store with keys 0…n-1, each from a write of its own, closed. Returns its last log. */
async function fill(keys: number): Promise<string> {
  const store = await openFileStorage({ directory: folder.path });
  for (let i = 0; i < keys; i++) await store.create(key(i), value(i));
  await store.close();
  return folder.join(dataFiles(folder.path).names.at(-1) as string);
}

/** A base, and a log behind it. */
async function fillBase(): Promise<{ base: string; log: string }> {
  const store = await openFileStorage({ directory: folder.path });
  let revision = await store.create(key(0), value(0));
  for (let i = 1; i < 100; i++) revision = await store.update(key(0), value(i), revision);
  await store.compact(revision);
  await store.create(key(1), value(1));
  await store.close();
  const [base = '', log = ''] = dataFiles(folder.path).names;
  return { base: folder.join(base), log: folder.join(log) };
}

/** Opens, checks that the first keys are there with a complete history, writes, and opens again. */
async function expectStore(keys: number): Promise<string | undefined> {
  const store = await openFileStorage({ directory: folder.path });
  const { items, revision } = await store.list('/registry/core/');
  expect(items).toHaveLength(keys);
  expect(revision).toBe(keys + 1);
  for (let i = 0; i < keys; i++) expect((await store.get(key(i)))?.value.equals(value(i))).toBe(true);
  expect(await eventsUpTo(store, '/', 1, revision)).toHaveLength(keys);
  expect(await store.create(key(keys), value(keys))).toBe(revision + 1);
  const { repaired } = store;
  await store.close();
  const again = await openFileStorage({ directory: folder.path });
  expect(again.repaired).toBeUndefined();
  expect((await again.list('/registry/core/')).items).toHaveLength(keys + 1);
  await again.close();
  return repaired;
}

/** Why opening is refused: again and again, and nothing is changed. */
async function refusal(): Promise<string> {
  const before = dataFiles(folder.path);
  const reasons = new Set<string>();
  for (let attempt = 0; attempt < 3; attempt++) {
    const opening = openFileStorage({ directory: folder.path }).then(
      async (store) => {
        await store.close();
        return 'opened';
      },
      (error: unknown) => (isStorageError(error, 'Unusable') ? error.message : String(error)),
    );
    reasons.add(await opening);
  }
  expect(dataFiles(folder.path)).toEqual(before);
  return [...reasons].join(' | ');
}

function overwrite(path: string, at: number, bytes: Buffer): void {
  const handle = openSync(path, 'r+');
  writeSync(handle, bytes, 0, bytes.length, at);
  closeSync(handle);
}

function flip(path: string, at: number): void {
  const byte = readFileSync(path)[at] as number;
  overwrite(path, at, Buffer.from([byte ^ 0x10]));
}

describe('R11: torn and damaged files', () => {
  test.each([
    ['garbage', Buffer.alloc(5000, 0xaa)],
    ['zeros', Buffer.alloc(5000)],
    ['a few bytes', Buffer.from([1, 2, 3])],
  ])('%s behind the last write is cut off', async (_, garbage) => {
    appendFileSync(await fill(20), garbage);
    expect(await expectStore(20)).toContain(`${garbage.length} bytes at the end of`);
  });

  test('a last write that was torn anywhere is cut off, and all before it is there', async () => {
    const log = await fill(4);
    const whole = readFileSync(log);
    const record = (whole.length - 64) / 4;
    for (const kept of [1, 17, 35, 36, 60, 500, record - 1]) {
      writeFileSync(log, whole.subarray(0, whole.length - record + kept));
      expect(await expectStore(3)).toContain('were cut off');
      writeFileSync(log, whole);
    }
  });

  test('of a write of several records a hole in the middle takes the rest with it, not what was before', async () => {
    const store = await openFileStorage({ directory: folder.path });
    for (let i = 0; i < 3; i++) await store.create(key(i), value(i));
    await Promise.all([3, 4, 5, 6].map((i) => store.create(key(i), value(i))));
    await store.close();
    const log = folder.join(dataFiles(folder.path).names[0] as string);
    const record = (statSync(log).size - 64) / 7;
    // The power went while the pages of one write went to the disk in any order.
    overwrite(log, 64 + 4 * record + 100, Buffer.alloc(record));
    expect(await expectStore(4)).toContain('were cut off');
  });

  test('a changed bit in what was acknowledged and followed is refused, not cut off', async () => {
    const log = await fill(10);
    flip(log, Math.floor(statSync(log).size / 2));
    expect(await refusal()).toMatch(/damaged.*restore the folder from a backup/);
  });

  test('a file that is missing in the middle is noticed', async () => {
    const store = await openFileStorage({ directory: folder.path });
    const large = Buffer.alloc(1 << 20, 'x');
    for (let i = 0; i < 140; i++) await store.create(key(i), large);
    await store.close();
    const { names } = dataFiles(folder.path);
    expect(names.length).toBeGreaterThan(2);
    unlinkSync(folder.join(names[1] as string));
    expect(await refusal()).toMatch(/it follows revision/);
  });

  test('a log before the last one that was cut short is refused', async () => {
    const store = await openFileStorage({ directory: folder.path });
    const large = Buffer.alloc(1 << 20, 'x');
    for (let i = 0; i < 70; i++) await store.create(key(i), large);
    await store.close();
    const first = folder.join(dataFiles(folder.path).names[0] as string);
    truncateSync(first, statSync(first).size - 100);
    expect(await refusal()).toMatch(/damaged/);
  });

  test.each(['a changed bit', 'a missing end', 'a damaged head'])('a base with %s is refused', async (what) => {
    const { base } = await fillBase();
    const { size } = statSync(base);
    if (what === 'a missing end') truncateSync(base, size - 1);
    else flip(base, what === 'a changed bit' ? size - 100 : 20);
    expect(await refusal()).toMatch(/\.base is damaged/);
  });

  test('a merge that did not finish leaves nothing behind; one that was not cleaned up after neither', async () => {
    const { base, log } = await fillBase();
    writeFileSync(`${base}.new`, 'half');
    writeFileSync(base.replace('.base', '.log'), readFileSync(log));
    const store = await openFileStorage({ directory: folder.path });
    expect((await store.list('/registry/')).items.map((item) => item.key)).toEqual([key(0), key(1)]);
    await store.close();
    expect(dataFiles(folder.path).names.map((name) => folder.join(name))).toEqual([base, log]);
  });

  test('a log that was being begun is begun again', async () => {
    const log = await fill(3);
    const next = log.replace(/(\d+)\.log$/, (_, id: string) => `${String(Number(id) + 1).padStart(8, '0')}.log`);
    writeFileSync(next, '');
    const store = await openFileStorage({ directory: folder.path });
    expect((await store.list('/registry/')).items).toHaveLength(3);
    await store.create(key(3), value(3));
    await store.close();
    expect(await expectStore(4)).toBeUndefined();
  });

  test('something else under the name of a log is refused, not overwritten', async () => {
    writeFileSync(folder.join('00000001.log'), 'this is not a store\n'.repeat(1000));
    expect(await refusal()).toMatch(/00000001\.log is damaged/);
  });

  test('data of another format is refused with both numbers', async () => {
    const head = encodeFileHead({ kind: 'log', id: 1, revision: 1, oldest: 1, size: 0, salt: 1 });
    head.writeUInt32LE(99, 12);
    writeFileSync(folder.join('00000001.log'), head);
    expect(await refusal()).toMatch(/of format 99, this program knows/);
  });

  test('a value that the disk has changed since is not served', async () => {
    const log = await fill(3);
    const store = await openFileStorage({ directory: folder.path });
    flip(log, 64 + 500);
    expect(await codeOf(store.get(key(0)))).toBe('Unavailable');
    expect(await codeOf(store.list('/registry/'))).toBe('Unavailable');
    expect((await store.get(key(1)))?.value.equals(value(1))).toBe(true);
    await store.close();
  });
});
