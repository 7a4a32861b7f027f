import { systemClock } from '@multiplane/component-base';
import { storageConformance } from '../conformance/index.ts';
import { MemoryStorage } from '../memory/memory-storage.ts';
import { openWatchCache } from './open-watch-cache.ts';

storageConformance('watch cache over memory', async () => {
  const cache = openWatchCache(
    {},
    {
      storage: new MemoryStorage({ expiryIntervalMs: 50 }),
      clock: systemClock,
      onError: (error) => {
        throw error;
      },
    },
  );
  await cache.ready;
  return cache;
});
