import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pathAnnotation, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  apiResourceSchemas,
  cachedResourceEndpointSlices,
  cachedResources,
  type APIBinding,
  type APIExport,
  type CachedResource,
  type CachedResourceEndpointSlice,
} from '@multiplane/apis';
import { PathAndNameIndex } from '@multiplane/client';
import { silentLogger } from '@multiplane/component-base';
import { FakeClock, advanceUntilIdle } from '@multiplane/testing';
import { FakeApi } from '../../test/fake-api.ts';
import { ExportReferenceIndex } from '../apis/export-reference-index.ts';
import { bindingExportReference } from '../apis/export-reference.ts';
import type { Controller } from '../runtime/controller.ts';
import { shards } from '../sharding/kinds.ts';
import { partitions } from '../topology/kinds.ts';
import { cachedResourceSliceController } from './cached-resource-slice-controller.ts';
import { cachedResourceSliceUrlController } from './cached-resource-slice-url-controller.ts';

const provider = 'provider' as LogicalClusterName;
const root = 'root' as LogicalClusterName;
const url = 'https://east/vw/services/replication/provider/flavors';

const shard = (region: string): KubeObject => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'Shard',
  metadata: { name: 'east', labels: { region } },
  spec: { baseURL: 'https://east', virtualWorkspaceURL: 'https://east/vw/' },
});
const binding = (name: string): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIBinding',
  metadata: { name },
  spec: { reference: { export: { path: 'root:provider', name: 'cloud' } } },
});
const consumer = (name: string): LogicalClusterName => name as LogicalClusterName;

let api: FakeApi;
let clock: FakeClock;
let controllers: Controller[];
beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
  const { informers, client } = api;
  const modules = {
    informers,
    globalInformers: informers,
    client,
    clock,
    logger: silentLogger,
    clientFor: () => client,
    exports: new PathAndNameIndex({ informer: informers.informer<APIExport>(apiExports) }),
    cachedResources: new PathAndNameIndex({ informer: informers.informer<CachedResource>(cachedResources) }),
    byExport: new ExportReferenceIndex(
      { referenceIn: bindingExportReference },
      { informer: informers.informer<APIBinding>(apiBindings) },
    ),
  };
  controllers = [
    cachedResourceSliceController(modules),
    cachedResourceSliceUrlController({ shardName: 'east' }, modules),
  ];
  for (const controller of controllers) void controller.start();
  api.put(shards, root, shard('eu'));
  api.put(cachedResources, provider, {
    apiVersion: 'cache.kcp.io/v1alpha1',
    kind: 'CachedResource',
    metadata: { name: 'flavors' },
    spec: { group: 'example.io', version: 'v1', resource: 'flavors' },
    status: { identityHash: 'hash' },
  });
  api.put(apiResourceSchemas, provider, {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: 'v1.flavors.example.io' },
    spec: {
      group: 'example.io',
      names: { plural: 'flavors', kind: 'Flavor' },
      scope: 'Cluster',
      versions: [{ name: 'v1', served: true, storage: true, schema: {} }],
    },
  });
  api.put(apiExports, provider, {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name: 'cloud', annotations: { [pathAnnotation]: 'root:provider' } },
    spec: {
      resources: [
        {
          name: 'flavors',
          group: 'example.io',
          schema: 'v1.flavors.example.io',
          storage: {
            virtual: {
              reference: { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: 'flavors' },
              identityHash: 'hash',
            },
          },
        },
      ],
    },
  });
});
afterEach(() => Promise.all(controllers.map((controller) => controller.stop())));
const settled = (): Promise<void> => advanceUntilIdle(clock, 100, controllers);
const putSlice = (partition?: string): void =>
  void api.put(cachedResourceEndpointSlices, provider, {
    apiVersion: 'cache.kcp.io/v1alpha1',
    kind: 'CachedResourceEndpointSlice',
    metadata: { name: 'flavors' },
    spec: { cachedResource: { name: 'flavors' }, ...(partition === undefined ? {} : { partition }) },
  });
const urls = (): string[] =>
  (
    api.get<CachedResourceEndpointSlice>(cachedResourceEndpointSlices, provider, 'flavors')?.status?.endpoints ?? []
  ).map((endpoint) => endpoint.url);

test('the URL of a shard is published with its first consumer and removed with the last one', async () => {
  putSlice();
  await settled();
  expect(urls()).toEqual([]);
  api.put(apiBindings, consumer('a'), binding('cloud'));
  await settled();
  expect(urls()).toEqual([url]);
  api.put(apiBindings, consumer('b'), binding('cloud'));
  api.remove(apiBindings, { cluster: consumer('a'), namespace: '', name: 'cloud' });
  await settled();
  expect(urls()).toEqual([url]);
  api.remove(apiBindings, { cluster: consumer('b'), namespace: '', name: 'cloud' });
  await settled();
  expect(urls()).toEqual([]);
});

test('a partition restricts the shards, by labels and expressions', async () => {
  api.put(partitions, provider, {
    apiVersion: 'topology.kcp.io/v1alpha1',
    kind: 'Partition',
    metadata: { name: 'north' },
    spec: { selector: { matchExpressions: [{ key: 'region', operator: 'In', values: ['us', 'ca'] }] } },
  });
  putSlice('north');
  api.put(apiBindings, consumer('a'), binding('cloud'));
  await settled();
  expect(urls()).toEqual([]);
  api.put(shards, root, shard('us'));
  await settled();
  expect(urls()).toEqual([url]);
});

test('the binding may be there before the slice', async () => {
  api.put(apiBindings, consumer('a'), binding('cloud'));
  await settled();
  putSlice();
  await settled();
  expect(urls()).toEqual([url]);
});
