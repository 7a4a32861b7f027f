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
import { eventsUpTo } from '../../../test/conformance/events-up-to.ts';
import { codeOf } from '../../../test/conformance/subject.ts';
import { isStorageError } from '../../errors.ts';
import { encodeFileHeader } from '../file-header.ts';
import { openFileStorage } from '../open-file-storage.ts';
import { dataFiles } from '../../../test/file/data-files.ts';

const key = (i: number): string => `/registry/core/configmaps/${i}`;
const value = (i: number): Buffer => Buffer.alloc(2000, String(i % 10));

let tempDir: TempDir;
beforeEach(async () => {
  tempDir = await TempDir.create('damage');
});
afterEach(async () => {
  await tempDir.remove();
});

/** A closed store with keys 0…n-1, each from a separate write. Returns its last log. */
async function fill(keys: number): Promise<string> {
  const store = await openFileStorage({ directory: tempDir.path });
  for (let i = 0; i < keys; i++) await store.create(key(i), value(i));
  await store.close();
  return tempDir.join(dataFiles(tempDir.path).names.at(-1) as string);
}

/** A base and a log after it. */
async function fillBase(): Promise<{ base: string; log: string }> {
  const store = await openFileStorage({ directory: tempDir.path });
  let revision = await store.create(key(0), value(0));
  for (let i = 1; i < 100; i++) revision = await store.update(key(0), value(i), revision);
  await store.compact(revision);
  await store.create(key(1), value(1));
  await store.close();
  const [base = '', log = ''] = dataFiles(tempDir.path).names;
  return { base: tempDir.join(base), log: tempDir.join(log) };
}

/** Opens the store, checks the first keys and a complete history, writes, and opens it again. */
async function expectStore(keys: number): Promise<string | undefined> {
  const store = await openFileStorage({ directory: tempDir.path });
  const { items, revision } = await store.list('/registry/core/');
  expect(items).toHaveLength(keys);
  expect(revision).toBe(keys + 1);
  for (let i = 0; i < keys; i++) expect((await store.get(key(i)))?.value.equals(value(i))).toBe(true);
  expect(await eventsUpTo(store, '/', 1, revision)).toHaveLength(keys);
  expect(await store.create(key(keys), value(keys))).toBe(revision + 1);
  const { truncated } = store.recoveryReport;
  await store.close();
  const again = await openFileStorage({ directory: tempDir.path });
  expect(again.recoveryReport.truncated).toBeUndefined();
  expect((await again.list('/registry/core/')).items).toHaveLength(keys + 1);
  await again.close();
  return truncated;
}

/** The error of opening the store, which is repeatable and changes nothing. */
async function refusal(): Promise<string> {
  const before = dataFiles(tempDir.path);
  const reasons = new Set<string>();
  for (let attempt = 0; attempt < 3; attempt++) {
    const opening = openFileStorage({ directory: tempDir.path }).then(
      async (store) => {
        await store.close();
        return 'opened';
      },
      (error: unknown) => (isStorageError(error, 'Unusable') ? error.message : String(error)),
    );
    reasons.add(await opening);
  }
  expect(dataFiles(tempDir.path)).toEqual(before);
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

describe('torn and damaged files', () => {
  test.each([
    ['garbage', Buffer.alloc(5000, 0xaa)],
    ['zeros', Buffer.alloc(5000)],
    ['a few bytes', Buffer.from([1, 2, 3])],
  ])('%s after the last write is truncated', async (_, garbage) => {
    appendFileSync(await fill(20), garbage);
    expect(await expectStore(20)).toContain(`${garbage.length} bytes: its last write was not finished`);
  });

  test('a torn last write is truncated at any length, and everything before it is kept', async () => {
    const log = await fill(4);
    const whole = readFileSync(log);
    const record = (whole.length - 64) / 4;
    for (const kept of [1, 17, 35, 36, 60, 500, record - 1]) {
      // As after a power loss: the end on disk may lag behind the log, or was not there yet.
      unlinkSync(tempDir.join('end'));
      writeFileSync(log, whole.subarray(0, whole.length - record + kept));
      expect(await expectStore(3)).toContain('its last write was not finished');
      writeFileSync(log, whole);
    }
  });

  test('a hole in a write of several records truncates the rest of that write only', async () => {
    const store = await openFileStorage({ directory: tempDir.path });
    for (let i = 0; i < 3; i++) await store.create(key(i), value(i));
    await Promise.all([3, 4, 5, 6].map((i) => store.create(key(i), value(i))));
    await store.close();
    const log = tempDir.join(dataFiles(tempDir.path).names[0] as string);
    const record = (statSync(log).size - 64) / 7;
    // As after a power loss while the pages of one write were written in any order.
    overwrite(log, 64 + 4 * record + 100, Buffer.alloc(record));
    unlinkSync(tempDir.join('end'));
    expect(await expectStore(4)).toContain('its last write was not finished');
  });

  test('a damaged header in acknowledged data is refused, not truncated: the key is unknown', async () => {
    const log = await fill(10);
    const record = (statSync(log).size - 64) / 10;
    overwrite(log, 64 + 5 * record, Buffer.alloc(100));
    expect(await refusal()).toMatch(/whose keys are not readable.*restore the directory from a backup/);
  });

  test('a missing log between others is detected', async () => {
    const store = await openFileStorage({ directory: tempDir.path });
    const large = Buffer.alloc(1 << 20, 'x');
    for (let i = 0; i < 140; i++) await store.create(key(i), large);
    await store.close();
    const { names } = dataFiles(tempDir.path);
    expect(names.length).toBeGreaterThan(2);
    unlinkSync(tempDir.join(names[1] as string));
    expect(await refusal()).toMatch(/it follows revision/);
  });

  test('a truncated log before the last one is refused', async () => {
    const store = await openFileStorage({ directory: tempDir.path });
    const large = Buffer.alloc(1 << 20, 'x');
    for (let i = 0; i < 70; i++) await store.create(key(i), large);
    await store.close();
    const first = tempDir.join(dataFiles(tempDir.path).names[0] as string);
    truncateSync(first, statSync(first).size - 100);
    expect(await refusal()).toMatch(/damaged/);
  });

  test.each(['a missing end', 'a damaged header'])('a base with %s is refused', async (what) => {
    const { base } = await fillBase();
    const { size } = statSync(base);
    if (what === 'a missing end') truncateSync(base, size - 1);
    else flip(base, 20);
    expect(await refusal()).toMatch(/\.base is damaged/);
  });

  test('an unfinished compaction and an unfinished cleanup leave no files behind', async () => {
    const { base, log } = await fillBase();
    writeFileSync(`${base}.new`, 'half');
    writeFileSync(base.replace('.base', '.log'), readFileSync(log));
    const store = await openFileStorage({ directory: tempDir.path });
    expect((await store.list('/registry/')).items.map((item) => item.key)).toEqual([key(0), key(1)]);
    await store.close();
    expect(dataFiles(tempDir.path).names.map((name) => tempDir.join(name))).toEqual([base, log]);
  });

  test('an unfinished new log is created again', async () => {
    const log = await fill(3);
    const next = log.replace(/(\d+)\.log$/, (_, id: string) => `${String(Number(id) + 1).padStart(8, '0')}.log`);
    writeFileSync(next, '');
    const store = await openFileStorage({ directory: tempDir.path });
    expect((await store.list('/registry/')).items).toHaveLength(3);
    await store.create(key(3), value(3));
    await store.close();
    expect(await expectStore(4)).toBeUndefined();
  });

  test('another file with the name of a log is refused, not overwritten', async () => {
    writeFileSync(tempDir.join('00000001.log'), 'this is not a store\n'.repeat(1000));
    expect(await refusal()).toMatch(/00000001\.log is damaged/);
  });

  test('data of another format is refused with both versions', async () => {
    const header = encodeFileHeader({ kind: 'log', id: 1, revision: 1, oldest: 1, size: 0, salt: 1 });
    header.writeUInt32LE(99, 12);
    writeFileSync(tempDir.join('00000001.log'), header);
    expect(await refusal()).toMatch(/has format 99, this program supports/);
  });

  test('a value that was changed on disk is not served', async () => {
    const log = await fill(3);
    const store = await openFileStorage({ directory: tempDir.path });
    flip(log, 64 + 500);
    expect(await codeOf(store.get(key(0)))).toBe('Unavailable');
    expect(await codeOf(store.list('/registry/'))).toBe('Unavailable');
    expect((await store.get(key(1)))?.value.equals(value(1))).toBe(true);
    await store.close();
  });
});
