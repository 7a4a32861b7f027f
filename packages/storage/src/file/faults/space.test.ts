import { expect, test } from '@jest/globals';
import { eventually, TempDir } from '@multiplane/testing';
import { openFileStorage } from '../open-file-storage.ts';
import { dataFiles } from '../../../test/file/data-files.ts';

const value = Buffer.alloc(1024, 'x');

test('20 × 1,000 created and deleted objects leave files of at most twice the live bytes', async () => {
  await using tempDir = await TempDir.create('space');
  const store = await openFileStorage({ directory: tempDir.path });
  const live = Array.from({ length: 1000 }, (_, i) => `/registry/core/configmaps/live/default/${i}`);
  await Promise.all(live.map((key) => store.create(key, value)));
  for (let round = 0; round < 20; round++) {
    const names = Array.from({ length: 1000 }, (_, i) => `/registry/core/configmaps/churn/default/${round}-${i}`);
    const revisions = await Promise.all(names.map((key) => store.create(key, value)));
    await Promise.all(names.map((key, i) => store.delete(key, revisions[i] as number)));
  }
  const grown = dataFiles(tempDir.path).bytes;
  const revision = await store.currentRevision();
  await store.compact(revision);
  const liveBytes = live.reduce((sum, key) => sum + key.length + value.length, 0);
  const { bytes: size } = dataFiles(tempDir.path);
  expect(grown).toBeGreaterThan(10 * liveBytes);
  expect(size).toBeLessThanOrEqual(2 * liveBytes);

  expect((await store.list('/registry/')).items).toHaveLength(1000);
  expect(await store.create('/registry/next', value)).toBe(revision + 1);
  await store.close();
  const again = await openFileStorage({ directory: tempDir.path });
  expect((await again.list('/registry/')).items).toHaveLength(1001);
  expect(await again.currentRevision()).toBe(revision + 1);
  await again.close();
});

test('reads, watches and writes continue during segment compaction', async () => {
  await using tempDir = await TempDir.create('space');
  const store = await openFileStorage({ directory: tempDir.path });
  const keys = Array.from({ length: 3000 }, (_, i) => `/registry/a/${i}`);
  const revisions = await Promise.all(keys.map((key) => store.create(key, value)));
  await Promise.all(keys.slice(10).map((key, i) => store.delete(key, revisions[i + 10] as number)));
  const start = await store.currentRevision();

  const before = dataFiles(tempDir.path);
  const compacted = new AbortController();
  const compaction = store.compact(start).finally(() => compacted.abort());
  let written = 0;
  while (!compacted.signal.aborted) {
    const revision = await store.create(`/registry/b/${written++}`, value);
    const [found, list] = await Promise.all([store.get(`/registry/b/${written - 1}`), store.list('/registry/')]);
    expect(found?.revision).toBe(revision);
    expect(list.items).toHaveLength(10 + written);
  }
  await compaction;
  const after = dataFiles(tempDir.path);
  expect(after.names.some((name) => name.endsWith('.base'))).toBe(true);
  expect(after.bytes).toBeLessThan(before.bytes / 2);

  const seen: number[] = [];
  for await (const { events } of store.watch('/', { after: start, signal: new AbortController().signal })) {
    seen.push(...events.map((event) => event.revision));
    if (seen.length === written) break;
  }
  expect(seen).toEqual(Array.from({ length: written }, (_, i) => start + 1 + i));
  await store.close();
});

test('history is trimmed by age and by size automatically', async () => {
  await using tempDir = await TempDir.create('space');
  let now = 1_000_000;
  const store = await openFileStorage({
    directory: tempDir.path,
    now: () => now,
    historyMs: 1000,
    historyBytes: 3 << 20,
  });
  let revision = await store.create('/registry/a', value);
  const first = revision;
  revision = await store.update('/registry/a', value, revision);
  await eventually(async () => {
    now += 500;
    await expect(store.list('/', { revision: first })).rejects.toMatchObject({ code: 'Compacted' });
  });

  // Within the second, but over the byte limit: the newest part is kept.
  const begin = revision;
  for (let i = 0; i < 200; i++) revision = await store.update('/registry/a', Buffer.alloc(100_000, 'y'), revision);
  await eventually(async () => {
    await expect(store.list('/', { revision: begin })).rejects.toMatchObject({ code: 'Compacted' });
  });
  expect((await store.list('/', { revision: revision - 5 })).items).toHaveLength(1);
  await store.close();
});

test('keys that expired while the store was closed are deleted after opening, with events', async () => {
  await using tempDir = await TempDir.create('space');
  let now = 1_000_000;
  const options = { directory: tempDir.path, now: () => now };
  const first = await openFileStorage(options);
  await first.create('/registry/a', value, { ttlSeconds: 60 });
  const revision = await first.create('/registry/b', value, { ttlSeconds: 600 });
  await first.close();
  now += 61_000;
  const second = await openFileStorage(options);
  await eventually(async () => expect(await second.get('/registry/a')).toBeUndefined());
  expect(await second.get('/registry/b')).toBeDefined();
  for await (const { events } of second.watch('/', { after: revision, signal: new AbortController().signal })) {
    expect(events).toMatchObject([{ type: 'delete', key: '/registry/a', revision: revision + 1 }]);
    break;
  }
  await second.close();
});
