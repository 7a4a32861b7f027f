import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  apiExportScopeEndpointSlices,
  apiExportScopes,
  skipScopeSliceAnnotation,
  type APIBinding,
  type APIExport,
  type APIExportScope,
  type APIExportScopeEndpointSlice,
} from '@multiplane/apis';
import { PathAndNameIndex } from '@multiplane/client';
import { silentLogger } from '@multiplane/component-base';
import { advanceUntilIdle, FakeClock } from '@multiplane/testing';
import { FakeApi } from '../../test/fake-api.ts';
import { bindingExportReference } from '../apis/export-reference.ts';
import { ExportReferenceIndex } from '../apis/export-reference-index.ts';
import type { Controller } from '../runtime/controller.ts';
import { shards } from '../sharding/kinds.ts';
import { partitions } from '../topology/kinds.ts';
import { scopeController } from './scope-controller.ts';
import { scopeSliceController } from './scope-slice-controller.ts';
import { scopeSliceUrlController } from './scope-slice-url-controller.ts';

const provider = 'provider' as LogicalClusterName;
const consumer = 'consumer' as LogicalClusterName;
const root = 'root' as LogicalClusterName;
const url = 'https://east/vw/services/apiexport-scope/provider/a';

const market = (status: object = { identityHash: 'identity' }): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIExport',
  metadata: { name: 'market' },
  spec: {},
  status,
});
const scope = (name: string, more: { annotations?: Record<string, string>; exportName?: string } = {}): KubeObject => ({
  apiVersion: 'scopes.multiplane.dev/v1alpha1',
  kind: 'APIExportScope',
  metadata: {
    name,
    uid: `uid-of-${name}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...(more.annotations === undefined ? {} : { annotations: more.annotations }),
  },
  spec: { export: { name: more.exportName ?? 'market' }, selector: { matchLabels: { provider: name } } },
});
const slice = (name: string, scopeName: string, partition?: string): KubeObject => ({
  apiVersion: 'scopes.multiplane.dev/v1alpha1',
  kind: 'APIExportScopeEndpointSlice',
  metadata: { name },
  spec: { scope: { name: scopeName }, ...(partition === undefined ? {} : { partition }) },
});
const shard = (labels: Record<string, string>): KubeObject => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'Shard',
  metadata: { name: 'east', labels },
  spec: { baseURL: 'https://east', virtualWorkspaceURL: 'https://east/vw/' },
});
const partition = (name: string, region: string): KubeObject => ({
  apiVersion: 'topology.kcp.io/v1alpha1',
  kind: 'Partition',
  metadata: { name },
  spec: { selector: { matchLabels: { region } } },
});

let api: FakeApi;
let clock: FakeClock;
let controllers: Controller[];
const settled = (): Promise<void> => advanceUntilIdle(clock, 100, controllers);
const statusOf = (name: string) =>
  api.get<APIExportScopeEndpointSlice>(apiExportScopeEndpointSlices, provider, name)?.status;
const urlsOf = (name: string): string[] => (statusOf(name)?.endpoints ?? []).map((endpoint) => endpoint.url);
const textOf = (
  status:
    | { readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[] }
    | undefined,
  wanted: string,
): string | undefined => {
  const found = status?.conditions?.find(({ type }) => type === wanted);
  return found === undefined ? undefined : [found.status, found.reason].filter(Boolean).join(' ');
};
const ofSlice = (name: string, wanted: string): string | undefined => textOf(statusOf(name), wanted);
const ofScope = (name: string, wanted: string): string | undefined =>
  textOf(api.get<APIExportScope>(apiExportScopes, provider, name)?.status, wanted);
const bind = (): KubeObject =>
  api.put(apiBindings, consumer, {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name: 'market' },
    spec: { reference: { export: { path: 'provider', name: 'market' } } },
  });

beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
  const { informers, client } = api;
  api.put(shards, root, shard({ region: 'eu' }));
  api.put(apiExports, provider, market());
  const modules = {
    informers,
    globalInformers: informers,
    client,
    clock,
    logger: silentLogger,
    exports: new PathAndNameIndex({ informer: informers.informer<APIExport>(apiExports) }),
    byExport: new ExportReferenceIndex(
      { referenceIn: bindingExportReference },
      { informer: informers.informer<APIBinding>(apiBindings) },
    ),
    clientFor: () => client,
  };
  controllers = [
    scopeController(modules),
    scopeSliceController(modules),
    scopeSliceUrlController({ shardName: 'east' }, modules),
  ];
  for (const controller of controllers) void controller.start();
});
afterEach(() => Promise.all(controllers.map((controller) => controller.stop())));

describe('endpoint slices of scopes', () => {
  test('are created with the scope, unless it says otherwise, and again when they are deleted', async () => {
    api.put(apiExportScopes, provider, scope('a'));
    api.put(apiExportScopes, provider, scope('b', { annotations: { [skipScopeSliceAnnotation]: 'true' } }));
    await settled();
    expect(api.all(apiExportScopeEndpointSlices, provider)).toMatchObject([
      {
        metadata: { name: 'a', ownerReferences: [{ kind: 'APIExportScope', name: 'a', uid: 'uid-of-a' }] },
        spec: { scope: { name: 'a' } },
      },
    ]);
    expect([ofScope('a', 'EndpointsReady'), ofScope('b', 'EndpointsReady')]).toEqual([
      'False NoConsumers',
      'False NoEndpointSlice',
    ]);
    api.remove(apiExportScopeEndpointSlices, { cluster: provider, namespace: '', name: 'a' });
    await settled();
    expect(api.all(apiExportScopeEndpointSlices, provider)).toHaveLength(1);
  });

  test('have the URL of the shard while it has a consumer and the scope is in force', async () => {
    api.put(apiExportScopes, provider, scope('a'));
    await settled();
    expect([urlsOf('a'), ofSlice('a', 'ScopeValid')]).toEqual([[], 'True']);
    bind();
    await settled();
    expect(urlsOf('a')).toEqual([url]);
    expect(ofScope('a', 'EndpointsReady')).toBe('True');
    api.remove(apiBindings, { cluster: consumer, namespace: '', name: 'market' });
    await settled();
    expect(urlsOf('a')).toEqual([]);
  });

  test('have no URL of a scope that is missing or not in force, until it is', async () => {
    bind();
    api.put(apiExportScopeEndpointSlices, provider, slice('of-nothing', 'missing'));
    api.put(apiExportScopes, provider, scope('a', { exportName: 'later' }));
    await settled();
    expect([ofSlice('of-nothing', 'ScopeValid'), ofSlice('a', 'ScopeValid')]).toEqual([
      'False ScopeNotFound',
      'False ScopeNotInForce',
    ]);
    expect(ofScope('a', 'ExportValid')).toBe('False APIExportNotFound');
    expect([urlsOf('of-nothing'), urlsOf('a')]).toEqual([[], []]);
    api.put(apiExportScopes, provider, scope('missing'));
    await settled();
    expect(ofSlice('of-nothing', 'ScopeValid')).toBe('True');
    expect(urlsOf('of-nothing')).toEqual([url.replace(/a$/, 'missing')]);
  });

  test('of a partition have the URLs of its shards', async () => {
    bind();
    api.put(apiExportScopes, provider, scope('a'));
    api.put(partitions, provider, partition('eu', 'eu'));
    api.put(partitions, provider, partition('us', 'us'));
    for (const name of ['eu', 'us', 'none'])
      api.put(apiExportScopeEndpointSlices, provider, slice(`of-${name}`, 'a', name));
    await settled();
    expect(['of-eu', 'of-us', 'of-none'].map((name) => urlsOf(name))).toEqual([[url], [], []]);
    expect(ofSlice('of-none', 'PartitionValid')).toBe('False PartitionInvalidReference');
    api.put(shards, root, shard({ region: 'us' }));
    api.put(partitions, provider, partition('none', 'us'));
    await settled();
    // A URL stays while there are consumers: without it the provider would lose access to them.
    expect(['of-eu', 'of-us', 'of-none'].map((name) => urlsOf(name))).toEqual([[url], [url], [url]]);
  });
});

describe('the conditions of a scope', () => {
  test('follow its export; a scope stays in force when the export is gone or replaced', async () => {
    api.put(apiExports, provider, market({}));
    api.put(apiExportScopes, provider, scope('a'));
    await settled();
    expect([ofScope('a', 'ExportValid'), ofScope('a', 'EndpointsReady')]).toEqual([
      'False IdentityPending',
      'False NotInForce',
    ]);
    api.put(apiExports, provider, market());
    await settled();
    const status = () => api.get<APIExportScope>(apiExportScopes, provider, 'a')?.status;
    expect(status()).toMatchObject({ exportCluster: provider, identityHash: 'identity', labelKey: 'provider' });
    api.remove(apiExports, { cluster: provider, namespace: '', name: 'market' });
    await settled();
    expect(ofScope('a', 'ExportValid')).toBe('False APIExportNotFound');
    // Its label stays protected.
    expect(status()?.identityHash).toBe('identity');
  });

  test('are written once: a pass without changes writes nothing', async () => {
    bind();
    api.put(apiExportScopes, provider, scope('a'));
    await settled();
    expect(['ExportValid', 'SelectorValid', 'EndpointsReady'].map((type) => ofScope('a', type))).toEqual([
      'True',
      'True',
      'True',
    ]);
    const writes = api.writes.length;
    await advanceUntilIdle(clock, 60_000, controllers);
    expect(api.writes.length).toBe(writes);
  });
});
