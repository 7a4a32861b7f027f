import { afterEach, expect, test } from '@jest/globals';
import { FakeClock, systemClock } from '@multiplane/component-base';
import {
  MemoryStorage,
  openFileStorage,
  openWatchCache,
  StorageUnavailableError,
  type Storage,
} from '@multiplane/storage';
import { TempDir } from '@multiplane/testing';
import { Pipeline } from '../pipeline-fixture.ts';
import { DecodedObjects } from '../registry/decoded-objects.ts';
import { ObjectReader } from '../registry/object-reader.ts';
import { CacheInformer } from './cache-informer.ts';
import { CacheSubscription } from './cache-subscription.ts';

let pipeline: Pipeline | undefined;
afterEach(async () => {
  await pipeline?.close();
});

test('gives up when the cache is closed before all is told: a server that stops while it starts must end', async () => {
  pipeline = await Pipeline.open();
  const keys: string[] = [];
  const subscription = new CacheSubscription(
    { scope: '/registry/' },
    { cache: pipeline.cache, follower: { changed: ({ key }) => void keys.push(key), removed: () => undefined } },
  );
  const closed = pipeline.cache.close();
  await subscription.synced;
  // Told once, not again and again.
  expect(new Set(keys).size).toBe(keys.length);
  await closed;
});

test('what is left to tell when the cache is closed is not told', async () => {
  const storage = new MemoryStorage();
  for (let i = 0; i < 1000; i++) await storage.create(`/registry/core/configmaps/c/d/${i}`, Buffer.from('{}'));
  const cache = openWatchCache({}, { storage, clock: new FakeClock(), onError: () => {} });
  let told = 0;
  let closed: Promise<void> | undefined;
  const subscription = new CacheSubscription(
    { scope: '/registry/' },
    {
      cache,
      follower: {
        changed: () => {
          told++;
          closed ??= cache.close();
          // Longer than a slice, so that others get their turn after each hundred.
          const end = performance.now() + (told % 100 === 0 ? 20 : 0);
          while (performance.now() < end);
        },
        removed: () => undefined,
      },
    },
  );
  await subscription.synced;
  await closed;
  expect(told).toBe(100);
  expect(subscription.closed).toBe(true);
});

test('a cache that is closed before it was loaded is no fault, and nothing counts as told', async () => {
  const storage: Storage = new MemoryStorage();
  const answer = Promise.withResolvers<never>();
  storage.list = () => answer.promise;
  const cache = openWatchCache({}, { storage, clock: new FakeClock(), onError: () => {} });
  const reader = new ObjectReader({ decoded: new DecodedObjects({ maxBytes: 1024 }) });
  const told: string[] = [];
  new CacheInformer({ prefix: '/registry/core/configmaps/', definition: undefined }, { cache, reader }).addHandlers({
    synced: () => told.push('synced'),
  });
  const subscription = new CacheSubscription(
    { scope: '/registry/' },
    { cache, follower: { changed: () => undefined, removed: () => undefined } },
  );
  const closed = cache.close();
  answer.reject(new StorageUnavailableError('closed'));
  await subscription.synced;
  await closed;
  expect(subscription.closed).toBe(true);
  expect(told).toEqual([]);
});

test('very many are told when their values are in memory, few at once; a cache that closes before tells nothing', async () => {
  await using folder = await TempDir.create('cache-subscription');
  // As a store beyond 32 MiB is opened.
  const options = { directory: folder.path, wholeBelowBytes: 0 };
  const first = await openFileStorage(options);
  const many = Array.from({ length: 20_001 }, (_, i) => `/registry/core/configmaps/c/d/${i}`);
  const few = ['/registry/core/secrets/c/d/1', '/registry/core/secrets/c/d/2'];
  await Promise.all([...many, ...few].map((key) => first.create(key, Buffer.from('{}'))));
  await first.close();
  const open = async (): Promise<{
    told: string[];
    synced: Promise<void>[];
    fill: () => void;
    close: () => Promise<void>;
  }> => {
    const storage = await openFileStorage(options);
    const gate = Promise.withResolvers<void>();
    const cache = openWatchCache({}, { storage, clock: systemClock, onError: () => {}, whenToFill: gate.promise });
    const told: string[] = [];
    const follower = { changed: ({ key }: { readonly key: string }) => void told.push(key), removed: () => undefined };
    const synced = ['/registry/core/secrets/', '/registry/core/configmaps/'].map(
      (scope) => new CacheSubscription({ scope }, { cache, follower }).synced,
    );
    return { told, synced, fill: gate.resolve, close: () => cache.close() };
  };
  const one = await open();
  await one.synced[0];
  expect(one.told).toEqual(few);
  one.fill();
  await one.synced[1];
  expect(one.told.slice(2).sort()).toEqual(many.sort());
  await one.close();
  const other = await open();
  await other.synced[0];
  await other.close();
  await other.synced[1];
  expect(other.told).toEqual(few);
});
