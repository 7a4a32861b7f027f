import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { systemClock } from '@multiplane/component-base';
import { MemoryStorage, openWatchCache, type SubscribeOptions, type WatchCache } from '@multiplane/storage';
import { ContentChangeTracker } from './content-change-tracker.ts';

const tenant = 'tenant' as LogicalClusterName;
const other = 'other' as LogicalClusterName;
const maps = '/registry/core/configmaps/';
const things = '/registry/example.dev/things/';
const value = Buffer.from('{}');

let cache: WatchCache;
let watch: ContentChangeTracker;

beforeEach(async () => {
  cache = openWatchCache({}, { storage: new MemoryStorage(), clock: systemClock, onError: () => undefined });
  await cache.ready;
  watch = new ContentChangeTracker({ builtIn: new Set([maps]) }, { cache });
});
afterEach(() => cache.close());

async function put(key: string): Promise<void> {
  await cache.create(key, value);
  await cache.freshRevision();
}
const prefixesOf = (cluster: LogicalClusterName): string[] =>
  Array.from(watch.prefixesOf(cluster), ({ prefix }) => prefix).sort();

describe('a logical cluster during a deletion pass', () => {
  test('has the prefixes of its objects, including those of kinds and identities that are added later', async () => {
    await put(`${maps}tenant/default/a`);
    await put(`${things}one/other/a`);
    const round = watch.begin(tenant);
    expect(prefixesOf(tenant)).toEqual([maps]);
    expect(prefixesOf(other)).toEqual([`${things}one/`]);
    await put(`${things}one/tenant/a`);
    await put(`${things}two/tenant/a`);
    await put(`${maps}other/default/a`);
    expect(prefixesOf(tenant)).toEqual([maps, `${things}one/`, `${things}two/`]);
    expect(prefixesOf(other)).toEqual([maps, `${things}one/`]);
    round.end();
  });

  test('counts for prefixes with too many objects to track', async () => {
    const round = watch.begin(tenant);
    await put(`${maps}other/default/a`);
    expect(prefixesOf(tenant)).toEqual([]);
    for (let index = 0; index < 200; index++) await put(`${maps}c${index}/default/a`);
    expect(prefixesOf(tenant)).toEqual([maps]);
    round.end();
  });

  test('has changed after a write, but not after deletions and writes in other clusters', async () => {
    await put(`${maps}tenant/default/a`);
    const round = watch.begin(tenant);
    await put(`${maps}other/default/a`);
    await cache.delete(`${maps}tenant/default/a`, cache.peek(`${maps}tenant/default/a`)?.revision ?? 0);
    await cache.freshRevision();
    expect(round.changed).toBe(false);
    await put(`${things}one/tenant/a`);
    expect(round.changed).toBe(true);
    round.end();
    const next = watch.begin(tenant);
    expect(next.changed).toBe(false);
    next.end();
  });

  test('shares one subscription with other passes, which ends with the last pass', () => {
    const live = new Set<SubscribeOptions>();
    const counted = new ContentChangeTracker(
      { builtIn: new Set([maps]) },
      {
        cache: {
          revision: 1,
          counts: () => cache.counts(),
          listCurrent: (...range) => cache.listCurrent(...range),
          subscribe: (options) => {
            live.add(options);
            return () => void live.delete(options);
          },
        },
      },
    );
    const rounds = [counted.begin(tenant), counted.begin(other), counted.begin(tenant)];
    for (const round of rounds) {
      expect(live.size).toBe(1);
      round.end();
    }
    expect(live.size).toBe(0);
  });

  test('counts as changed after a cache reset', async () => {
    const subscribed: SubscribeOptions[] = [];
    const deaf = new ContentChangeTracker(
      { builtIn: new Set([maps]) },
      {
        cache: {
          revision: 1,
          counts: () => cache.counts(),
          listCurrent: (...range) => cache.listCurrent(...range),
          subscribe: (options) => {
            subscribed.push(options);
            return () => undefined;
          },
        },
      },
    );
    const round = deaf.begin(tenant);
    expect(Array.from(deaf.prefixesOf(tenant))).toEqual([]);
    subscribed[0]?.onEnd(new Error('the cache starts over'));
    expect(round.changed).toBe(true);
    // Without a subscription the prefixes are computed on each call.
    await put(`${maps}tenant/default/a`);
    expect(Array.from(deaf.prefixesOf(tenant), ({ prefix }) => prefix)).toEqual([maps]);
    const next = deaf.begin(other);
    expect(subscribed).toHaveLength(2);
    expect(next.changed).toBe(false);
    next.end();
    round.end();
  });
});
