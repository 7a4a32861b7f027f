import { expect, test } from '@jest/globals';
import { CachedEntry } from './cached-entry.ts';
import { ValueSlabs } from './value-slabs.ts';

const mib = 1024 * 1024;

function entryOf(slabs: ValueSlabs, value: Buffer): CachedEntry {
  const entry = new CachedEntry('/a', 1, value.length);
  slabs.store(entry, value);
  return entry;
}
const filled = (size: number, byte: number): Buffer => Buffer.alloc(size, byte);

test('values come back as they were, whatever their size, and are copies', () => {
  const slabs = new ValueSlabs();
  const sizes = [0, 1, 1000, 64 * 1024, 64 * 1024 + 1, 300 * 1024, 5];
  const entries = sizes.map((size, i) => {
    const value = filled(size, i + 1);
    const entry = entryOf(slabs, value);
    value.fill(0);
    return entry;
  });
  expect(entries.map((entry) => entry.value)).toEqual(sizes.map((size, i) => filled(size, i + 1)));
});

test('a value does not keep the pool or the message it was cut from', () => {
  const slabs = new ValueSlabs();
  const message = Buffer.alloc(mib);
  const entry = entryOf(slabs, message.subarray(100, 200));
  expect(entry.value.buffer).not.toBe(message.buffer);
  expect(entry.value.buffer.byteLength).toBeLessThan(mib);
});

test('tidying wins memory back and changes no byte, also not in views handed out before', () => {
  const slabs = new ValueSlabs();
  const entries = Array.from({ length: 64 * 1024 }, (_, i) => entryOf(slabs, filled(1024, i)));
  slabs.tidy(100_000);
  expect(entries[5]?.slab).toBe(entries[0]?.slab);
  expect([slabs.liveBytes, slabs.allocatedBytes]).toEqual([64 * mib, 64 * mib]);
  const kept = entries.filter((_, i) => i % 2 === 0);
  const views = kept.map((entry) => entry.value);
  const released = entries.filter((_, i) => i % 2 === 1);
  for (const entry of released) slabs.release(entry);
  expect(slabs.allocatedBytes).toBe(64 * mib);

  let worst = 0;
  for (let i = 0; i < 64 * 1024; i += 16) {
    slabs.tidy(16);
    worst = Math.max(worst, slabs.allocatedBytes);
  }
  expect(slabs.liveBytes).toBe(32 * mib);
  expect(worst).toBeLessThanOrEqual(65 * mib);
  expect(slabs.allocatedBytes).toBeLessThanOrEqual(32 * 1.1 * mib + 9 * mib);
  for (const [i, entry] of kept.entries()) {
    const expected = filled(1024, i * 2);
    expect(entry.value.equals(expected) && (views[i] as Buffer).equals(expected)).toBe(true);
  }
  // What a late reader of a removed object still holds is as it was, too.
  for (const [i, entry] of released.entries()) expect(entry.value.equals(filled(1024, i * 2 + 1))).toBe(true);
});

test('when everything is released hardly anything is held', () => {
  const slabs = new ValueSlabs();
  const entries = Array.from({ length: 2000 }, () => entryOf(slabs, filled(3000, 1)));
  entries.push(entryOf(slabs, filled(mib, 1)));
  for (const entry of entries) slabs.release(entry);
  expect(slabs.liveBytes).toBe(0);
  expect(slabs.allocatedBytes).toBeLessThanOrEqual(mib / 4);
});
