import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '@multiplane/component-base';
import { TempDir } from '@multiplane/testing';
import { closeSync, openSync, readFileSync, truncateSync, unlinkSync, writeSync } from 'node:fs';
import { dataFiles } from '../../../test/file/data-files.ts';
import { EndRecorder, readAcknowledgedEnd, type AcknowledgedEnd } from '../acknowledged-end.ts';
import type { FileStorage } from '../file-storage.ts';
import { openFileStorage } from '../open-file-storage.ts';
import { encodeWrite, isIntact, readRecordHeader, recordLength, type NewRecord } from '../record.ts';

/*
 * The number of a write outgrows 32 bits. A store gets there by its recorded end, which names the last write.
 */

const border = 2 ** 32;
const key = (i: number): string => `/registry/core/configmaps/${i}`;
const value = (i: number): Buffer => Buffer.alloc(500, String(i % 10));

let folder: TempDir;
beforeEach(async () => {
  folder = await TempDir.create('write-number');
});
afterEach(async () => {
  await folder.remove();
});

const open = (): Promise<FileStorage> => openFileStorage({ directory: folder.path, minIndexSnapshotBytes: 1 });
const endOf = async (): Promise<AcknowledgedEnd> => (await readAcknowledgedEnd(folder.path)) as AcknowledgedEnd;

/** A closed store with one key, whose next write has this number. */
async function storeAt(next: number): Promise<void> {
  const store = await open();
  await store.create(key(0), value(0));
  await store.close();
  await new EndRecorder(folder.path, { ...(await endOf()), write: next - 1 }, { clock: systemClock }).close();
  unlinkSync(folder.join('keys'));
}

async function keysOf(store: FileStorage): Promise<string[]> {
  return (await store.list('/registry/')).items.map((item) => `${item.key} ${item.value.toString('latin1', 0, 1)}`);
}

/** The numbers of the writes in the log. */
function writesInLog(): { readonly at: number; readonly write: number; readonly marker: number }[] {
  const name = dataFiles(folder.path).names.findLast((each) => each.endsWith('.log')) as string;
  const bytes = readFileSync(folder.join(name));
  const found: { at: number; write: number; marker: number }[] = [];
  for (let at = 64; at < bytes.length;) {
    const header = readRecordHeader(bytes, at);
    if (header === undefined) throw new Error(`no record at ${at}`);
    found.push({ at, write: header.write, marker: bytes[at + 19] as number });
    at += recordLength(header);
  }
  return found;
}
const logPath = (): string =>
  folder.join(dataFiles(folder.path).names.findLast((each) => each.endsWith('.log')) as string);

describe('a store whose writes pass 2^32', () => {
  test.each([
    ['with the key index snapshot', false],
    ['by a replay of all records', true],
  ])('keeps everything over restarts, %s', async (_, replay) => {
    await storeAt(border - 2);
    const store = await open();
    for (let i = 1; i < 6; i++) await store.create(key(i), value(i));
    const revision = await store.currentRevision();
    await store.close();
    expect((await endOf()).write).toBe(border + 2);
    expect(writesInLog().map(({ write, marker }) => [write, marker])).toEqual([
      [1, 0xa7],
      [border - 2, 0xa7],
      [border - 1, 0xa7],
      [border, 0xa8],
      [border + 1, 0xa8],
      [border + 2, 0xa8],
    ]);
    if (replay) unlinkSync(folder.join('keys'));
    const again = await open();
    expect(again.recoveryReport).toMatchObject({ quarantined: [], losses: [], truncated: undefined });
    expect(await keysOf(again)).toEqual([0, 1, 2, 3, 4, 5].map((i) => `${key(i)} ${i}`));
    expect(await again.create(key(6), value(6))).toBeGreaterThan(revision);
    await again.close();
    expect(writesInLog().at(-1)?.write).toBe(border + 3);
    await (await open()).close();
  });

  test('a torn write after the border is truncated, a damaged one before the last is not taken for torn', async () => {
    await storeAt(border - 1);
    const store = await open();
    for (let i = 1; i < 5; i++) await store.create(key(i), value(i));
    await store.close();
    const writes = writesInLog();
    unlinkSync(folder.join('keys'));
    // Without the recorded end only the numbers tell a torn write from damage: those after the border must be the later ones.
    unlinkSync(folder.join('end'));
    const damagedAt = (writes[1] as { at: number }).at + 100;
    const file = openSync(logPath(), 'r+');
    writeSync(file, Buffer.from('damage'), 0, 6, damagedAt);
    closeSync(file);
    const quarantined = await open();
    expect(quarantined.recoveryReport.quarantined.map((record) => record.key)).toEqual([key(1)]);
    expect(await keysOf(quarantined)).toEqual([0, 2, 3, 4].map((i) => `${key(i)} ${i}`));
    await quarantined.close();
  });

  test('a torn last write after the border is truncated', async () => {
    await storeAt(border - 1);
    const store = await open();
    for (let i = 1; i < 4; i++) await store.create(key(i), value(i));
    await store.close();
    const last = writesInLog().at(-1) as { at: number };
    unlinkSync(folder.join('keys'));
    unlinkSync(folder.join('end'));
    truncateSync(logPath(), last.at + 200);
    const again = await open();
    expect(again.recoveryReport.truncated).toMatch(/truncated/);
    expect(await keysOf(again)).toEqual([0, 1, 2].map((i) => `${key(i)} ${i}`));
    await again.close();
  });
});

describe('a record', () => {
  const record: NewRecord = {
    kind: 'create',
    key: key(1),
    value: value(1),
    revision: 2 ** 52,
    expiresAt: 1.8e12 + 0.25,
  };
  test.each([1, border - 1, border, border + 1, 2 ** 48 - 1])('of write %d is read as it was written', (write) => {
    const bytes = encodeWrite([record, { ...record, expiresAt: undefined }], write, 7);
    const header = readRecordHeader(bytes, 0);
    const { kind, revision } = record;
    expect(header).toMatchObject({ kind, revision, write, remainingBytes: bytes.length });
    // Never earlier than asked for.
    expect((header?.expiresAt as number) - (record.expiresAt as number)).toBeGreaterThanOrEqual(0);
    expect((header?.expiresAt as number) - (record.expiresAt as number)).toBeLessThan(1);
    const length = bytes.length / 2;
    expect([isIntact(bytes, 0, length, 7), isIntact(bytes, length, length, 7)]).toEqual([true, true]);
    expect(readRecordHeader(bytes, length)).toMatchObject({ write, expiresAt: undefined });
  });

  test('beyond 2^48 writes is refused', () => {
    expect(() => encodeWrite([record], 2 ** 48, 7)).toThrow(/48 bits/);
  });
});
