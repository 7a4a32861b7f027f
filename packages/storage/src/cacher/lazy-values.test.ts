import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '@multiplane/component-base';
import { TempDir } from '@multiplane/testing';
import * as fc from 'fast-check';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { eventsUpTo } from '../../test/conformance/events-up-to.ts';
import { codeOf } from '../../test/conformance/subject.ts';
import { type FileStorageOptions, openFileStorage } from '../file/open-file-storage.ts';
import { openWatchCache } from './open-watch-cache.ts';
import type { BackedWatchCache } from './watch-cache.ts';

let tempDir: TempDir;
beforeEach(async () => {
  tempDir = await TempDir.create('lazy-values');
});
afterEach(async () => {
  await tempDir.remove();
});

const key = (i: number): string => `/registry/core/${i % 2 === 0 ? 'maps' : 'secrets'}/c${i % 5}/${i}`;
const value = (text: string): Buffer => Buffer.from(text.repeat(20));

type Store = Awaited<ReturnType<typeof openFileStorage>>;
const openStore = (options?: Partial<FileStorageOptions>): Promise<Store> =>
  openFileStorage({ directory: tempDir.path, minIndexSnapshotBytes: 0, ...options });

/** Creates, replaces and deletes keys deterministically by number. */
async function write(store: Pick<Store, 'get' | 'create' | 'update' | 'delete'>, i: number): Promise<void> {
  const name = key((i * 7) % 60);
  const now = await store.get(name);
  if (now === undefined) await store.create(name, value(`${i}`));
  else if (i % 4 === 0) await store.delete(name, now.revision);
  else await store.update(name, value(`${i}`), now.revision);
}

interface Opened {
  readonly store: Store;
  readonly cache: BackedWatchCache;
  readonly fill: () => void;
  readonly errors: unknown[];
}

/** A cache over a reopened store, which loads values on access until it is asked to load all. */
async function open(historyRevisions?: number): Promise<Opened> {
  const store = await openStore();
  const gate = Promise.withResolvers<void>();
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const cache = openWatchCache(
    { historyRevisions },
    { storage: store, clock: systemClock, onError, loadValuesAfter: gate.promise },
  );
  await cache.ready;
  return { store, cache, fill: gate.resolve, errors };
}

const entriesOf = (cache: BackedWatchCache, revision?: number): unknown[] =>
  cache
    .snapshot('/registry/', revision)
    .entries(undefined, Infinity)
    .map(({ key, value, revision }) => ({ key, value, revision }));

/** Compares the cache with the files, at the current revision and in its history. */
async function expectSame({ store, cache }: Opened): Promise<void> {
  for (let revision = cache.revision; revision >= cache.oldestRevision; revision -= 7) {
    expect(entriesOf(cache, revision)).toEqual((await store.list('/registry/', { revision })).items);
  }
  const events = await eventsUpTo(cache, '/registry/', cache.oldestRevision, cache.revision);
  const received = await eventsUpTo(store, '/registry/', cache.oldestRevision, cache.revision);
  expect(events.map(({ type, key, revision }) => ({ type, key, revision }))).toEqual(
    received.map(({ type, key, revision }) => ({ type, key, revision })),
  );
  expect(events.filter(({ type }) => type === 'put').map(({ value }) => String(value))).toEqual(
    received.filter(({ type }) => type === 'put').map(({ value }) => String(value)),
  );
  for (const [resource, count] of cache.counts()) {
    expect((await store.list(resource)).items.length).toBe(count);
  }
}

test('a cache with lazy values returns the same as one with loaded values', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        before: fc.integer({ min: 0, max: 120 }),
        history: fc.constantFrom(0, 5, 10_000),
        writes: fc.array(fc.nat({ max: 1000 }), { maxLength: 12 }),
        fillAt: fc.nat({ max: 12 }),
      }),
      async ({ before, history, writes, fillAt }) => {
        await tempDir.remove();
        tempDir = await TempDir.create('lazy-values');
        const first = await openStore();
        for (let i = 0; i < before; i++) await write(first, i);
        await first.close();
        const opened = await open(history);
        const { cache, fill, errors } = opened;
        expect(cache.areValuesLoaded()).toBe(false);
        const old = cache.snapshot('/registry/');
        const expected = (await opened.store.list('/registry/')).items.map((item) => String(item.value));
        for (const [step, i] of writes.entries()) {
          if (step === fillAt) fill();
          await write(cache, i);
          if (i % 3 === 0) await expectSame(opened);
        }
        fill();
        await cache.valuesLoaded;
        await expectSame(opened);
        // Also for versions that were replaced meanwhile, after their segments could be removed.
        expect(old.entries(undefined, Infinity).map((entry) => String(entry.value))).toEqual(expected);
        const { objects, valueBytes } = cache.statistics;
        const { items } = await opened.store.list('/registry/');
        expect([objects, valueBytes]).toEqual([
          items.length,
          items.reduce((sum, { value: { length } }) => sum + length, 0),
        ]);
        expect(errors).toEqual([]);
        await cache.close();
      },
    ),
    { numRuns: 12 },
  );
}, 120_000);

test('segments that were compacted stay readable until all values are loaded', async () => {
  const first = await openStore();
  for (let i = 0; i < 200; i++) await first.create(`/registry/core/maps/c/${i}`, Buffer.alloc(1000, String(i)));
  await first.close();
  const { store, cache, fill } = await open();
  const before = cache.snapshot('/registry/');
  for (let i = 0; i < 150; i++) {
    const name = `/registry/core/maps/c/${i}`;
    await cache.delete(name, cache.peek(name)?.revision ?? 0);
  }
  const compacted = store.compact(await store.currentRevision());
  expect(before.entries(undefined, Infinity).map(({ value }) => value[0])).toHaveLength(200);
  fill();
  await Promise.all([compacted, cache.valuesLoaded]);
  expect(entriesOf(cache)).toHaveLength(50);
  for (const { key, value } of before.entries(undefined, Infinity)) {
    const number = key.slice(key.lastIndexOf('/') + 1);
    expect(value.equals(Buffer.alloc(1000, number))).toBe(true);
  }
  await cache.close();
});

test('a cache that is closed before or while it loads values releases the segments', async () => {
  const first = await openStore();
  for (let i = 0; i < 100; i++) await write(first, i);
  await first.close();
  const waiting = await open();
  await waiting.cache.close();
  expect(await codeOf(waiting.cache.valuesLoaded)).toBe('Unavailable');
  const reading = await open();
  reading.fill();
  await reading.cache.close();
  const again = await openStore();
  expect((await again.list('/registry/')).items.length).toBeGreaterThan(0);
  await again.close();
});

test('a damaged value is reported, and the next start quarantines it', async () => {
  const first = await openStore();
  for (let i = 0; i < 40; i++) await first.create(key(i), Buffer.alloc(1000, `${i}`));
  await first.close();
  const log = tempDir.join('00000001.log');
  const bytes = readFileSync(log);
  bytes[500] = (bytes[500] as number) ^ 1;
  writeFileSync(log, bytes);
  const { cache, fill, errors } = await open(0);
  fill();
  await expect(cache.valuesLoaded).rejects.toThrow(/damaged record of .* in .*00000001.log at/);
  expect(cache.areValuesLoaded()).toBe(false);
  expect(errors).toHaveLength(1);
  expect(existsSync(tempDir.join('keys'))).toBe(false);
  await cache.close();
  expect(existsSync(tempDir.join('keys'))).toBe(false);
  const again = await openStore();
  expect(again.recoveryReport.quarantined.map((record) => record.key)).toEqual([key(0)]);
  expect((await again.list('/')).items).toHaveLength(39);
  await again.close();
});
