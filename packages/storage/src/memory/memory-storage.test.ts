import { expect, test } from '@jest/globals';
import { storageConformance } from '../../test/conformance/index.ts';
import { MemoryStorage } from './memory-storage.ts';

storageConformance('memory', async () => new MemoryStorage({ expiryIntervalMs: 50 }), { modelRuns: 300 });

test('keys expire by the clock that was given', async () => {
  let now = 1000;
  const store = new MemoryStorage({ now: () => now, expiryIntervalMs: 0 });
  await store.create('/a', Buffer.from('1'), { ttlSeconds: 60 });
  now += 59_999;
  store.expire();
  expect(await store.get('/a')).toBeDefined();
  now += 1;
  store.expire();
  expect(await store.get('/a')).toBeUndefined();
  await store.close();
});
