import { describe, expect, test } from '@jest/globals';
import { CompactedError } from '../errors.ts';
import { CachedEntry } from './cached-entry.ts';
import { EventWindow } from './event-window.ts';

const entry = (key: string, revision: number, length = 100): CachedEntry => new CachedEntry(key, revision, length);
const maps = '/registry/core/configmaps/';
const secrets = '/registry/core/secrets/';

function makeWindow(maxBytes = 10_000_000): { window: EventWindow; forgotten: CachedEntry[] } {
  const forgotten: CachedEntry[] = [];
  const window = new EventWindow({ maxBytes, minAgeSeconds: 300 }, ({ previous }) => {
    if (previous !== undefined) forgotten.push(previous);
  });
  window.reset(10, new Map());
  return { window, forgotten };
}
const revisions = (window: EventWindow, scope: string, after: number, upTo?: number): number[] =>
  window.since(scope, after, upTo).map((event) => event.revision);

describe('event window', () => {
  test('finds the events of a resource, a cluster, a namespace, one key or everything, oldest first', () => {
    const { window } = makeWindow();
    const keys = [
      `${maps}a/ns/1`,
      `${secrets}a/ns/1`,
      `${maps}b/ns/1`,
      `${maps}a/other/1`,
      `${maps}a/ns/2`,
      `${maps}a/ns/1`,
    ];
    for (const [i, key] of keys.entries()) window.append(entry(key, 11 + i), undefined, 11 + i, 0);
    expect(revisions(window, maps, 10)).toEqual([11, 13, 14, 15, 16]);
    expect(revisions(window, maps, 13)).toEqual([14, 15, 16]);
    expect(revisions(window, maps, 10, 14)).toEqual([11, 13, 14]);
    expect(revisions(window, `${maps}a/`, 10)).toEqual([11, 14, 15, 16]);
    expect(revisions(window, `${maps}a/ns/`, 10)).toEqual([11, 15, 16]);
    expect(revisions(window, `${maps}a/ns/1`, 10)).toEqual([11, 16]);
    expect(revisions(window, '/registry/', 12)).toEqual([13, 14, 15, 16]);
    expect(revisions(window, '/registry/', 12, 14)).toEqual([13, 14]);
    expect(revisions(window, '', 15)).toEqual([16]);
    expect(revisions(window, `${maps}c/`, 10)).toEqual([]);
    expect(revisions(window, maps, 99)).toEqual([]);
  });

  test('a reader from before the window gets the oldest revision', () => {
    const { window } = makeWindow();
    const oldest = (after: number): number | undefined => {
      try {
        window.since(maps, after);
        return undefined;
      } catch (error) {
        return error instanceof CompactedError ? error.oldest : NaN;
      }
    };
    expect(oldest(9)).toBe(10);
    expect(oldest(10)).toBeUndefined();
    window.append(entry(`${maps}a/1`, 11), undefined, 11, 0);
    window.append(entry(`${maps}a/1`, 12), undefined, 12, 0);
    window.compact(11);
    expect(oldest(10)).toBe(11);
    expect(revisions(window, maps, 11)).toEqual([12]);
  });

  test('is bounded in bytes and keeps the events of a revision together', () => {
    const { window } = makeWindow(20_000);
    for (let revision = 11; revision < 200; revision++) {
      for (let i = 0; i < 3; i++) window.append(entry(`${maps}a/${i}`, revision, 1000), undefined, revision, 0);
      window.trim(0);
      expect(window.bytes).toBeLessThanOrEqual(20_000);
      expect(window.length % 3).toBe(0);
    }
    expect(window.length).toBeGreaterThan(6);
    expect(revisions(window, maps, window.oldestRevision)).toHaveLength(window.length);
    expect(window.oldestRevision).toBe(199 - window.length / 3);
  });

  test('keeps young events as long as they fit, and the latest thousand of any age', () => {
    const { window } = makeWindow();
    const add = (count: number, second: number): void => {
      for (let i = 0; i < count; i++) {
        const revision = 11 + window.nextSequence;
        window.append(entry(`${maps}a/${i}`, revision), undefined, revision, second);
        window.trim(second);
      }
    };
    add(3000, 0);
    add(1, 299);
    expect(window.length).toBe(3001);
    add(1000, 301);
    expect(window.length).toBeLessThan(3001);
    add(1000, 302);
    expect(window.length).toBe(2001);
    add(1, 10_000);
    add(2000, 10_001);
    expect(window.length).toBe(2001);
    add(2000, 20_000);
    expect(window.length).toBe(2000);
  });

  test('shrinks to five minutes of the current rate of events, and keeps revisions and the latest thousand whole', () => {
    const { window } = makeWindow(100_000_000);
    const mebibyte = 1024 * 1024;
    const period = (bytes: number): void => {
      for (let left = bytes; left > 0; left -= 11_024) {
        const revision = 11 + window.nextSequence;
        window.append(entry(`${maps}a/1`, revision, 5_000), undefined, revision, 0);
        window.append(entry(`${maps}a/2`, revision, 5_000), undefined, revision, 0);
        window.trim(0);
      }
      for (const _ of window.shrink());
    };
    // A flood of 80 MiB.
    period(40 * mebibyte);
    period(40 * mebibyte);
    expect(window.bytes).toBeGreaterThan(79 * mebibyte);
    // 1 MiB in each period of ten seconds is 30 MiB in five minutes.
    period(mebibyte);
    period(mebibyte);
    expect(window.bytes / mebibyte).toBeCloseTo(30, 0);
    expect(window.length % 2).toBe(0);
    expect(revisions(window, maps, window.oldestRevision)).toHaveLength(window.length);
    period(0);
    period(0);
    period(0);
    expect(window.length).toBe(1000);
    expect(window.bytes / mebibyte).toBeCloseTo(5.3, 0);
  });

  test('releases a replaced entry exactly once, when its event is evicted', () => {
    const { window, forgotten } = makeWindow();
    const versions = [11, 12, 13, 14].map((revision) => entry(`${maps}a/1`, revision));
    window.append(versions[0], undefined, 11, 0);
    window.append(versions[1], versions[0], 12, 0);
    window.append(undefined, versions[1], 13, 0);
    window.append(versions[3], undefined, 14, 0);
    expect(forgotten).toEqual([]);
    window.compact(12);
    expect(forgotten).toEqual([versions[0]]);
    window.reset(20, new Map());
    expect(forgotten).toEqual([versions[0], versions[1]]);
  });

  test('counts the keys of each resource and drops resources without keys', () => {
    const { window } = makeWindow();
    window.reset(10, new Map([[secrets, 5]]));
    const a = entry(`${maps}a/1`, 11);
    window.append(a, undefined, 11, 0);
    window.append(entry(`${maps}a/2`, 12), undefined, 12, 0);
    window.append(entry(`${maps}a/1`, 13), a, 13, 0);
    expect([...window.resources].map(([resource, { keys }]) => [resource, keys])).toEqual([
      [secrets, 5],
      [maps, 2],
    ]);
    window.append(undefined, entry(`${maps}a/1`, 13), 14, 0);
    window.append(undefined, entry(`${maps}a/2`, 12), 15, 0);
    expect(window.resources.get(maps)).toMatchObject({ keys: 0 });
    window.compact(15);
    expect([...window.resources.keys()]).toEqual([secrets]);
  });

  test('a hundred thousand events pass through a small window', () => {
    const { window } = makeWindow(100_000);
    for (let revision = 11; revision < 100_000; revision++) {
      window.append(entry(`${maps}a/${revision % 100}`, revision), undefined, revision, 0);
      window.trim(0);
    }
    expect(revisions(window, `${maps}a/7`, 99_890)).toEqual([99_907]);
    expect(revisions(window, maps, 99_995)).toEqual([99_996, 99_997, 99_998, 99_999]);
  });

  test('keeps the frames of new events and clears old ones over the byte limit', () => {
    const { window } = makeWindow(1_000_000_000);
    const events = Array.from({ length: 100 }, (_, i) =>
      window.append(entry(`${maps}a/${i}`, 11 + i), undefined, 11 + i, 0),
    );
    for (const event of events) event.memo.set('json', Buffer.alloc(1024 * 1024));
    expect(window.frameBytes).toBeLessThanOrEqual(32 * 1024 * 1024);
    expect(events[99]?.memo.get('json')).toHaveLength(1024 * 1024);
    expect(events[0]?.memo.size).toBe(0);
    events[0]?.memo.set('json', Buffer.from('again'));
    expect(events[0]?.memo.get('json')?.toString()).toBe('again');
  });
});
