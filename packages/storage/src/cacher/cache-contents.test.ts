import { expect, test } from '@jest/globals';
import { CacheContents } from './cache-contents.ts';
import type { CachedEntry } from './cached-entry.ts';
import { EventWindow } from './event-window.ts';
import { OrderedTree } from '../ordered-tree.ts';
import { ValueSlabs } from './value-slabs.ts';

const mib = 1024 * 1024;
const valueSize = 2048;
const key = (i: number): string => `/registry/core/configmaps/a/${String(i).padStart(6, '0')}`;
const valueOf = (i: number, version: number): Buffer => Buffer.alloc(valueSize, `${i}.${version};`);

test('under churn memory stays near the live bytes, and values in contents and snapshots do not change', () => {
  const slabs = new ValueSlabs();
  const window = new EventWindow({ maxBytes: 8 * mib, minAgeSeconds: 300 }, ({ previous }) => {
    if (previous !== undefined) slabs.release(previous);
  });
  const contents = new CacheContents(window, slabs);
  const count = 20_000;
  const versions = Array.from({ length: count }, () => 0);
  let revision = 0;
  const write = (i: number): void => {
    revision++;
    const entry = contents.createEntry({ key: key(i), value: valueOf(i, versions[i] as number), revision });
    window.append(entry, contents.put(entry), revision, 0);
    window.trim(0);
    contents.dropOldPins();
  };
  const expectValues = (
    entries: readonly { readonly key: string; readonly value: Buffer }[],
    expected: readonly number[],
  ): void => {
    const wrong = entries.filter(({ key, value }) => {
      const i = Number(key.slice(-6));
      return !value.equals(valueOf(i, expected[i] as number));
    });
    expect(wrong).toEqual([]);
    expect(entries).toHaveLength(expected.length);
  };
  for (let i = 0; i < count; i++) write(i);
  const old = contents.snapshot('/registry/', revision, revision);
  const oldVersions = versions.slice();
  let worst = 0;
  for (let n = 1; n <= 3 * count; n++) {
    const i = (n * 7919) % count;
    versions[i] = n;
    write(i);
    worst = Math.max(worst, contents.slabBytes);
  }
  const live = count * valueSize + 8 * mib;
  expect(worst).toBeLessThan(live * 1.35 + 8 * mib);
  expectValues(contents.snapshot('/registry/', revision, revision).entries(undefined, Infinity), versions);
  expectValues(old.entries(undefined, Infinity), oldVersions);

  for (let i = 0; i < count; i++) {
    revision++;
    window.append(undefined, contents.remove(key(i)), revision, 0);
    window.trim(0);
  }
  expect([contents.size, contents.valueBytes]).toEqual([0, 0]);
  window.compact(revision);
  expect(contents.slabBytes).toBeLessThanOrEqual(mib / 4);
});

test('a cached lookup returns every change of the key', () => {
  const slabs = new ValueSlabs();
  const contents = new CacheContents(new EventWindow({ maxBytes: mib, minAgeSeconds: 300 }, () => undefined), slabs);
  const put = (value: string, revision: number): CachedEntry => {
    const entry = contents.createEntry({ key: key(1), value: Buffer.from(value), revision });
    contents.put(entry);
    return entry;
  };
  expect(contents.get(key(1))).toBeUndefined();
  for (const revision of [1, 2]) {
    const entry = put(`v${revision}`, revision);
    expect(contents.get(key(1))).toBe(entry);
    expect(contents.get(key(1))).toBe(entry);
  }
  contents.remove(key(1));
  expect(contents.get(key(1))).toBeUndefined();
  put('v3', 3);
  contents.get(key(1));
  contents.replaceAll({ revision: 4, tree: new OrderedTree(), valueBytes: 0, resources: new Map(), dropped: [] });
  expect(contents.get(key(1))).toBeUndefined();
});

test('more keys than the lookup cache holds are found', () => {
  const contents = new CacheContents(
    new EventWindow({ maxBytes: mib, minAgeSeconds: 300 }, () => undefined),
    new ValueSlabs(),
  );
  const entries = Array.from({ length: 10_000 }, (_, i) =>
    contents.createEntry({ key: key(i), value: Buffer.from(`${i}`), revision: i + 1 }),
  );
  for (const entry of entries) contents.put(entry);
  for (let again = 0; again < 2; again++) {
    expect(entries.filter((entry) => contents.get(entry.key) !== entry)).toEqual([]);
  }
});
