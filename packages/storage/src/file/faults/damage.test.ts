import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import {
  appendFileSync,
  openSync,
  closeSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { eventsUpTo } from '../../conformance/events-up-to.ts';
import { openFileStorage } from '../open-file-storage.ts';
import { empty, openTables } from '../tables.ts';

const page = 4096;
const key = (i: number): string => `/registry/core/configmaps/${i}`;

let folder: TempDir;
let file: string;
beforeEach(async () => {
  folder = await TempDir.create('damage');
  file = folder.join('store.mdb');
});
afterEach(async () => {
  await folder.remove();
});

/** A store with keys 0…n-1, each from a commit of its own, closed. */
async function fill(keys: number): Promise<number> {
  const store = await openFileStorage({ directory: folder.path });
  for (let i = 0; i < keys; i++) await store.create(key(i), Buffer.alloc(2000, String(i % 10)));
  const revision = await store.currentRevision();
  await store.close();
  return revision;
}

/** The content after opening: number of keys and revision, checked against the history. */
async function reopen(): Promise<{ keys: number; revision: number; repaired: string | undefined }> {
  const store = await openFileStorage({ directory: folder.path });
  const { items, revision } = await store.list('/registry/');
  for (const [i, item] of items
    .map((item) => Number(item.key.split('/').at(-1)))
    .sort((a, b) => a - b)
    .entries()) {
    expect(item).toBe(i);
  }
  const events = await eventsUpTo(store, '/', 1, revision);
  expect(events.filter((event) => event.key !== '/registry/next')).toHaveLength(items.length);
  const next = await store.create('/registry/next', Buffer.from('x'));
  expect(next).toBe(revision + 1);
  await store.delete('/registry/next', next);
  const { repaired } = store;
  await store.close();
  return { keys: items.length, revision, repaired };
}

function overwrite(at: number, bytes: Buffer): void {
  const handle = openSync(file, 'r+');
  writeSync(handle, bytes, 0, bytes.length, at);
  closeSync(handle);
}

/** Which of the two roots is the newer one. */
function newestRoot(): number {
  const bytes = readFileSync(file);
  return bytes.readBigUInt64LE(152) > bytes.readBigUInt64LE(page + 152) ? 0 : 1;
}

describe('R11: torn and damaged files', () => {
  test('pages of a commit that was cut short before its root are ignored', async () => {
    const revision = await fill(20);
    // A commit writes its pages first; here the power went before the root followed.
    appendFileSync(file, Buffer.alloc(5 * page + 1234, 0xaa));
    expect(await reopen()).toEqual({ keys: 20, revision, repaired: undefined });
  });

  test.each(['garbage', 'zeros'])('a root that was torn (%s) is replaced by the one before', async (what) => {
    const revision = await fill(20);
    const root = newestRoot();
    overwrite(root * page, Buffer.alloc(200, what === 'zeros' ? 0 : 0x5a));
    // The torn root belonged to a commit that nobody was told of, so the store is one write behind the last.
    const found = await reopen();
    expect(found.keys).toBeGreaterThanOrEqual(19);
    expect(found.revision).toBeGreaterThanOrEqual(revision - 1);
    expect(found.repaired).toContain('one of its two roots was damaged');
    expect((await reopen()).repaired).toBeUndefined();
  });

  test('a file without the pages of its newest root goes back to the one before when that is whole', async () => {
    await fill(20);
    const bytes = readFileSync(file);
    const newest = newestRoot();
    // As if the file system had kept the root and lost the last page.
    const last = Number(bytes.readBigUInt64LE((1 - newest) * page + 144));
    overwrite(newest * page + 144, integer(last + 50));
    const found = await reopen();
    expect(found.keys).toBeGreaterThanOrEqual(19);
    expect(found.repaired).toContain('its end was missing');
  });

  test('a file that was cut short is refused, with its name and what to do, again and again', async () => {
    await fill(50);
    truncateSync(file, Math.floor(statSync(file).size / 2));
    for (let attempt = 0; attempt < 3; attempt++) {
      const refused = openFileStorage({ directory: folder.path });
      await expect(refused).rejects.toMatchObject({ code: 'Unusable' });
      await expect(refused).rejects.toThrow(/store\.mdb has \d+ bytes but its content needs \d+: .*backup/);
    }
  });

  test.each([
    ['both roots are garbage', (): void => overwrite(0, Buffer.alloc(2 * page, 0x5a))],
    ['something else', (): void => writeFileSync(file, 'this is not a store\n'.repeat(1000))],
    ['a stump', (): void => truncateSync(file, 100)],
  ])('%s is refused, not overwritten', async (_, damage) => {
    await fill(3);
    damage();
    const before = readFileSync(file);
    await expect(openFileStorage({ directory: folder.path })).rejects.toMatchObject({ code: 'Unusable' });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('an empty file is an empty store', async () => {
    writeFileSync(file, '');
    expect(await reopen()).toMatchObject({ keys: 0, revision: 1 });
  });

  test('data of another format is refused', async () => {
    const tables = openTables(file);
    await tables.meta.put('format', empty, 99);
    await tables.root.close();
    const refused = openFileStorage({ directory: folder.path });
    await expect(refused).rejects.toMatchObject({ code: 'Unusable' });
    await expect(refused).rejects.toThrow('is of format 99');
  });
});

function integer(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
