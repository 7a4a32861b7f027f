import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import {
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dataFiles } from '../../../test/file/data-files.ts';
import { codeOf } from '../../../test/conformance/subject.ts';
import { isStorageError } from '../../errors.ts';
import type { FileStorage } from '../file-storage.ts';
import { openFileStorage } from '../open-file-storage.ts';

const key = (i: number): string => `/registry/core/configmaps/${i}`;
const value = (i: number): Buffer => Buffer.alloc(2000, String(i % 10));

let tempDir: TempDir;
beforeEach(async () => {
  tempDir = await TempDir.create('lost-data');
});
afterEach(async () => {
  await tempDir.remove();
});

const open = (options: { acceptDataLoss?: boolean } = {}): Promise<FileStorage> =>
  openFileStorage({ directory: tempDir.path, ...options });
const logs = (): string[] =>
  dataFiles(tempDir.path)
    .names.filter((name) => name !== 'keys')
    .map((name) => tempDir.join(name));

/** A closed store with keys 0…n-1, each from a separate write at revision i + 2; returns its log and the size of a record. */
async function fill(keys: number): Promise<{ log: string; at: (i: number) => number }> {
  const store = await open();
  for (let i = 0; i < keys; i++) await store.create(key(i), value(i));
  await store.close();
  const log = logs().at(-1) as string;
  const ends = recordEnds(log);
  return { log, at: (i) => ends[i] as number };
}

/** The offset of each record. */
function recordEnds(log: string): number[] {
  const bytes = readFileSync(log);
  const starts: number[] = [];
  for (let at = 64; at < bytes.length; at += 36 + bytes.readUInt16LE(at + 16) + bytes.readUInt32LE(at + 12))
    starts.push(at);
  return starts;
}

function flip(path: string, at: number): void {
  const handle = openSync(path, 'r+');
  writeSync(handle, Buffer.from([(readFileSync(path)[at] as number) ^ 0x10]), 0, 1, at);
  closeSync(handle);
}

async function refusal(): Promise<string> {
  try {
    await (await open()).close();
    return 'opened';
  } catch (error) {
    return isStorageError(error, 'Unusable') ? error.message : String(error);
  }
}

describe('a log that does not reach its acknowledged end', () => {
  test.each(['at the end of a record', 'within a record'])('shortened %s is refused', async (where) => {
    const { log, at } = await fill(10);
    truncateSync(log, at(7) + (where === 'within a record' ? 500 : 0));
    const bytes = readFileSync(log);
    expect(await refusal()).toMatch(
      /\.log is damaged or incomplete, missing its end: .* were acknowledged.*--accept-data-loss/,
    );
    expect(readFileSync(log).equals(bytes)).toBe(true);
  });

  test('is refused when it is missing, alone or with all others', async () => {
    const store = await open();
    for (let i = 0; i < 70; i++) await store.create(key(i), Buffer.alloc(1 << 20, 'x'));
    await store.close();
    expect(logs().length).toBeGreaterThan(1);
    unlinkSync(logs().at(-1) as string);
    expect(await refusal()).toMatch(/missing revisions \d+ to 71, which were acknowledged/);
    for (const log of logs()) unlinkSync(log);
    expect(await refusal()).toMatch(/missing revisions 2 to 71, which were acknowledged/);
  });

  test('is opened with acceptDataLoss, without reusing a revision, and afterwards without it', async () => {
    const { log, at } = await fill(10);
    truncateSync(log, at(7));
    const store = await open({ acceptDataLoss: true });
    expect(store.recoveryReport.losses.join()).toMatch(/revisions 9 to 11/);
    expect((await store.list('/registry/')).items.map((item) => item.key)).toEqual([0, 1, 2, 3, 4, 5, 6].map(key));
    expect(await store.currentRevision()).toBe(11);
    expect(await codeOf(store.list('/registry/', { revision: 8 }))).toBe('Compacted');
    expect(await store.create(key(7), value(7))).toBe(12);
    await store.close();
    const again = await open();
    expect(again.recoveryReport).toMatchObject({ losses: [], quarantined: [], truncated: undefined });
    expect((await again.list('/registry/')).items).toHaveLength(8);
    expect(await again.currentRevision()).toBe(12);
    await again.close();
  });

  test('is detected after kill -9, too: the end is recorded before the acknowledgement', async () => {
    const store = await open();
    for (let i = 0; i < 5; i++) await store.create(key(i), value(i));
    const [log = ''] = logs();
    // As kill -9 leaves the files: nothing was closed or synced.
    const copy = await TempDir.create('killed');
    for (const path of [log, tempDir.join('end')]) copyFileSync(path, copy.join(path.split('/').at(-1) as string));
    await store.close();
    truncateSync(copy.join('00000001.log'), recordEnds(log)[4]);
    await expect(openFileStorage({ directory: copy.path })).rejects.toThrow(/were acknowledged/);
    await copy.remove();
  });

  test('a damaged last record is acknowledged data: it is not taken for a torn write', async () => {
    const { log, at } = await fill(3);
    flip(log, at(2) + 500);
    const store = await open();
    expect(store.recoveryReport.truncated).toBeUndefined();
    expect(store.recoveryReport.quarantined.map((record) => record.key)).toEqual([key(2)]);
    await store.close();
  });

  test('one damaged slot of the recorded end is harmless, two are refused', async () => {
    await fill(3);
    flip(tempDir.join('end'), 20);
    await (await open()).close();
    flip(tempDir.join('end'), 20);
    flip(tempDir.join('end'), 4096 + 20);
    expect(await refusal()).toMatch(/end is damaged/);
    await (await open({ acceptDataLoss: true })).close();
    expect(await refusal()).toBe('opened');
  });

  test('a store without a recorded end is opened, and gets one', async () => {
    const { log, at } = await fill(3);
    unlinkSync(tempDir.join('end'));
    await (await open()).close();
    truncateSync(log, at(2));
    expect(await refusal()).toMatch(/were acknowledged/);
  });
});

describe('a damaged record', () => {
  test('is quarantined with its key named; the rest is served', async () => {
    const { log, at } = await fill(10);
    flip(log, at(4) + 500);
    const store = await open();
    expect(store.recoveryReport.quarantined).toEqual([
      { file: log, offset: at(4), bytes: at(5) - at(4), key: key(4), revision: 6, superseded: false },
    ]);
    expect(await store.get(key(4))).toBeUndefined();
    const { items, revision } = await store.list('/registry/');
    expect(items.map((item) => item.key)).toEqual([0, 1, 2, 3, 5, 6, 7, 8, 9].map(key));
    expect(revision).toBe(11);
    // A watch from before must start again, so that it learns of the missing key.
    expect(await codeOf(store.list('/registry/', { revision: 5 }))).toBe('Compacted');
    expect((await store.list('/registry/', { revision: 9 })).items).toHaveLength(7);
    expect(await store.create(key(4), value(4))).toBe(12);
    await store.close();
    const [copy = ''] = readdirSync(tempDir.join('quarantine'));
    const quarantined = JSON.parse(readFileSync(tempDir.join('quarantine', copy), 'utf8')) as Record<string, string>;
    expect(quarantined).toMatchObject({ key: key(4), revision: 6 });
    expect(Buffer.from(quarantined['data'] ?? '', 'base64')).toHaveLength(at(5) - at(4));
    const again = await open();
    expect(again.recoveryReport.quarantined.map((record) => [record.key, record.superseded])).toEqual([[key(4), true]]);
    expect((await again.get(key(4)))?.value.equals(value(4))).toBe(true);
    await again.close();
  });

  test('does not bring an older version back', async () => {
    const store = await open();
    let revision = await store.create(key(0), value(0));
    for (let i = 1; i < 5; i++) revision = await store.update(key(0), value(i), revision);
    await store.create(key(1), value(1));
    await store.close();
    const [log = ''] = logs();
    flip(log, (recordEnds(log)[4] as number) + 500);
    const damaged = await open();
    expect(await damaged.get(key(0))).toBeUndefined();
    expect((await damaged.list('/registry/')).items.map((item) => item.key)).toEqual([key(1)]);
    await damaged.close();
  });

  test('of which a later version exists costs history only', async () => {
    const store = await open();
    const revision = await store.create(key(0), value(0));
    const updated = await store.update(key(0), value(1), revision);
    await store.update(key(0), value(2), updated);
    await store.close();
    const [log = ''] = logs();
    flip(log, (recordEnds(log)[1] as number) + 500);
    const damaged = await open();
    expect(damaged.recoveryReport.quarantined[0]).toMatchObject({ key: key(0), superseded: true });
    expect((await damaged.get(key(0)))?.value.equals(value(2))).toBe(true);
    await damaged.close();
  });

  test('with a changed key is refused: another key would show its older version', async () => {
    const store = await open();
    const revision = await store.create(key(0), value(0));
    await store.update(key(0), value(1), revision);
    await store.create(key(1), value(1));
    await store.close();
    const [log = ''] = logs();
    flip(log, (recordEnds(log)[1] as number) + 36 + key(0).length - 1);
    expect(await refusal()).toMatch(/whose key is not readable/);
    const accepted = await open({ acceptDataLoss: true });
    expect(accepted.recoveryReport.losses).toHaveLength(1);
    await accepted.close();
    expect(await refusal()).toBe('opened');
  });

  test('in a base is quarantined', async () => {
    const store = await open();
    for (let i = 0; i < 50; i++) await store.update(key(i), value(i), await store.create(key(i), value(i + 1)));
    await store.defragment();
    await store.create(key(50), value(50));
    await store.close();
    const [base = ''] = logs();
    expect(base).toMatch(/\.base$/);
    flip(base, (recordEnds(base)[20] as number) + 500);
    const damaged = await open();
    expect(damaged.recoveryReport.quarantined).toHaveLength(1);
    expect((await damaged.list('/registry/')).items).toHaveLength(50);
    expect(await damaged.currentRevision()).toBe(102);
    await damaged.defragment();
    await damaged.close();
    const repaired = await open();
    expect(repaired.recoveryReport).toMatchObject({ quarantined: [], quarantinedTotal: 1 });
    expect((await repaired.list('/registry/')).items).toHaveLength(50);
    await repaired.close();
  });

  test('several in a row are all named', async () => {
    const { log, at } = await fill(10);
    for (const i of [3, 4, 5]) flip(log, at(i) + 500);
    const store = await open();
    expect(store.recoveryReport.quarantined.map((record) => record.key)).toEqual([3, 4, 5].map(key));
    expect((await store.list('/registry/')).items).toHaveLength(7);
    await store.close();
  });

  test('with unreadable headers is given up with acceptDataLoss, and revisions continue', async () => {
    const { log, at } = await fill(10);
    const handle = openSync(log, 'r+');
    writeSync(handle, Buffer.alloc(at(5) - at(3)), 0, at(5) - at(3), at(3));
    closeSync(handle);
    expect(await refusal()).toMatch(/whose keys are not readable/);
    const size = statSync(log).size;
    const store = await open({ acceptDataLoss: true });
    expect(size).toBe(at(9) + (at(9) - at(8)));
    expect((await store.list('/registry/')).items).toHaveLength(8);
    expect(await store.currentRevision()).toBe(11);
    await store.close();
    expect(await refusal()).toBe('opened');
  });
});
