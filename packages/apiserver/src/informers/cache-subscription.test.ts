import { afterEach, expect, test } from '@jest/globals';
import {
  CompactedError,
  MemoryStorage,
  openFileStorage,
  openWatchCache,
  StorageUnavailableError,
  type CacheEntry,
  type CacheEvent,
  type CacheSnapshot,
  type Storage,
  type SubscribeOptions,
  type WatchCache,
} from '@multiplane/storage';
import { FakeClock, eventLoopIdle, TempDir } from '@multiplane/testing';
import fc from 'fast-check';
import { Pipeline } from '../../test/pipeline.ts';
import { DecodedObjects } from '../registry/store/decoded-objects.ts';
import { ObjectReader } from '../registry/store/object-reader.ts';
import { CacheInformer } from './cache-informer.ts';
import { type CacheEventHandler, CacheSubscription } from './cache-subscription.ts';

let pipeline: Pipeline | undefined;
afterEach(async () => {
  await pipeline?.close();
});

test('ends the initial list when the cache is closed, so that a starting server can stop', async () => {
  pipeline = await Pipeline.open();
  const keys: string[] = [];
  const subscription = new CacheSubscription(
    { scope: '/registry/' },
    { cache: pipeline.cache, handler: { changed: ({ key }) => void keys.push(key), removed: () => undefined } },
  );
  const closed = pipeline.cache.close();
  await subscription.synced;
  // Delivered once.
  expect(new Set(keys).size).toBe(keys.length);
  await closed;
});

test('the rest of the initial list is not delivered after the cache is closed', async () => {
  const storage = new MemoryStorage();
  for (let i = 0; i < 1000; i++) await storage.create(`/registry/core/configmaps/c/d/${i}`, Buffer.from('{}'));
  const cache = openWatchCache({}, { storage, clock: new FakeClock(), onError: () => {} });
  let delivered = 0;
  let closed: Promise<void> | undefined;
  const subscription = new CacheSubscription(
    { scope: '/registry/' },
    {
      cache,
      handler: {
        changed: () => {
          delivered++;
          closed ??= cache.close();
          // Longer than a time slice, so that the subscription yields.
          const end = performance.now() + 20;
          while (performance.now() < end);
        },
        removed: () => undefined,
      },
    },
  );
  await subscription.synced;
  await closed;
  expect(delivered).toBe(1);
  expect(subscription.closed).toBe(true);
});

test('a cache that is closed before it was loaded is not an error, and does not count as synced', async () => {
  const storage: Storage = new MemoryStorage();
  const answer = Promise.withResolvers<never>();
  storage.list = () => answer.promise;
  const cache = openWatchCache({}, { storage, clock: new FakeClock(), onError: () => {} });
  const reader = new ObjectReader({ decoded: new DecodedObjects({ maxBytes: 1024 }) });
  const delivered: string[] = [];
  new CacheInformer({ prefix: '/registry/core/configmaps/', definition: undefined }, { cache, reader }).addHandlers({
    synced: () => delivered.push('synced'),
  });
  const subscription = new CacheSubscription(
    { scope: '/registry/' },
    { cache, handler: { changed: () => undefined, removed: () => undefined } },
  );
  const closed = cache.close();
  answer.reject(new StorageUnavailableError('closed'));
  await subscription.synced;
  await closed;
  expect(subscription.closed).toBe(true);
  expect(delivered).toEqual([]);
});

test('a long initial list waits until all values are in memory; if the cache closes before, nothing is delivered', async () => {
  await using folder = await TempDir.create('cache-subscription');
  // As for a store above 32 MiB.
  const options = { directory: folder.path, minIndexSnapshotBytes: 0 };
  const first = await openFileStorage(options);
  const many = Array.from({ length: 20_001 }, (_, i) => `/registry/core/configmaps/c/d/${i}`);
  const few = ['/registry/core/secrets/c/d/1', '/registry/core/secrets/c/d/2'];
  await Promise.all([...many, ...few].map((key) => first.create(key, Buffer.from('{}'))));
  await first.close();
  const open = async (): Promise<{
    delivered: string[];
    synced: Promise<void>[];
    fill: () => void;
    close: () => Promise<void>;
  }> => {
    const storage = await openFileStorage(options);
    const gate = Promise.withResolvers<void>();
    const cache = openWatchCache(
      {},
      { storage, clock: new FakeClock(), onError: () => {}, loadValuesAfter: gate.promise },
    );
    const delivered: string[] = [];
    const handler = {
      changed: ({ key }: { readonly key: string }) => void delivered.push(key),
      removed: () => undefined,
    };
    const synced = ['/registry/core/secrets/', '/registry/core/configmaps/'].map(
      (scope) => new CacheSubscription({ scope }, { cache, handler }).synced,
    );
    return { delivered, synced, fill: gate.resolve, close: () => cache.close() };
  };
  const one = await open();
  await one.synced[0];
  expect(one.delivered).toEqual(few);
  one.fill();
  await one.synced[1];
  expect(one.delivered.slice(2).sort()).toEqual(many.sort());
  await one.close();
  const other = await open();
  await other.synced[0];
  await other.close();
  await other.synced[1];
  expect(other.delivered).toEqual(few);
});

/** A cache whose changes are controlled by the test. */
class ScriptedCache {
  readonly ready = Promise.resolve();
  readonly valuesLoaded = undefined;
  closed = false;
  revision = 0;
  #entries = new Map<string, CacheEntry>();
  #subscriber: SubscribeOptions | undefined;

  /** With `toldOf: false` as if the cache had lost its store. */
  write(key: string, { exists = true, toldOf = true } = {}): void {
    const previous = this.#entries.get(key);
    if (!exists && previous === undefined) return;
    this.revision++;
    const current = exists
      ? { key, revision: this.revision, value: Buffer.alloc(0), attachment: undefined }
      : undefined;
    if (current === undefined) this.#entries.delete(key);
    else this.#entries.set(key, current);
    const event = { key, current, previous, revision: this.revision } as unknown as CacheEvent;
    if (toldOf) this.#subscriber?.onEvent(event);
  }

  /** The cache loses its store, keys are written meanwhile, and the cache reloads. */
  startOver(written: readonly string[]): void {
    const before = this.snapshot();
    const subscriber = this.#subscriber;
    this.#subscriber = undefined;
    for (const key of written) this.write(key, { toldOf: false });
    subscriber?.onEnd(new Error('scripted'), before);
  }

  snapshot(): CacheSnapshot {
    const entries = this.present;
    return {
      revision: this.revision,
      countFrom: () => entries.length,
      entries: (from = '', limit) => entries.filter(({ key }) => key >= from).slice(0, limit),
    };
  }

  subscribe(options: SubscribeOptions): () => void {
    if (options.after !== this.revision) throw new CompactedError(options.after, this.revision);
    this.#subscriber = options;
    return () => (this.#subscriber = undefined);
  }

  get present(): CacheEntry[] {
    return [...this.#entries.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
  }

  follow(handler: CacheEventHandler): CacheSubscription {
    return new CacheSubscription({ scope: '/' }, { cache: this as unknown as WatchCache, handler });
  }
}

test('changes during the initial list are delivered immediately, after the initial state of their key', async () => {
  const cache = new ScriptedCache();
  for (const key of ['/a', '/b', '/c', '/d']) cache.write(key);
  const delivered: string[] = [];
  const subscription = cache.follow({
    changed: ({ key, revision }, previous, isInInitialList = false) => {
      delivered.push(`${key} ${previous?.revision ?? (isInInitialList ? 'there' : 'new')}→${revision}`);
      if (delivered.length > 1) return;
      cache.write('/a');
      cache.write('/bb');
      cache.write('/c');
      cache.write('/d', { exists: false });
      cache.write('/d');
    },
    removed: ({ key, revision }) => void delivered.push(`${key} ${revision} gone`),
  });
  await subscription.synced;
  cache.write('/b');
  expect(delivered).toEqual([
    '/a there→1',
    '/a 1→5',
    '/bb new→6',
    '/c there→3',
    '/c 3→7',
    '/d there→4',
    '/d 4 gone',
    '/d new→9',
    '/b there→2',
    '/b 2→10',
  ]);
});

test('an object created before the initial list starts counts as new', async () => {
  const cache = new ScriptedCache();
  cache.write('/a');
  const delivered: string[] = [];
  const subscription = cache.follow({
    changed: ({ key }, _previous, isInInitialList = false) =>
      void delivered.push(`${key} ${isInInitialList ? 'there' : 'new'}`),
    removed: () => undefined,
  });
  // Only resolved promises run, no event-loop tick.
  for (let i = 0; i < 10; i++) await Promise.resolve();
  cache.write('/b');
  await subscription.synced;
  expect(delivered).toEqual(['/b new', '/a there']);
});

test("each key's events are complete and in order, also when the cache is reloaded", async () => {
  const key = fc.constantFrom(...Array.from('abcdefgh', (name) => `/${name}`));
  const write = fc.record({ kind: fc.constant('write' as const), key, exists: fc.boolean() });
  const startOver = fc.record({ kind: fc.constant('start over' as const), written: fc.array(key, { maxLength: 3 }) });
  const step = fc.oneof({ weight: 4, arbitrary: write }, { weight: 1, arbitrary: startOver });
  const property = fc.asyncProperty(
    fc.uniqueArray(key),
    fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 8 }),
    async (initial, script) => {
      const cache = new ScriptedCache();
      for (const name of initial) cache.write(name);
      const delivered = new Map<string, number>();
      let busy = false;
      /** Called between two deliveries. */
      const meanwhile = (): void => {
        if (busy) return;
        busy = true;
        for (const one of script.shift() ?? [])
          if (one.kind === 'write') cache.write(one.key, one);
          else cache.startOver(one.written);
        busy = false;
      };
      const subscription = cache.follow({
        changed: (current, previous) => {
          expect(delivered.get(current.key)).toBe(previous?.revision);
          delivered.set(current.key, current.revision);
          meanwhile();
        },
        removed: (previous) => {
          expect(delivered.get(previous.key)).toBe(previous.revision);
          delivered.delete(previous.key);
        },
      });
      await subscription.synced;
      const present = (): object => Object.fromEntries(cache.present.map((entry) => [entry.key, entry.revision]));
      await eventLoopIdle();
      expect(Object.fromEntries(delivered)).toEqual(present());
    },
  );
  await fc.assert(property, { numRuns: 500 });
});
