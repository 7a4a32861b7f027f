import { afterAll } from '@jest/globals';
import { systemClock } from '@multiplane/component-base';
import { TempDir } from '@multiplane/testing';
import { storageConformance } from '../../test/conformance/index.ts';
import { openFileStorage } from '../file/open-file-storage.ts';
import { cacheIndexConformance } from '../../test/conformance/indexes.ts';
import type { Storage } from '../interface.ts';
import { MemoryStorage } from '../memory/memory-storage.ts';
import type { BackedWatchCache } from './watch-cache.ts';
import { openWatchCache } from './open-watch-cache.ts';
import { ScriptedBackend } from '../../test/cacher/scripted-backend.ts';

async function cached(storage: Storage, onClose?: () => Promise<void>): Promise<Storage> {
  const errors: unknown[] = [];
  const cache = openWatchCache({}, { storage, clock: systemClock, onError: (error) => errors.push(error) });
  const close = cache.close.bind(cache);
  cache.close = async () => {
    await close();
    await onClose?.();
    if (errors.length > 0) throw new AggregateError(errors, 'the cache met errors');
  };
  await cache.ready;
  return cache;
}

storageConformance('watch cache over memory', () => cached(new MemoryStorage({ expiryIntervalMs: 50 })));

// Without its local revision, memory behaves like a store with other writers.
storageConformance('watch cache over a store with other writers', () => cached(new ScriptedBackend(50)));

storageConformance(
  'watch cache over file',
  async () => {
    const folder = await TempDir.create('watch-cache');
    return await cached(await openFileStorage({ directory: folder.path }), () => folder.remove());
  },
  { modelRuns: 20 },
);

const withoutReports = async (storage: Storage): Promise<BackedWatchCache> => {
  const cache = openWatchCache({}, { storage, clock: systemClock, onError: () => undefined });
  await cache.ready;
  return cache;
};

cacheIndexConformance('over memory', () => withoutReports(new MemoryStorage()));
cacheIndexConformance('over a store with other writers', () => withoutReports(new ScriptedBackend()));

let folder: TempDir | undefined;
afterAll(async () => {
  await folder?.remove();
});
let stores = 0;
cacheIndexConformance('over file', async () => {
  folder ??= await TempDir.create('watch-cache');
  return await withoutReports(await openFileStorage({ directory: `${folder.path}/${stores++}` }));
});
