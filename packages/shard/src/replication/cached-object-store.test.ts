import { expect, test } from '@jest/globals';
import { silentLogger } from '@multiplane/component-base';
import { MemoryStorage } from '@multiplane/storage';
import { StorageCachedObjectStore } from './cached-object-store.ts';
import { FakeClock } from '@multiplane/testing';

test('stops while the storage does not respond', async () => {
  const clock = new FakeClock();
  const storage = new MemoryStorage();
  const asked = Promise.withResolvers<void>();
  let isClosed = false;
  const silent = {
    ...Object.fromEntries((['create', 'update', 'delete', 'watch'] as const).map((name) => [name, storage[name]])),
    list: () => {
      asked.resolve();
      return new Promise<never>(() => {});
    },
    close: async () => {
      isClosed = true;
    },
  } as unknown as MemoryStorage;
  const store = new StorageCachedObjectStore(
    { shardName: 'here' },
    { open: () => Promise.resolve(silent), clock, logger: silentLogger },
  );
  await store.start();
  await asked.promise;
  await store.stop();
  expect(isClosed).toBe(true);
  expect(clock.timers).toBe(0);
});

test('rejects waiting calls when it stops before it has synced', async () => {
  const clock = new FakeClock();
  const store = new StorageCachedObjectStore(
    { shardName: 'here' },
    { open: () => Promise.reject(new Error('NATS is away')), clock, logger: silentLogger },
  );
  await store.start();
  const asked = Promise.allSettled([store.shards(), store.sweep('gone')]);
  await store.stop();
  expect(await asked).toEqual([
    { status: 'rejected', reason: new Error('stopped') },
    { status: 'rejected', reason: new Error('stopped') },
  ]);
  expect(clock.timers).toBe(0);
});
