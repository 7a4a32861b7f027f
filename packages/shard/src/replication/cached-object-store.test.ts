import { expect, test } from '@jest/globals';
import { FakeClock, silentLogger } from '@multiplane/component-base';
import { MemoryStorage } from '@multiplane/storage';
import { StorageReplicaStore } from './storage-replica-store.ts';

test('a store that does not answer does not keep what follows it from ending', async () => {
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
  const store = new StorageReplicaStore(
    { shardName: 'here' },
    { open: () => Promise.resolve(silent), clock, logger: silentLogger },
  );
  await store.start();
  await asked.promise;
  await store.stop();
  expect(isClosed).toBe(true);
  expect(clock.timers).toBe(0);
});

test('who waits for replicas that were never read is not kept waiting when it ends', async () => {
  const clock = new FakeClock();
  const store = new StorageReplicaStore(
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
