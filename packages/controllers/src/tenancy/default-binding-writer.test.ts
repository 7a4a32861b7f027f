import { beforeEach, describe, expect, test } from '@jest/globals';
import { statusErrors, type KubeObject, type LogicalClusterName, type UserInfo } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  apiResourceSchemas,
  boundDefinitionsCluster,
  resourceBindingsAnnotation,
  type APIBinding,
  type APIExport,
  type APIResourceSchema,
} from '@multiplane/apis';
import { PathAndNameIndex } from '@multiplane/client';
import { FakeApi } from '../../test/fake-api.ts';
import { DefaultBindingWriter } from './default-binding-writer.ts';
import { defaultBindingName } from './default-bindings.ts';
import { workspaceTypes, type LogicalCluster, type WorkspaceType } from './kinds.ts';
import { FakeClock } from '@multiplane/testing';

const provider = 'provider' as LogicalClusterName;
const tenant = 'tenant' as LogicalClusterName;
const crds = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
const bindingName = defaultBindingName(tenant, { path: 'root:p', name: 'things' });
const creator = { username: 'ann', groups: ['team'] };

let api: FakeApi;
let creators: (UserInfo | undefined)[];
let writer: DefaultBindingWriter;
let refusal: Error | undefined;

const put = (object: KubeObject, resource = apiExports): KubeObject => api.put(resource, provider, object);
const metadata = (name: string): KubeObject['metadata'] => ({ name, annotations: { 'kcp.io/path': 'root:p' } });
const typeOf = (spec: WorkspaceType['spec']): KubeObject =>
  put({ apiVersion: 'v1', kind: 'WorkspaceType', metadata: metadata('t'), spec }, workspaceTypes);
const exportOf = (spec: APIExport['spec'] = {}): KubeObject =>
  put({
    apiVersion: 'v1',
    kind: 'APIExport',
    metadata: metadata('things'),
    spec: { resources: [{ name: 'hats', group: 'x.dev', schema: 'v1.hats.x.dev' }], ...spec },
    status: { identityHash: 'abc' },
  });
const schema = (): KubeObject =>
  put(
    {
      apiVersion: 'v1',
      kind: 'APIResourceSchema',
      metadata: { name: 'v1.hats.x.dev', uid: 'u1' },
      spec: { group: 'x.dev', names: { plural: 'hats' }, versions: [{ name: 'v1', storage: true }] },
    },
    apiResourceSchemas,
  );
const established = (): KubeObject =>
  api.put(crds, boundDefinitionsCluster as LogicalClusterName, {
    apiVersion: 'v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'u1' },
    status: { conditions: [{ type: 'Established', status: 'True' }] },
  });
const clusterOf = (
  more: Partial<LogicalCluster> = {},
  locks = `{"hats.x.dev":{"n":"${bindingName}"}}`,
): LogicalCluster => ({
  apiVersion: 'v1',
  kind: 'LogicalCluster',
  metadata: {
    name: 'cluster',
    annotations: { 'internal.tenancy.kcp.io/type': 'root:p:t', [resourceBindingsAnnotation]: locks },
  },
  spec: { createdBy: creator },
  ...more,
});
const binding = (): APIBinding => api.get<APIBinding>(apiBindings, tenant, bindingName) as APIBinding;
const setBinding = (change: Partial<APIBinding>): KubeObject =>
  api.put(apiBindings, tenant, { ...binding(), ...change });
const condition = (type: string, status = 'True') => ({ type, status: status as 'True', lastTransitionTime: '' });
const initialize = async (object = clusterOf()) => (await writer.initialize(object, tenant)).condition;
const maintain = (object = clusterOf()) => writer.maintain(object, tenant);

beforeEach(() => {
  api = new FakeApi();
  creators = [];
  refusal = undefined;
  const { informers, client } = api;
  writer = new DefaultBindingWriter({
    informers,
    client,
    types: new PathAndNameIndex({ informer: informers.informer<WorkspaceType>(workspaceTypes) }),
    exports: new PathAndNameIndex({ informer: informers.informer<APIExport>(apiExports) }),
    schema: (cluster, name) =>
      informers.informer<APIResourceSchema>(apiResourceSchemas).get({ cluster, namespace: '', name }),
    clock: new FakeClock(),
    createBinding: async (cluster, object, user) => {
      if (refusal !== undefined) throw refusal;
      creators.push(user);
      return client.create(apiBindings, cluster, object);
    },
  });
  typeOf({ defaultAPIBindings: [{ path: 'root:p', export: 'things' }] });
});

describe('initialize', () => {
  test('waits for missing exports and reports them once', async () => {
    typeOf({ defaultAPIBindings: ['things', 'more'].map((name) => ({ path: 'root:p', export: name })) });
    expect(await initialize()).toEqual({
      type: 'APIBindingsInitialized',
      status: 'False',
      severity: 'Error',
      reason: 'APIBindingErrors',
      message: 'encountered errors: unable to complete initialization: unable to find at least 1 APIExport',
    });
  });

  test('waits for bindings to be bound and their claims to be applied', async () => {
    exportOf({ permissionClaims: [{ group: '', resource: 'configmaps', verbs: ['get'] }] });
    expect(await initialize()).toMatchObject({
      severity: 'Info',
      reason: 'WaitingOnAPIBindings',
      message: 'APIBinding(s) not yet fully bound: for APIExport root:p|things',
    });
    expect(binding().status).toBeUndefined();
    expect(await initialize()).toMatchObject({ message: `APIBinding(s) not yet fully bound: ${bindingName}` });
    setBinding({ status: { conditions: [condition('InitialBindingCompleted')] } });
    expect(await initialize()).toMatchObject({
      message: `APIBinding(s) not yet fully bound: ${bindingName} waiting for permission claims to be applied`,
    });
    setBinding({
      status: { conditions: [condition('InitialBindingCompleted'), condition('PermissionClaimsApplied')] },
    });
    expect(await initialize()).toEqual({ type: 'APIBindingsInitialized', status: 'True' });
    expect(api.writes).toHaveLength(1);
  });

  test('creates bindings as the creator of the workspace, or as the system without one', async () => {
    exportOf();
    await initialize();
    expect(creators).toEqual([{ name: 'ann', uid: '', groups: ['team'], extra: {} }]);
    api.remove(apiBindings, { cluster: tenant, namespace: '', name: bindingName });
    await initialize(clusterOf({ spec: {} }));
    expect(creators[1]).toBeUndefined();
  });

  test('reports exports that the creator may not bind', async () => {
    exportOf();
    refusal = statusErrors.forbidden(apiBindings, bindingName, 'no permission to bind to export root:p:things');
    expect(await initialize()).toMatchObject({
      reason: 'APIBindingErrors',
      message: `encountered errors: apibindings.apis.kcp.io "${bindingName}" is forbidden: no permission to bind to export root:p:things`,
    });
  });

  test('accepts a binding of a user to the same export', async () => {
    exportOf();
    const spec = { reference: { export: { path: 'root:p', name: 'things' } } };
    const status = { conditions: [condition('InitialBindingCompleted')] };
    api.put(apiBindings, tenant, { apiVersion: 'v1', kind: 'APIBinding', metadata: { name: 'mine' }, spec, status });
    expect(await initialize()).toEqual({ type: 'APIBindingsInitialized', status: 'True' });
    expect(api.writes).toEqual([]);
  });

  test('reports types that cannot be found or resolved', async () => {
    api.remove(workspaceTypes, { cluster: provider, namespace: '', name: 't' });
    expect(await initialize()).toMatchObject({
      reason: 'WorkspaceTypesInvalid',
      message: 'error getting WorkspaceType root:p|t: workspacetypes.tenancy.kcp.io "t" not found',
    });
    typeOf({ extend: { with: [{ name: 'gone', path: 'root:p' }] } });
    expect(await initialize()).toMatchObject({
      reason: 'WorkspaceTypesInvalid',
      message: 'error resolving transitive set of workspace types: unable to find inherited workspace type gone',
    });
  });
});

describe('a binding whose status can be precomputed', () => {
  beforeEach(() => {
    schema();
    established();
  });

  test('is created Bound', async () => {
    exportOf();
    expect(await initialize()).toEqual({ type: 'APIBindingsInitialized', status: 'True' });
    expect(api.writes).toEqual([`create apibindings tenant|${bindingName}`]);
    expect(binding().status).toMatchObject({
      phase: 'Bound',
      apiExportClusterName: 'provider',
      boundResources: [
        {
          group: 'x.dev',
          resource: 'hats',
          schema: { name: 'v1.hats.x.dev', UID: 'u1', identityHash: 'abc' },
          storageVersions: ['v1'],
        },
      ],
    });
    expect(binding().status?.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
      'Ready=True',
      'APIExportValid=True',
      'BindingUpToDate=True',
      'InitialBindingCompleted=True',
      'PermissionClaimsApplied=True',
      'PermissionClaimsValid=True',
    ]);
  });

  test.each<[string, () => LogicalCluster]>([
    ['a name is not locked for it', () => clusterOf({}, '{}')],
    ['a name is locked for another binding', () => clusterOf({}, '{"hats.x.dev":{"n":"other"}}')],
    [
      'another binding has kinds of the same group',
      () => clusterOf({}, `{"caps.x.dev":{"n":"other"},"hats.x.dev":{"n":"${bindingName}"}}`),
    ],
  ])('does not include one where %s', async (_why, object) => {
    exportOf();
    expect(await initialize(object())).toMatchObject({ reason: 'WaitingOnAPIBindings' });
    expect(binding().status).toBeUndefined();
  });

  test('does not include one whose schema is not served or whose export has no identity', async () => {
    exportOf({ resources: [{ name: 'caps', group: 'x.dev', schema: 'v1.caps.x.dev' }] });
    expect(await initialize()).toMatchObject({ reason: 'WaitingOnAPIBindings' });
    api.remove(apiBindings, { cluster: tenant, namespace: '', name: bindingName });
    put({ ...exportOf(), status: {} });
    expect(await initialize()).toMatchObject({ reason: 'WaitingOnAPIBindings' });
    expect(binding().status).toBeUndefined();
  });
});

describe('maintain', () => {
  const maintained = {
    defaultAPIBindings: [{ path: 'root:p', export: 'things' }],
    defaultAPIBindingLifecycle: 'Maintain',
  } as const;

  test('applies to types with lifecycle Maintain', async () => {
    exportOf();
    expect(await maintain()).toBeUndefined();
    expect(writer.maintains(clusterOf(), provider, 'things')).toBe(false);
    typeOf(structuredClone(maintained) as unknown as WorkspaceType['spec']);
    expect(writer.maintains(clusterOf(), provider, 'things')).toBe(true);
    expect(writer.maintains(clusterOf(), provider, 'others')).toBe(false);
  });

  test('creates missing bindings, follows the claims and reports what it waits for', async () => {
    typeOf(structuredClone(maintained) as unknown as WorkspaceType['spec']);
    exportOf();
    expect(await maintain()).toEqual({
      type: 'APIBindingsReconciled',
      status: 'False',
      severity: 'Info',
      reason: 'WaitingOnAPIBindings',
      message: 'APIBinding(s) not yet fully reconciled: for APIExport root:p|things',
    });
    expect(creators).toEqual([undefined]);
    setBinding({ status: { conditions: [condition('InitialBindingCompleted')] } });
    expect(await maintain()).toEqual({ type: 'APIBindingsReconciled', status: 'True' });

    exportOf({ permissionClaims: [{ group: '', resource: 'configmaps', verbs: ['get'] }] });
    expect(await maintain()).toMatchObject({ message: `APIBinding(s) not yet fully reconciled: ${bindingName}` });
    expect(binding().spec?.permissionClaims).toEqual([
      { group: '', resource: 'configmaps', verbs: ['get'], selector: { matchAll: true }, state: 'Accepted' },
    ]);
    const writes = api.writes.length;
    await maintain();
    expect(api.writes).toHaveLength(writes);
  });

  test('reports a deleted export and keeps its binding', async () => {
    typeOf(structuredClone(maintained) as unknown as WorkspaceType['spec']);
    exportOf();
    await maintain();
    api.remove(apiExports, { cluster: provider, namespace: '', name: 'things' });
    expect(await maintain()).toMatchObject({
      status: 'False',
      reason: 'APIBindingErrors',
      message: 'encountered errors: unable to complete reconciliation: unable to find at least 1 APIExport',
    });
    expect(binding()).toBeDefined();
  });
});
