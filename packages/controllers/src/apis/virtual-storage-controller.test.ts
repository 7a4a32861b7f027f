import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiExports,
  apiResourceSchemas,
  cachedResourceEndpointSlices,
  cachedResources,
  type APIExport,
  type CachedResource,
  type CachedResourceEndpointSlice,
} from '@multiplane/apis';
import { PathAndNameIndex } from '@multiplane/client';
import { silentLogger } from '@multiplane/component-base';
import { FakeClock, advanceUntilIdle } from '@multiplane/testing';
import { FakeApi } from '../../test/fake-api.ts';
import { cachedResourceSliceController } from '../cache/cached-resource-slice-controller.ts';
import type { Controller } from '../runtime/controller.ts';
import { partitions } from '../topology/kinds.ts';
import { virtualStorageController } from './virtual-storage-controller.ts';

const cluster = 'provider' as LogicalClusterName;
const cacheGroup = 'cache.kcp.io';

const exportOf = (identityHash: string, reference: object = {}): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIExport',
  metadata: { name: 'cloud' },
  spec: {
    resources: [
      {
        name: 'flavors',
        group: 'example.io',
        schema: 'v1.flavors.example.io',
        storage: {
          virtual: {
            reference: { apiGroup: cacheGroup, kind: 'CachedResourceEndpointSlice', name: 'flavors', ...reference },
            identityHash,
          },
        },
      },
    ],
  },
});
const cached = (identityHash: string): KubeObject => ({
  apiVersion: 'cache.kcp.io/v1alpha1',
  kind: 'CachedResource',
  metadata: { name: 'flavors' },
  spec: { group: 'example.io', version: 'v1', resource: 'flavors' },
  status: { identityHash },
});
const schema: KubeObject = {
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'APIResourceSchema',
  metadata: { name: 'v1.flavors.example.io' },
  spec: {
    group: 'example.io',
    names: { plural: 'flavors', kind: 'Flavor' },
    scope: 'Cluster',
    versions: [{ name: 'v1', served: true, storage: true, schema: {} }],
  },
};
const slice = (spec: object = {}): KubeObject => ({
  apiVersion: 'cache.kcp.io/v1alpha1',
  kind: 'CachedResourceEndpointSlice',
  metadata: { name: 'flavors' },
  spec: { cachedResource: { name: 'flavors' }, ...spec },
});

let api: FakeApi;
let clock: FakeClock;
let controllers: Controller[];
/** Endpoint slices of the provider's own kind, and whether its CustomResourceDefinition exists. */
const flavorSlices = { group: 'example.io', version: 'v1', resource: 'flavorslices' };
let isKindKnown: boolean;
beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
  isKindKnown = false;
  const { informers, client } = api;
  const modules = {
    informers,
    globalInformers: informers,
    client,
    clock,
    logger: silentLogger,
    cachedResources: new PathAndNameIndex({ informer: informers.informer<CachedResource>(cachedResources) }),
  };
  controllers = [
    virtualStorageController({
      ...modules,
      cacheApis: true,
      findEndpointSlice: async (_cluster, { apiGroup, name }) => {
        const resource = apiGroup === cacheGroup ? cachedResourceEndpointSlices : flavorSlices;
        if (resource === flavorSlices && !isKindKnown) return 'unknown kind';
        return { resource, object: api.get(resource, cluster, name) };
      },
    }),
    cachedResourceSliceController(modules),
  ];
  for (const controller of controllers) void controller.start();
});
afterEach(() => Promise.all(controllers.map((controller) => controller.stop())));
const settled = (ms = 100): Promise<void> => advanceUntilIdle(clock, ms, controllers);
const summaryOf = (
  conditions: readonly { readonly type: string; readonly status: string; readonly reason?: string | undefined }[] = [],
  wanted: string,
): string | undefined => {
  const found = conditions.find(({ type }) => type === wanted);
  return found === undefined ? undefined : [found.status, found.reason].filter(Boolean).join(' ');
};
const virtualStorageValid = (): string | undefined =>
  summaryOf(api.get<APIExport>(apiExports, cluster, 'cloud')?.status?.conditions, 'VirtualStorageValid');
const sliceStatus = () =>
  api.get<CachedResourceEndpointSlice>(cachedResourceEndpointSlices, cluster, 'flavors')?.status;
const sliceCondition = (type: string): string | undefined => summaryOf(sliceStatus()?.conditions, type);

describe('VirtualStorageValid of an APIExport', () => {
  const messageOf = (): string | undefined =>
    api
      .get<APIExport>(apiExports, cluster, 'cloud')
      ?.status?.conditions?.find(({ type }) => type === 'VirtualStorageValid')?.message;

  test('says what to do about a missing slice', async () => {
    api.put(apiExports, cluster, exportOf('hash'));
    await settled();
    expect(messageOf()).toMatch(
      /"flavors" not found .*; create the CachedResource of this name, with which it is made/,
    );
    api.put(cachedResources, cluster, cached('hash'));
    await settled();
    expect(messageOf()).toMatch(
      /; create it, or remove the annotation \S+skip-endpointslice of CachedResource flavors$/,
    );
    api.put(cachedResourceEndpointSlices, cluster, slice());
    await settled();
    expect(messageOf()).toMatch(/not found; create an APIResourceSchema that fits, and refer to it in the APIExport$/);
  });

  test('names the first missing object until all exist and match', async () => {
    api.put(apiExports, cluster, exportOf('hash'));
    await settled();
    expect(virtualStorageValid()).toBe('False EndpointSliceNotFound');
    api.put(cachedResourceEndpointSlices, cluster, slice());
    await settled();
    expect(virtualStorageValid()).toBe('False CachedResourceNotFound');
    api.put(cachedResources, cluster, cached('other'));
    await settled();
    expect(virtualStorageValid()).toBe('False IdentityMismatch');
    api.put(cachedResources, cluster, cached('hash'));
    await settled();
    expect(virtualStorageValid()).toBe('False APIResourceSchemaInvalid');
    api.put(apiResourceSchemas, cluster, schema);
    await settled();
    expect(virtualStorageValid()).toBe('True');
    api.remove(cachedResourceEndpointSlices, { cluster, namespace: '', name: 'flavors' });
    await settled();
    expect(virtualStorageValid()).toBe('False EndpointSliceNotFound');
  });

  const ownSlice = (status?: object): KubeObject => ({
    apiVersion: 'example.io/v1',
    kind: 'FlavorSlice',
    metadata: { name: 'flavors' },
    ...(status === undefined ? {} : { status }),
  });
  const virtualResources = () => api.get<APIExport>(apiExports, cluster, 'cloud')?.status?.virtualResources;

  test('follows endpoint slices of kinds of the provider, whose endpoints are in the status', async () => {
    api.put(apiExports, cluster, exportOf('', { apiGroup: 'example.io', kind: 'FlavorSlice' }));
    await settled();
    expect(virtualStorageValid()).toBe('False UnknownEndpointSliceKind');
    isKindKnown = true;
    await settled(11_000);
    expect(virtualStorageValid()).toBe('False EndpointSliceNotFound');
    api.put(flavorSlices, cluster, ownSlice());
    await settled();
    expect(virtualStorageValid()).toBe('False NoEndpoints');
    expect(virtualResources()).toBeUndefined();
    api.put(
      flavorSlices,
      cluster,
      ownSlice({ endpoints: [{ url: 'https://b' }, { url: 'https://a' }, { url: 'https://b' }] }),
    );
    await settled();
    expect(virtualStorageValid()).toBe('True');
    expect(virtualResources()).toEqual([
      { group: 'example.io', name: 'flavors', endpoints: [{ url: 'https://b' }, { url: 'https://a' }] },
    ]);
    api.remove(flavorSlices, { cluster, namespace: '', name: 'flavors' });
    await settled();
    expect(virtualStorageValid()).toBe('False EndpointSliceNotFound');
    expect(virtualResources()).toBeUndefined();
  });

  test('keeps the shards that the endpoints of such a slice are for', async () => {
    isKindKnown = true;
    const endpoints = [
      { url: 'https://all', shards: { matchAll: true } },
      { url: 'https://eu', shards: { selector: { matchLabels: { region: 'eu' } } } },
    ];
    api.put(flavorSlices, cluster, ownSlice({ endpoints }));
    api.put(apiExports, cluster, exportOf('', { apiGroup: 'example.io', kind: 'FlavorSlice' }));
    await settled();
    expect(virtualStorageValid()).toBe('True');
    expect(virtualResources()?.[0]?.endpoints).toEqual(endpoints);
  });

  test.each([
    ['a text', 'ready'],
    ['no list', { endpoints: 'x' }],
    ['no url', { endpoints: [{ url: 'https://a' }, {}] }],
    ['plain http', { endpoints: [{ url: 'http://a' }] }],
    ['credentials', { endpoints: [{ url: 'https://user:password@a' }] }],
    ['a query', { endpoints: [{ url: 'https://a/?b=' }] }],
    ['shards that are a text', { endpoints: [{ url: 'https://a', shards: 'eu' }] }],
    ['matchAll and a selector', { endpoints: [{ url: 'https://a', shards: { matchAll: true, selector: {} } }] }],
    [
      'an unknown operator',
      {
        endpoints: [{ url: 'https://a', shards: { selector: { matchExpressions: [{ key: 'a', operator: 'Near' }] } } }],
      },
    ],
    [
      'one url with different shards',
      { endpoints: [{ url: 'https://a', shards: { matchAll: true } }, { url: 'https://a' }] },
    ],
    ['too many', { endpoints: Array.from({ length: 65 }, (_, index) => ({ url: `https://a/${index}` })) }],
  ])('refuses a whole slice because of %s', async (_what, status) => {
    isKindKnown = true;
    api.put(flavorSlices, cluster, { ...ownSlice(), status });
    api.put(apiExports, cluster, exportOf('', { apiGroup: 'example.io', kind: 'FlavorSlice' }));
    await settled();
    expect(virtualStorageValid()).toBe('False InvalidEndpoints');
    expect(virtualResources()).toBeUndefined();
  });

  test('is removed with the last virtual resource', async () => {
    api.put(apiExports, cluster, exportOf('hash'));
    await settled();
    const object = api.get<APIExport>(apiExports, cluster, 'cloud') as unknown as APIExport;
    api.put(apiExports, cluster, { ...object, spec: { resources: [] } });
    await settled();
    expect(virtualStorageValid()).toBeUndefined();
  });
});

describe('a CachedResourceEndpointSlice', () => {
  test('reports the first condition that fails, without endpoints', async () => {
    api.put(cachedResourceEndpointSlices, cluster, {
      ...slice({ partition: 'eu' }),
      status: { endpoints: [{ url: 'https://east' }] },
    });
    await settled();
    expect(sliceCondition('ResourceValid')).toBe('False CachedResourceNotFound');
    expect(sliceStatus()?.endpoints).toBeUndefined();
    api.put(cachedResources, cluster, cached('hash'));
    await settled();
    expect(sliceCondition('ResourceValid')).toBe('True');
    expect(sliceCondition('APIExportValid')).toBe('False APIExportInvalidReference');
    api.put(apiExports, cluster, exportOf('other'));
    await settled();
    expect(sliceCondition('APIExportValid')).toBe('False IdentityMismatch');
    api.put(apiResourceSchemas, cluster, schema);
    api.put(apiExports, cluster, exportOf('hash'));
    await settled();
    expect(sliceCondition('APIExportValid')).toBe('True');
    expect(sliceCondition('PartitionValid')).toBe('False PartitionInvalidReference');
    api.put(partitions, cluster, {
      apiVersion: 'topology.kcp.io/v1alpha1',
      kind: 'Partition',
      metadata: { name: 'eu' },
      spec: { selector: { matchLabels: { region: 'eu' } } },
    });
    await settled();
    expect(sliceCondition('PartitionValid')).toBe('True');
    expect(sliceStatus()?.shardSelector).toBe('region=eu');
  });
});
