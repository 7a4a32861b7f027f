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
