import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { systemClock } from '@multiplane/component-base';
import { MemoryStorage, openWatchCache, type SubscribeOptions, type WatchCache } from '@multiplane/storage';
import { ContentWatch } from './content-watch.ts';

const tenant = 'tenant' as LogicalClusterName;
const other = 'other' as LogicalClusterName;
const maps = '/registry/core/configmaps/';
const things = '/registry/example.dev/things/';
const value = Buffer.from('{}');

let cache: WatchCache;
let watch: ContentWatch;

beforeEach(async () => {
  cache = openWatchCache({}, { storage: new MemoryStorage(), clock: systemClock, onError: () => undefined });
  await cache.ready;
  watch = new ContentWatch({ builtIn: new Set([maps]) }, { cache });
});
afterEach(() => cache.close());

async function put(key: string): Promise<void> {
  await cache.create(key, value);
  await cache.freshRevision();
}
const prefixesOf = (cluster: LogicalClusterName): string[] =>
  Array.from(watch.placesOf(cluster), ({ prefix }) => prefix).sort();

describe('a logical cluster under watch', () => {
  test('has places where it has objects, also of kinds and identities that come later', async () => {
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

  test('is looked for everywhere when there are too many to tell', async () => {
    const round = watch.begin(tenant);
    await put(`${maps}other/default/a`);
    expect(prefixesOf(tenant)).toEqual([]);
    for (let index = 0; index < 200; index++) await put(`${maps}c${index}/default/a`);
    expect(prefixesOf(tenant)).toEqual([maps]);
    round.end();
  });

  test('has changed when something was written into it, and not for what goes or what others write', async () => {
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

  test('shares one subscription with others, and leaves none behind', () => {
    const live = new Set<SubscribeOptions>();
    const counted = new ContentWatch(
      { builtIn: new Set([maps]) },
      {
        cache: {
          revision: 1,
          counts: () => cache.counts(),
          present: (...range) => cache.present(...range),
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

  test('counts as changed when nobody can tell', async () => {
    const subscribed: SubscribeOptions[] = [];
    const deaf = new ContentWatch(
      { builtIn: new Set([maps]) },
      {
        cache: {
          revision: 1,
          counts: () => cache.counts(),
          present: (...range) => cache.present(...range),
          subscribe: (options) => {
            subscribed.push(options);
            return () => undefined;
          },
        },
      },
    );
    const round = deaf.begin(tenant);
    expect(Array.from(deaf.placesOf(tenant))).toEqual([]);
    subscribed[0]?.onEnd(new Error('the cache starts over'));
    expect(round.changed).toBe(true);
    // Nobody tells what comes now: it is looked for.
    await put(`${maps}tenant/default/a`);
    expect(Array.from(deaf.placesOf(tenant), ({ prefix }) => prefix)).toEqual([maps]);
    const next = deaf.begin(other);
    expect(subscribed).toHaveLength(2);
    expect(next.changed).toBe(false);
    next.end();
    round.end();
  });
});
