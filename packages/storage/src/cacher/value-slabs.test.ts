import { expect, test } from '@jest/globals';
import { CachedEntry } from './cached-entry.ts';
import { ValueSlabs } from './value-slabs.ts';

const mib = 1024 * 1024;

function entryOf(slabs: ValueSlabs, value: Buffer): CachedEntry {
  const entry = new CachedEntry('/a', 1, value.length);
  slabs.store(entry, value);
  return entry;
}
const valuesLoaded = (size: number, byte: number): Buffer => Buffer.alloc(size, byte);

test('values of all sizes are copied and returned unchanged', () => {
  const slabs = new ValueSlabs();
  const sizes = [0, 1, 1000, 64 * 1024, 64 * 1024 + 1, 300 * 1024, 5];
  const entries = sizes.map((size, i) => {
    const value = valuesLoaded(size, i + 1);
    const entry = entryOf(slabs, value);
    value.fill(0);
    return entry;
  });
  expect(entries.map((entry) => entry.value)).toEqual(sizes.map((size, i) => valuesLoaded(size, i + 1)));
});

test('a value does not retain the pool or the message that it was sliced from', () => {
  const slabs = new ValueSlabs();
  const message = Buffer.alloc(mib);
  const entry = entryOf(slabs, message.subarray(100, 200));
  expect(entry.value.buffer).not.toBe(message.buffer);
  expect(entry.value.buffer.byteLength).toBeLessThan(mib);
});

test('compaction reclaims memory and changes no byte, also in views that readers hold', () => {
  const slabs = new ValueSlabs();
  const entries = Array.from({ length: 64 * 1024 }, (_, i) => entryOf(slabs, valuesLoaded(1024, i)));
  slabs.compactStep(100_000);
  expect(entries[5]?.slab).toBe(entries[0]?.slab);
  expect([slabs.liveBytes, slabs.allocatedBytes]).toEqual([64 * mib, 64 * mib]);
  const kept = entries.filter((_, i) => i % 2 === 0);
  const views = kept.map((entry) => entry.value);
  const released = entries.filter((_, i) => i % 2 === 1);
  for (const entry of released) slabs.release(entry);
  expect(slabs.allocatedBytes).toBe(64 * mib);

  let worst = 0;
  for (let i = 0; i < 64 * 1024; i += 16) {
    slabs.compactStep(16);
    worst = Math.max(worst, slabs.allocatedBytes);
  }
  expect(slabs.liveBytes).toBe(32 * mib);
  expect(worst).toBeLessThanOrEqual(65 * mib);
  expect(slabs.allocatedBytes).toBeLessThanOrEqual(32 * 1.1 * mib + 9 * mib);
  for (const [i, entry] of kept.entries()) {
    const expected = valuesLoaded(1024, i * 2);
    expect(entry.value.equals(expected) && (views[i] as Buffer).equals(expected)).toBe(true);
  }
  // A view of a removed object is unchanged too.
  for (const [i, entry] of released.entries()) expect(entry.value.equals(valuesLoaded(1024, i * 2 + 1))).toBe(true);
});

test('releasing everything frees nearly all memory', () => {
  const slabs = new ValueSlabs();
  const entries = Array.from({ length: 2000 }, () => entryOf(slabs, valuesLoaded(3000, 1)));
  entries.push(entryOf(slabs, valuesLoaded(mib, 1)));
  for (const entry of entries) slabs.release(entry);
  expect(slabs.liveBytes).toBe(0);
  expect(slabs.allocatedBytes).toBeLessThanOrEqual(mib / 4);
});
