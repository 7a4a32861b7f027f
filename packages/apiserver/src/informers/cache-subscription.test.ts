import { afterEach, expect, test } from '@jest/globals';
import { FakeClock, systemClock } from '@multiplane/component-base';
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
import { eventually, TempDir } from '@multiplane/testing';
import fc from 'fast-check';
import { Pipeline } from '../pipeline-fixture.ts';
import { DecodedObjects } from '../registry/decoded-objects.ts';
import { ObjectReader } from '../registry/object-reader.ts';
import { CacheInformer } from './cache-informer.ts';
import { type CacheFollower, CacheSubscription } from './cache-subscription.ts';

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
          // Longer than a slice, so that others get their turn.
          const end = performance.now() + 20;
          while (performance.now() < end);
        },
        removed: () => undefined,
      },
    },
  );
  await subscription.synced;
  await closed;
  expect(told).toBe(1);
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

/** A cache of whose keys a test decides when they change. */
class ScriptedCache {
  readonly ready = Promise.resolve();
  readonly filled = undefined;
  closed = false;
  revision = 0;
  #entries = new Map<string, CacheEntry>();
  #subscriber: SubscribeOptions | undefined;

  /** With `toldOf: false` as while the cache has lost its store. */
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

  /** Loses its store, in which the keys are written meanwhile, and starts over. */
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

  follow(follower: CacheFollower): CacheSubscription {
    return new CacheSubscription({ scope: '/' }, { cache: this as unknown as WatchCache, follower });
  }
}

test('what changes while the beginning is told is told at once, behind what its key had', async () => {
  const cache = new ScriptedCache();
  for (const key of ['/a', '/b', '/c', '/d']) cache.write(key);
  const told: string[] = [];
  const subscription = cache.follow({
    changed: ({ key, revision }, previous, wasThere = false) => {
      told.push(`${key} ${previous?.revision ?? (wasThere ? 'there' : 'new')}→${revision}`);
      if (told.length > 1) return;
      cache.write('/a');
      cache.write('/bb');
      cache.write('/c');
      cache.write('/d', { exists: false });
      cache.write('/d');
    },
    removed: ({ key, revision }) => void told.push(`${key} ${revision} gone`),
  });
  await subscription.synced;
  cache.write('/b');
  expect(told).toEqual([
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

test('what comes before there was a turn to tell what was there is new', async () => {
  const cache = new ScriptedCache();
  cache.write('/a');
  const told: string[] = [];
  const subscription = cache.follow({
    changed: ({ key }, _previous, wasThere = false) => void told.push(`${key} ${wasThere ? 'there' : 'new'}`),
    removed: () => undefined,
  });
  // Nothing but what was resolved already: no turn of the event loop.
  for (let i = 0; i < 10; i++) await Promise.resolve();
  cache.write('/b');
  await subscription.synced;
  expect(told).toEqual(['/b new', '/a there']);
});

test('of each key everything is told once and in order, whenever it changes and the cache starts over', async () => {
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
      const told = new Map<string, number>();
      let busy = false;
      /** Between two things that are told. */
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
          expect(told.get(current.key)).toBe(previous?.revision);
          told.set(current.key, current.revision);
          meanwhile();
        },
        removed: (previous) => {
          expect(told.get(previous.key)).toBe(previous.revision);
          told.delete(previous.key);
        },
      });
      await subscription.synced;
      const present = (): object => Object.fromEntries(cache.present.map((entry) => [entry.key, entry.revision]));
      await eventually(() => expect(Object.fromEntries(told)).toEqual(present()));
    },
  );
  await fc.assert(property, { numRuns: 500 });
});
