import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import { createFileStoreAt } from '../file/create-file-store-at.ts';
import { openFileStorage } from '../file/open-file-storage.ts';
import type { Storage, StoredValue } from '../interface.ts';
import { MemoryStorage } from '../memory/memory-storage.ts';
import { restoreSnapshot } from './restore-snapshot.ts';
import { saveSnapshot } from './save-snapshot.ts';
import { SnapshotDecoder } from './snapshot-format.ts';

const key = (i: number): string => `/registry/core/configmaps/root/default/${String(i).padStart(5, '0')}`;
const value = (i: number): Buffer => Buffer.from(`${i}`.repeat(1 + (i % 300)));
const header = { backend: 'test', createdAt: '2026-11-23T08:00:00.000Z', shard: 'root' };

let folder: TempDir;
beforeEach(async () => {
  folder = await TempDir.create('snapshot');
});
afterEach(async () => {
  await folder.remove();
});

async function fill(storage: Storage, keys: number): Promise<void> {
  await Promise.all(Array.from({ length: keys }, (_, i) => storage.create(key(i), value(i))));
}

async function save(storage: Storage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of saveSnapshot(storage, header)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* pieces(bytes: Buffer, size = 1000): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function recordsOf(bytes: Buffer): Promise<StoredValue[]> {
  const decoder = new SnapshotDecoder(pieces(bytes));
  await decoder.header();
  const records: StoredValue[] = [];
  for await (const record of decoder.records()) records.push(record);
  return records.sort((a, b) => (a.key < b.key ? -1 : 1));
}

const textOf = (item: StoredValue): string => `${item.key} ${item.revision} ${item.value.toString()}`;

describe.each(['memory', 'file'])('a snapshot of the store %s', (backend) => {
  const open = async (): Promise<Storage> =>
    backend === 'memory' ? new MemoryStorage() : openFileStorage({ directory: folder.join('source') });

  test('is the state of one revision, whatever is written meanwhile', async () => {
    const storage = await open();
    await fill(storage, 1500);
    const { items, revision } = await storage.list('/registry/');
    const chunks: Buffer[] = [];
    let writes: Promise<unknown> = Promise.resolve();
    for await (const chunk of saveSnapshot(storage, header)) {
      chunks.push(chunk);
      if (chunks.length > 1) continue;
      writes = Promise.all(
        items.map(({ key: at, revision: expected }, i) =>
          i % 2 === 0 ? storage.delete(at, expected) : storage.update(at, Buffer.from('changed'), expected),
        ),
      );
      await storage.create(key(9999), value(1));
    }
    await writes;
    const bytes = Buffer.concat(chunks);
    expect(await new SnapshotDecoder(pieces(bytes)).header()).toEqual({ ...header, revision });
    expect((await recordsOf(bytes)).map(textOf)).toEqual(items.map(textOf));
    await storage.close();
  });

  test('is restored into an embedded store, whose revisions continue after it', async () => {
    const storage = await open();
    await fill(storage, 700);
    const { items, revision } = await storage.list('/registry/');
    const bytes = await save(storage);
    await storage.close();
    const directory = folder.join('target');
    await createFileStoreAt(directory, revision);
    const target = await openFileStorage({ directory });
    expect(await restoreSnapshot(target, pieces(bytes))).toEqual({ header: { ...header, revision }, records: 700 });
    const restored = await target.list('/registry/');
    expect(restored.items.map((item) => [item.key, item.value.toString()])).toEqual(
      items.map((item) => [item.key, item.value.toString()]),
    );
    expect(Math.min(...restored.items.map((item) => item.revision))).toBeGreaterThan(revision);
    await target.close();
    const again = await openFileStorage({ directory });
    expect((await again.list('/registry/')).items).toHaveLength(700);
    await expect(restoreSnapshot(again, pieces(bytes))).rejects.toThrow(/not empty, it has \/registry\/core/);
    await again.close();
  });
});

test('a snapshot that was cut off, changed or continued is refused', async () => {
  const storage = new MemoryStorage();
  await fill(storage, 50);
  const bytes = await save(storage);
  expect(await recordsOf(bytes)).toHaveLength(50);
  for (let kept = 0; kept < bytes.length; kept += 97)
    await expect(recordsOf(bytes.subarray(0, kept))).rejects.toThrow(/the snapshot is not usable/);
  for (let at = 0; at < bytes.length; at += 53) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] as number) ^ 0x04;
    await expect(recordsOf(changed)).rejects.toThrow(/the snapshot is not usable/);
  }
  await expect(recordsOf(Buffer.concat([bytes, Buffer.from('x')]))).rejects.toThrow(/something follows its end/);
});
