import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { DecodedObjects, ObjectReader } from '@multiplane/apiserver';
import type { AcceptablePermissionClaim, APIBinding, BoundResource } from '@multiplane/apis';
import { customResourcePrefix, type WatchCache } from '@multiplane/storage';
import { CachedObjectsFixture } from '../../test/cached-objects-fixture.ts';
import { BindingIndex } from './binding-index.ts';

const prefix = customResourcePrefix('apis.kcp.io', 'apibindings');
const consumer = 'consumer' as LogicalClusterName;
const other = 'other' as LogicalClusterName;

const bound = (resource: string, uid = `uid-of-${resource}`, identityHash = 'abc'): BoundResource => ({
  group: 'example.com',
  resource,
  schema: { name: `v1.${resource}.example.com`, UID: uid, identityHash },
});

interface Wanted {
  readonly bound?: BoundResource[];
  readonly claims?: AcceptablePermissionClaim[];
  readonly deletionTimestamp?: string;
}

function binding(name: string, wanted: Wanted): APIBinding {
  return {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: {
      name,
      uid: `uid-of-${name}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { 'internal.apis.kcp.io/export': 'hash' },
      ...(wanted.deletionTimestamp === undefined ? {} : { deletionTimestamp: wanted.deletionTimestamp }),
    },
    spec: {
      reference: { export: { path: 'root:provider', name: 'things' } },
      ...(wanted.claims === undefined ? {} : { permissionClaims: wanted.claims }),
    },
    status: { apiExportClusterName: 'provider', boundResources: wanted.bound ?? [] },
  };
}

let objects: CachedObjectsFixture;
let cache: WatchCache;
let index: BindingIndex;
let reader: ObjectReader;
beforeEach(async () => {
  objects = await CachedObjectsFixture.open();
  ({ cache, reader } = objects);
  index = new BindingIndex({}, { cache, reader });
  index.start();
  await index.synced;
});
afterEach(async () => {
  index.stop();
  await cache.close();
});

const put = (cluster: LogicalClusterName, name: string, wanted: Wanted): Promise<void> =>
  objects.put(prefix, { cluster, namespace: '', name }, binding(name, wanted));
const remove = (cluster: LogicalClusterName, name: string): Promise<void> =>
  objects.remove(prefix, { cluster, namespace: '', name });

describe('a logical cluster', () => {
  test('has the resources of its own bindings only', async () => {
    const claims: AcceptablePermissionClaim[] = [{ resource: 'configmaps', verbs: ['*'], state: 'Accepted' }];
    await put(consumer, 'b', { bound: [bound('hats')], claims });
    await put(other, 'a', { bound: [bound('caps')] });
    expect(index.of(consumer)).toEqual([
      {
        name: 'b',
        exportCluster: 'provider',
        exportPath: 'root:provider',
        exportName: 'things',
        deleting: false,
        released: false,
        bound: [bound('hats')],
        claims,
        exportClaims: [],
        labels: { 'internal.apis.kcp.io/export': 'hash' },
      },
    ]);
    expect(index.boundResource(consumer, 'example.com', 'hats')?.binding.name).toBe('b');
    expect(index.boundResource(consumer, 'example.com', 'caps')).toBeUndefined();
    expect(index.boundResource(consumer, 'other.com', 'hats')).toBeUndefined();
    expect(index.of('unbound' as LogicalClusterName)).toEqual([]);
  });

  test('notifies of changes when reads return the new state', async () => {
    expect(index.of(consumer)).toEqual([]);
    const notified: [string, string[]][] = [];
    const stop = index.subscribe((cluster) =>
      notified.push([cluster, Array.from(index.boundResources(cluster)).map((one) => one.bound.resource)]),
    );
    await put(consumer, 'a', { bound: [bound('hats')] });
    await put(consumer, 'a', { bound: [bound('hats'), bound('caps')] });
    await remove(consumer, 'a');
    stop();
    await put(consumer, 'a', {});
    expect(notified).toEqual([
      [consumer, ['hats']],
      [consumer, ['hats', 'caps']],
      [consumer, []],
    ]);
  });

  test('prefers a binding over one that is being deleted', async () => {
    await put(consumer, 'a', { bound: [bound('hats', '1')], deletionTimestamp: '2026-01-01T00:00:00Z' });
    expect(index.boundResource(consumer, 'example.com', 'hats')?.binding).toMatchObject({ name: 'a', deleting: true });
    await put(consumer, 'b', { bound: [bound('hats', '2')] });
    expect(index.boundResource(consumer, 'example.com', 'hats')?.bound.schema.UID).toBe('2');
    await put(consumer, 'c', { bound: [bound('hats', '3')], deletionTimestamp: '2026-01-01T00:00:00Z' });
    expect(index.boundResource(consumer, 'example.com', 'hats')?.bound.schema.UID).toBe('2');
  });

  test('is computed again after eviction', async () => {
    index.stop();
    index = new BindingIndex(
      { maxWeight: 4 },
      { cache, reader: new ObjectReader({ decoded: new DecodedObjects({ maxBytes: 1024 }) }) },
    );
    index.start();
    for (let i = 0; i < 5; i++) await put(`c${i}` as LogicalClusterName, 'a', { bound: [bound(`r${i}`)] });
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 5; i++) {
        expect(index.boundResource(`c${i}` as LogicalClusterName, 'example.com', `r${i}`)?.binding.name).toBe('a');
      }
    }
  });
});

test('a change decodes one binding, whatever the number of bindings', async () => {
  for (let at = 0; at < 20; at++) await put(consumer, `b${at}`, { bound: [bound(`r${at}`)] });
  const names = (): string[] => index.of(consumer).map(({ name }) => name);
  const reads = jest.spyOn(reader, 'stored');
  const before = names();
  expect(before).toHaveLength(20);
  reads.mockClear();
  await put(consumer, 'b3', { bound: [bound('other')] });
  await put(consumer, 'b11', {});
  await put(consumer, 'b11a', { bound: [bound('r11')] });
  await remove(consumer, 'b5');
  await put(consumer, 'b5', { bound: [bound('r5')] });
  await remove(consumer, 'b7');
  reads.mockClear();
  expect(names()).toEqual([...before.filter((name) => name !== 'b7'), 'b11a'].toSorted());
  expect(reads).toHaveBeenCalledTimes(4);
  expect(index.boundResource(consumer, 'example.com', 'r3')).toBeUndefined();
  expect(index.boundResource(consumer, 'example.com', 'r7')).toBeUndefined();
  expect(index.boundResource(consumer, 'example.com', 'other')?.binding.name).toBe('b3');
  expect(index.boundResource(consumer, 'example.com', 'r11')?.binding.name).toBe('b11a');
  for (const name of names()) await remove(consumer, name);
  expect(index.of(consumer)).toEqual([]);
  await put(consumer, 'again', {});
  expect(names()).toEqual(['again']);
});

describe('the schemas of an identity', () => {
  test('are sorted by their number of bindings', async () => {
    await put(consumer, 'a', { bound: [bound('hats', 'old')] });
    await put(other, 'a', { bound: [bound('hats', 'new')] });
    await put('third' as LogicalClusterName, 'a', { bound: [bound('hats', 'new')] });
    expect(index.schemasOf('abc', 'example.com', 'hats')).toEqual(['new', 'old']);
    expect(index.schemasOf('xyz', 'example.com', 'hats')).toEqual([]);
    await put(consumer, 'a', { bound: [bound('hats', 'new')] });
    expect(index.schemasOf('abc', 'example.com', 'hats')).toEqual(['new']);
    await remove(consumer, 'a');
    await remove(other, 'a');
    await remove('third' as LogicalClusterName, 'a');
    expect(index.schemasOf('abc', 'example.com', 'hats')).toEqual([]);
  });

  test('include bindings from before the start', async () => {
    await put(consumer, 'a', { bound: [bound('hats', 'old')] });
    const late = new BindingIndex(
      {},
      { cache, reader: new ObjectReader({ decoded: new DecodedObjects({ maxBytes: 1024 }) }) },
    );
    late.start();
    await late.synced;
    expect(late.schemasOf('abc', 'example.com', 'hats')).toEqual(['old']);
    late.stop();
  });
});
