import { describe, expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { systemClock } from '@multiplane/component-base';
import fc from 'fast-check';
import { MemoryStorage } from '../memory/memory-storage.ts';
import { openWatchCache } from '../cacher/open-watch-cache.ts';
import { ownerOfKey } from './cluster-of-key.ts';
import { ClusterUsage, type Usage } from './cluster-usage.ts';

const one = 'one' as LogicalClusterName;
const identity = 'a'.repeat(64);
const classes = new Map([
  ['core/events', 'events'],
  ['apiextensions.k8s.io/customresourcedefinitions', 'definitions'],
] as const);
const usageOver = (): ClusterUsage => new ClusterUsage({ classes }, { clock: systemClock });
const mapKey = (cluster: string, name: string): string => `/registry/core/configmaps/${cluster}/default/${name}`;

describe('the logical cluster of a key', () => {
  test.each([
    ['/registry/core/configmaps/root/default/a', 'core/configmaps', 'root'],
    ['/registry/core/namespaces/root/default', 'core/namespaces', 'root'],
    ['/registry/example.dev/widgets/customresources/root/default/a', 'example.dev/widgets', 'root'],
    [`/registry/example.dev/widgets/${identity}/one/a`, 'example.dev/widgets', 'one'],
    [`/registry/core/namespaces/system:${'b'.repeat(57)}/a`, 'core/namespaces', `system:${'b'.repeat(57)}`],
  ])('%s', (key, resource, cluster) => expect(ownerOfKey(key)).toEqual({ resource, cluster }));

  test.each([
    '/registry/',
    '/registry/core/configmaps',
    '/other/core/configmaps/root/a',
    '/registry/core/configmaps/root',
  ])('%s has none', (key) => expect(ownerOfKey(key)).toBeUndefined());
});

test('counts objects, bytes, events and definitions of each logical cluster, also those that existed before', async () => {
  const storage = new MemoryStorage({ expiryIntervalMs: 50 });
  await storage.create(mapKey('one', 'before'), Buffer.from('1234'));
  const usage = usageOver();
  const cache = openWatchCache({}, { storage, clock: systemClock, observer: usage, onError: () => undefined });
  await cache.ready;
  await usage.counted;
  expect(usage.stored(one)).toMatchObject({ objects: 1, bytes: 4, latestKey: mapKey('one', 'before') });
  await cache.create(mapKey('one', 'a'), Buffer.from('12'));
  await cache.create('/registry/core/events/one/default/e', Buffer.from('1'));
  const crd = await cache.create('/registry/apiextensions.k8s.io/customresourcedefinitions/one/c', Buffer.from('123'));
  await cache.create(mapKey('two', 'a'), Buffer.from('12'));
  expect(usage.stored(one)).toMatchObject({ objects: 3, events: 1, bytes: 10, definitions: 1, definitionBytes: 3 });
  await cache.update('/registry/apiextensions.k8s.io/customresourcedefinitions/one/c', Buffer.from('1'), crd);
  expect(usage.stored(one)).toMatchObject({ objects: 3, bytes: 8, definitions: 1, definitionBytes: 1 });
  expect(usage.stored(one).lastWriteMs).toBeGreaterThan(0);
  const entry = cache.peek(mapKey('two', 'a'));
  await cache.delete(mapKey('two', 'a'), entry?.revision ?? 0);
  expect(usage.size).toBe(1);
  await cache.close();
});

test('a count in slices is equal to a count at once, whatever changes meanwhile', async () => {
  const storage = new MemoryStorage({ expiryIntervalMs: 50 });
  for (let n = 0; n < 5_000; n++) await storage.create(mapKey(`c${n % 3}`, `n${n}`), Buffer.alloc(n % 7));
  const usage = usageOver();
  const modules = { storage, clock: systemClock, observer: usage, onError: () => undefined };
  const cache = openWatchCache({ historyRevisions: 1 }, modules);
  await cache.ready;
  expect(usage.isCounted).toBe(false);
  for (let n = 0; n < 5_000; n += 9) {
    const key = mapKey(`c${n % 3}`, `n${n}`);
    const { revision } = (await storage.get(key)) as { revision: number };
    if (n % 2 === 0) await cache.delete(key, revision);
    else await cache.update(key, Buffer.alloc(100), revision);
    await cache.create(mapKey(`c${n % 3}`, `m${n}`), Buffer.alloc(3));
  }
  await usage.counted;
  for (const cluster of ['c0', 'c1', 'c2']) {
    const entries = cache.listCurrent('/registry/').filter(({ key }) => ownerOfKey(key)?.cluster === cluster);
    const bytes = entries.reduce((sum, { value }) => sum + value.length, 0);
    expect(usage.stored(cluster as LogicalClusterName)).toMatchObject({ objects: entries.length, bytes });
  }
  await cache.close();
});

const objects = (count: number): Usage => ({ objects: count, bytes: 0, events: 0, definitions: 0, definitionBytes: 0 });

describe('a reservation', () => {
  const observe = (usage: ClusterUsage, key: string): void =>
    usage.changed({ key, revision: 1, length: 0 }, undefined, true);

  async function empty(): Promise<ClusterUsage> {
    const usage = usageOver();
    usage.replaced(() => []);
    await usage.counted;
    return usage;
  }

  test('is replaced by the observation of its write, in either order with the response', async () => {
    const usage = await empty();
    const first = usage.reserve(one, mapKey('one', 'a'), objects(1));
    observe(usage, mapKey('one', 'a'));
    expect(usage.charged(one, 'objects')).toBe(1);
    first(true);
    expect(usage.charged(one, 'objects')).toBe(1);
    const second = usage.reserve(one, mapKey('one', 'b'), objects(1));
    second(true);
    expect(usage.charged(one, 'objects')).toBe(2);
    observe(usage, mapKey('one', 'b'));
    expect(usage.charged(one, 'objects')).toBe(2);
  });

  test('of a failed write is returned', async () => {
    const usage = await empty();
    usage.reserve(one, mapKey('one', 'a'), objects(1))(false);
    expect(usage.charged(one, 'objects')).toBe(0);
  });

  test('is neither lost nor counted twice when several writers want the same key', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.nat(5), { maxLength: 40 }), async (steps) => {
        const usage = await empty();
        const open: ((succeeded: boolean) => void)[] = [];
        let stored = false;
        let winner: ((succeeded: boolean) => void) | undefined;
        for (const step of steps) {
          if (step < 3) open.push(usage.reserve(one, mapKey('one', 'a'), objects(1)));
          else if (step === 3 && !stored && open.length > 0) {
            observe(usage, mapKey('one', 'a'));
            stored = true;
            winner = open.shift();
          } else if (step > 3) open.pop()?.(false);
          expect(usage.charged(one, 'objects')).toBeGreaterThanOrEqual(stored ? 1 : 0);
        }
        winner?.(true);
        for (const done of open) done(false);
        expect(usage.charged(one, 'objects')).toBe(stored ? 1 : 0);
      }),
    ));
});
