import { writeFile } from 'node:fs/promises';
import { RestTransport } from '@multiplane/client';
import { cacheKey, cacheResourcePrefix, RemoteStorage, type WatchBatch } from '@multiplane/storage';
import { FakeClock, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { embedCacheServer } from './embed.ts';

let folder: TempDir;
let shard: InProcessShard;
let transport: RestTransport;
let store: RemoteStorage;

const exportsKind = { group: 'apis.kcp.io', resource: 'apiexports' };
const prefixOf = (name: string): string => cacheResourcePrefix(exportsKind, name);
const keyOf = (name: string, of = 'shard-1'): string =>
  cacheKey(exportsKind, { shard: of, cluster: 'abc' as never, namespace: '', name });
const bytes = (text: string): Buffer => Buffer.from(text);
const remote = (as: string): RemoteStorage => {
  transport?.close();
  transport = new RestTransport({ config: { server: shard.transport.origin, insecure: true, token: as } });
  return new RemoteStorage({ pathPrefix: '/services/cache' }, { transport, clock: new FakeClock() });
};

beforeAll(async () => {
  folder = await TempDir.create('storage-endpoint');
  const tokens = folder.join('tokens.csv');
  await writeFile(tokens, 'masters,admin,1,"system:masters"\ntenant,user-1,2,"team-1"\n');
  shard = await InProcessShard.start(['--storage-backend=memory', `--token-auth-file=${tokens}`], undefined, [
    embedCacheServer({ version: 'test', storage: 'memory' }),
  ]);
  store = remote('masters');
}, 120_000);
afterAll(async () => {
  transport?.close();
  await shard[Symbol.asyncDispose]();
  await folder.remove();
});

test('a write is a compare-and-set, and values are any bytes', async () => {
  const key = keyOf('written');
  const value = Buffer.from([0, 10, 13, 255, 123, 10]);
  const first = await store.create(key, value);
  await expect(store.create(key, value)).rejects.toMatchObject({ name: 'StorageError', code: 'KeyExists' });
  await expect(store.update(key, value, first + 1)).rejects.toMatchObject({ code: 'RevisionConflict' });
  const second = await store.update(key, bytes('two'), first);
  expect(second).toBeGreaterThan(first);
  await expect(store.delete(key, first)).rejects.toMatchObject({ code: 'RevisionConflict' });
  const third = await store.delete(key, second);
  expect(third).toBeGreaterThan(second);
  await expect(store.check()).resolves.toBeUndefined();
});

test('a list has pages, and a value larger than a chunk of the connection', async () => {
  const large = Buffer.alloc(1_500_000, 'x\n');
  for (const name of ['a', 'b', 'c']) await store.create(keyOf(name, 'listed'), name === 'b' ? large : bytes(name));
  const first = await store.list(prefixOf('listed'), { limit: 2 });
  expect(first.items.map(({ key }) => key)).toEqual([keyOf('a', 'listed'), keyOf('b', 'listed')]);
  expect(first.items[1]?.value.equals(large)).toBe(true);
  expect(first.remaining).toBe(1);
  const rest = await store.list(prefixOf('listed'), { from: `${keyOf('b', 'listed')}\0` });
  expect(rest.items.map(({ value }) => value.toString())).toEqual(['c']);
});

test('a watch delivers each change after a revision, and ends with its signal', async () => {
  const { revision: after } = await store.list(prefixOf('watched'));
  const stop = new AbortController();
  const batches: WatchBatch[] = [];
  const watching = (async () => {
    for await (const batch of store.watch(prefixOf('watched'), { after, signal: stop.signal })) {
      batches.push(batch);
      if (batches.flatMap(({ events }) => events).length === 3) stop.abort();
    }
  })();
  const created = await store.create(keyOf('x', 'watched'), bytes('one'));
  await store.create(keyOf('x', 'another'), bytes('not this one'));
  const updated = await store.update(keyOf('x', 'watched'), bytes('two'), created);
  const deleted = await store.delete(keyOf('x', 'watched'), updated);
  await watching;
  const events = batches.flatMap((batch) => batch.events);
  expect(events.map(({ type, revision, created: isNew }) => [type, revision, isNew])).toEqual([
    ['put', created, true],
    ['put', updated, false],
    ['delete', deleted, false],
  ]);
  expect(events.map(({ value }) => value?.toString())).toEqual(['one', 'two', undefined]);
});

test.each(['/registry/core/secrets/root/default/x', '/cache/apis.kcp.io/apiexports', ''])(
  'the key %j is none of a cached object',
  async (key) => {
    await expect(store.create(key, bytes('x'))).rejects.toThrow(/status 400: .*must be the key of a cached object/);
  },
);

test('a prefix outside of the cached objects is refused', async () => {
  await expect(store.list('/registry/')).rejects.toThrow(/status 400: .*must be a prefix of cached objects/);
});

test('without system:masters nothing is read or written', async () => {
  const tenant = remote('tenant');
  await expect(tenant.list(prefixOf('listed'))).rejects.toThrow(/status 403/);
  await expect(tenant.create(keyOf('y'), bytes('y'))).rejects.toThrow(/status 403/);
});

test('a server that cannot be reached is Unavailable: nothing was carried out', async () => {
  const closed = new RestTransport({ config: { server: 'https://127.0.0.1:1', insecure: true } });
  const gone = new RemoteStorage({ pathPrefix: '/services/cache' }, { transport: closed, clock: new FakeClock() });
  await expect(gone.create(keyOf('z'), bytes('z'))).rejects.toMatchObject({ code: 'Unavailable' });
  closed.close();
});
