import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { builtInPrefix, openFileStorage } from '@multiplane/storage';
import { TempDir } from '@multiplane/testing';
import { adoptAuthorities, readRecord, resized, wantedShards, writeRecord } from './root-directory.ts';

let folder: TempDir;
beforeEach(async () => {
  folder = await TempDir.create('root-directory');
});
afterEach(() => folder.remove());

const three = { shards: ['root', 'shard-1', 'shard-2'], removed: [] };

async function store(shard: string, ...clusters: string[]): Promise<void> {
  const storage = await openFileStorage({ directory: folder.join(shard, 'data') });
  for (const cluster of clusters)
    await storage.create(`${builtInPrefix('core.kcp.io', 'logicalclusters')}${cluster}/cluster`, Buffer.from('{}'));
  await storage.close();
}

test('the number of shards is that of the flag, else what there is', () => {
  expect(wantedShards('3', undefined)).toBe(3);
  expect(wantedShards(undefined, 2)).toBe(2);
  expect(wantedShards(undefined, undefined)).toBeUndefined();
  expect(wantedShards('auto', 60)).toBe(60);
  expect(wantedShards('auto', undefined)).toBeGreaterThan(0);
});

test.each(['0', '65', '-1', '2.5', 'two', ''])('--shards=%s is refused', (text) => {
  expect(() => wantedShards(text, undefined)).toThrow(/--shards must be auto or a number between 1 and 64/);
});

test('a record is read as it was written; there is none in a folder of one process', async () => {
  expect(readRecord(folder.path)).toBeUndefined();
  await writeRecord(folder.join('new'), three);
  expect(readRecord(folder.join('new'))).toEqual(three);
});

test('growing adds shards behind those that there are', async () => {
  expect(await resized(folder.path, { shards: ['root'], removed: [] }, 3)).toEqual(three);
});

test('a shard that was taken away and is added again is not deleted', async () => {
  expect(await resized(folder.path, { shards: ['root'], removed: ['shard-1'] }, 2)).toEqual({
    shards: ['root', 'shard-1'],
    removed: [],
  });
});

test('shrinking takes the last shards away when only their own logical clusters are left', async () => {
  await store('shard-1', 'system:admin', 'team-a');
  await store('shard-2', 'system:admin', 'system:bound-crds');
  expect(await resized(folder.path, three, 2)).toEqual({ shards: ['root', 'shard-1'], removed: ['shard-2'] });
  await expect(resized(folder.path, three, 1)).rejects.toThrow(
    '--shards=1 would take shard-1 away, which has 1 logical cluster: start with --shards=3, delete its workspaces or restore snapshots of them elsewhere (multiplane snapshot), and stop before you start with fewer shards',
  );
});

test('a shard whose store is in use is not taken away', async () => {
  const storage = await openFileStorage({ directory: folder.join('shard-2', 'data') });
  await expect(resized(folder.path, three, 2)).rejects.toThrow(/in use|another process/);
  await storage.close();
});

test('authorities of one process are adopted once, and never replace those of the PKI', async () => {
  writeFileSync(folder.join('ca.crt'), 'serving');
  writeFileSync(folder.join('ca.key'), 'key');
  writeFileSync(folder.join('sa.key'), 'tokens');
  await adoptAuthorities(folder.path, folder.join('pki'));
  expect(readFileSync(folder.join('pki', 'serving-ca.crt'), 'utf8')).toBe('serving');
  expect(readFileSync(folder.join('pki', 'service-account.key'), 'utf8')).toBe('tokens');
  writeFileSync(folder.join('ca.crt'), 'another');
  await adoptAuthorities(folder.path, folder.join('pki'));
  expect(readFileSync(folder.join('pki', 'serving-ca.crt'), 'utf8')).toBe('serving');
});
