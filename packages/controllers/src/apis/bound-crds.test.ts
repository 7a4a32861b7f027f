import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiConversions,
  apiExports,
  apiResourceSchemas,
  cachedResources,
  type CachedResource,
  boundDefinitionsCluster,
  conversionsAnnotation,
  type APIExport,
} from '@multiplane/apis';
import { PathAndNameIndex } from '@multiplane/client';
import { silentLogger } from '@multiplane/component-base';
import { FakeClock, advanceUntilIdle } from '@multiplane/testing';
import { crds } from '../apiextensions/crd-names.ts';
import type { Controller } from '../runtime/controller.ts';
import { FakeApi } from '../../test/fake-api.ts';
import { apiSharingControllers } from './api-sharing-controllers.ts';

const provider = 'provider' as LogicalClusterName;
const consumer = 'consumer' as LogicalClusterName;
const bound = boundDefinitionsCluster as LogicalClusterName;
const minute = 60_000;

let api: FakeApi;
let clock: FakeClock;
let controllers: Controller[];
beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
  const { informers, client } = api;
  controllers = apiSharingControllers(
    { shardName: 'root' },
    {
      informers,
      globalInformers: informers,
      client,
      clock,
      logger: silentLogger,
      exports: new PathAndNameIndex({ informer: informers.informer<APIExport>(apiExports) }),
      cachedResources: new PathAndNameIndex({ informer: informers.informer<CachedResource>(cachedResources) }),
      cacheApis: true,
      findEndpointSlice: async () => ({ resource: { group: '', version: '', resource: '' }, object: undefined }),
      clientFor: () => client,
      createWithStatus: (resource, cluster, object) => client.create(resource, cluster, object),
      scopedObjects: { countByValue: () => Promise.resolve(new Map()) },
      updateWithStatus: (cluster, object) => api.updateWithStatus(apiBindings, cluster, object),
    },
  );
  for (const controller of controllers) void controller.start();
  api.put(apiResourceSchemas, provider, schema);
  api.put(crds, bound, definition);
});
afterEach(() => Promise.all(controllers.map((controller) => controller.stop())));

const schema: KubeObject = {
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'APIResourceSchema',
  metadata: { name: 'v1.widgets.example.dev', uid: 'schema' },
};
const definition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'schema',
    annotations: {
      'apis.kcp.io/schema-cluster': 'provider',
      'apis.kcp.io/schema-name': 'v1.widgets.example.dev',
      'example.dev/other': 'kept',
    },
  },
  spec: { group: 'example.dev', names: { plural: 'widgets' } },
};
const bindingOf = (more: object): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIBinding',
  metadata: { name: 'things' },
  ...more,
});
const user = bindingOf({
  status: { boundResources: [{ group: 'example.dev', resource: 'widgets', schema: { UID: 'schema' } }] },
});
const pass = (ms: number): Promise<void> => advanceUntilIdle(clock, ms, controllers);
const exists = (): boolean => api.get(crds, bound, 'schema') !== undefined;

describe('a bound definition', () => {
  test('is deleted after half an hour without use', async () => {
    await pass(29 * minute);
    expect(exists()).toBe(true);
    await pass(2 * minute);
    expect(exists()).toBe(false);
  });

  test('is kept while a binding uses its schema, and half an hour longer', async () => {
    api.put(apiBindings, consumer, user);
    await pass(120 * minute);
    expect(exists()).toBe(true);
    api.remove(apiBindings, { cluster: consumer, namespace: '', name: 'things' });
    await pass(29 * minute);
    expect(exists()).toBe(true);
    await pass(2 * minute);
    expect(exists()).toBe(false);
  });

  test('restarts the half hour when it is used in between', async () => {
    await pass(20 * minute);
    api.put(apiBindings, consumer, user);
    api.remove(apiBindings, { cluster: consumer, namespace: '', name: 'things' });
    await pass(20 * minute);
    expect(exists()).toBe(true);
    await pass(11 * minute);
    expect(exists()).toBe(false);
  });

  test('is kept while its resource is claimed with the identity of its export', async () => {
    api.put(apiExports, provider, {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIExport',
      metadata: { name: 'things' },
      spec: { resources: [{ name: 'widgets', group: 'example.dev', schema: 'v1.widgets.example.dev' }] },
      status: { identityHash: 'hash' },
    });
    const claim = { group: 'example.dev', resource: 'widgets', identityHash: 'hash', verbs: ['*'], state: 'Accepted' };
    api.put(apiBindings, consumer, bindingOf({ spec: { permissionClaims: [claim] } }));
    await pass(120 * minute);
    expect(exists()).toBe(true);
    api.put(apiBindings, consumer, bindingOf({ spec: { permissionClaims: [{ ...claim, state: 'Rejected' }] } }));
    await pass(120 * minute);
    expect(exists()).toBe(false);
  });

  test('follows the APIConversion of its schema and keeps its other annotations', async () => {
    const conversion = (rules: object[]): KubeObject => ({
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIConversion',
      metadata: { name: 'v1.widgets.example.dev' },
      spec: { conversions: [{ from: 'v1', to: 'v2', rules: rules as [] }] },
    });
    const annotations = () => api.get(crds, bound, 'schema')?.metadata.annotations;
    api.put(apiConversions, provider, conversion([]));
    await pass(10);
    expect(annotations()?.[conversionsAnnotation]).toBe('[{"from":"v1","to":"v2","rules":[]}]');
    api.put(apiConversions, provider, conversion([{ field: '.a', destination: '.b' }]));
    await pass(10);
    expect(annotations()?.[conversionsAnnotation]).toContain('"destination":".b"');
    api.remove(apiConversions, { cluster: provider, namespace: '', name: 'v1.widgets.example.dev' });
    await pass(10);
    expect(annotations()).not.toHaveProperty([conversionsAnnotation]);
    expect(annotations()?.['example.dev/other']).toBe('kept');
  });
});

describe('extra annotations of an export', () => {
  const exportWith = (annotations: Record<string, string>): KubeObject => ({
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name: 'things', annotations },
  });
  test('are added to, changed on and removed from its bindings', async () => {
    const reference = { spec: { reference: { export: { path: 'provider', name: 'things' } } } };
    api.put(apiExports, provider, exportWith({ 'extra.apis.kcp.io/a': '1', 'other.io/x': 'no' }));
    api.put(apiBindings, consumer, bindingOf(reference));
    const annotations = () => api.get(apiBindings, consumer, 'things')?.metadata.annotations;
    await pass(10);
    expect(annotations()).toMatchObject({ 'extra.apis.kcp.io/a': '1' });
    expect(annotations()).not.toHaveProperty(['other.io/x']);
    api.put(apiExports, provider, exportWith({ 'extra.apis.kcp.io/b': '2' }));
    await pass(10);
    expect(annotations()).toMatchObject({ 'extra.apis.kcp.io/b': '2' });
    expect(annotations()).not.toHaveProperty(['extra.apis.kcp.io/a']);
  });

  test('are removed from its bindings when it is deleted, and no others', async () => {
    const reference = { spec: { reference: { export: { path: 'provider', name: 'things' } } } };
    api.put(apiExports, provider, exportWith({ 'extra.apis.kcp.io/a': '1' }));
    const binding = bindingOf(reference);
    api.put(apiBindings, consumer, {
      ...binding,
      metadata: { ...binding.metadata, annotations: { 'a.io/own': 'kept' } },
    });
    await pass(10);
    api.remove(apiExports, { cluster: provider, namespace: '', name: 'things' });
    await pass(10);
    const annotations = api.get(apiBindings, consumer, 'things')?.metadata.annotations;
    expect(annotations).not.toHaveProperty(['extra.apis.kcp.io/a']);
    expect(annotations).toHaveProperty(['a.io/own'], 'kept');
  });

  test('are not copied from a different export at the same path', async () => {
    const status = {
      apiExportClusterName: 'former',
      boundResources: [
        { group: 'example.dev', resource: 'widgets', schema: { name: 's', UID: 'schema', identityHash: 'former' } },
      ],
    };
    const reference = { spec: { reference: { export: { path: 'provider', name: 'things' } } }, status };
    api.put(apiBindings, consumer, bindingOf(reference));
    api.put(apiExports, provider, exportWith({ 'extra.apis.kcp.io/a': 'forged' }));
    await pass(10);
    expect(api.get(apiBindings, consumer, 'things')?.metadata.annotations).not.toHaveProperty(['extra.apis.kcp.io/a']);
  });
});
