import { expect, test } from '@jest/globals';
import type { CacheEntry } from '@multiplane/storage';
import { DecodedObjects } from './decoded-objects.ts';
import { ObjectReader } from './object-reader.ts';

const maxBytes = 64 * 1024 * 1024;
/** Large enough to be parsed in time slices. */
const members = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`m${index}`, 'value']));
const largeEntry = (): CacheEntry =>
  ({
    key: 'a',
    revision: 5,
    value: Buffer.from(JSON.stringify({ kind: 'K', apiVersion: 'v1', metadata: { name: 'a' }, data: members })),
  }) as CacheEntry;

/** Counts the entries that are parsed. */
class CountingObjects extends DecodedObjects {
  parsed = 0;

  override *load(stored: CacheEntry): Generator<void, void> {
    if (!this.isLoaded(stored)) this.parsed++;
    yield* super.load(stored);
  }
}

test('callers that need the same large entry at the same time share one parsing of it', async () => {
  const decoded = new CountingObjects({ maxBytes });
  const reader = new ObjectReader({ decoded });
  const entry = largeEntry();
  await Promise.all(Array.from({ length: 10 }, async () => reader.load(entry, {})));
  expect(decoded.parsed).toBe(1);
  expect(reader.stored(entry)).toMatchObject({ data: { m49999: 'value' }, metadata: { resourceVersion: '5' } });
  expect(reader.load(entry, {})).toBeUndefined();
});

test('a caller that leaves does not end the parsing for others', async () => {
  const reader = new ObjectReader({ decoded: new DecodedObjects({ maxBytes }) });
  const entry = largeEntry();
  const leaving = new AbortController();
  const first = reader.load(entry, { signal: leaving.signal });
  const second = reader.load(entry, {});
  leaving.abort(new Error('left'));
  await expect(first).rejects.toThrow('left');
  await second;
  expect(reader.decoded.peek('a', 5)).toBeDefined();
});

test('an object that was written is frozen in time slices before its first use', async () => {
  const decoded = new DecodedObjects({ maxBytes });
  const reader = new ObjectReader({ decoded });
  const entry = largeEntry();
  const object = { kind: 'K', apiVersion: 'v1', metadata: { name: 'a' }, data: { ...members } };
  await decoded.announce('a', entry.value, object, () => Promise.resolve(entry.revision));
  expect(Object.isFrozen(object.data)).toBe(false);
  await reader.load(entry, {});
  expect(Object.isFrozen(object.data)).toBe(true);
  expect(decoded.isLoaded(entry)).toBe(true);
  expect(reader.stored(entry)).toMatchObject({ metadata: { name: 'a', resourceVersion: '5' } });
  // The writer still answers with it.
  expect(object.metadata).toEqual({ name: 'a' });
  expect(Object.isFrozen(object.metadata)).toBe(false);
});
