import { afterEach, expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  apiResourceSchemas,
  parseLocks,
  resourceBindingsAnnotation,
  rootExports,
} from '@multiplane/apis';
import { eventually } from '@multiplane/testing';
import { shards } from '../sharding/kinds.ts';
import { FakeApi } from '../test-support/fake-api.ts';
import { WorkspaceServer } from '../test-support/workspace-server.ts';
import { defaultBindingName } from './default-bindings.ts';
import {
  logicalClusterObjectName,
  logicalClusters,
  workspaces,
  workspaceTypes,
  type LogicalCluster,
  type Workspace,
} from './kinds.ts';

const root = 'root' as LogicalClusterName;
const namespaces: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };
const clusterRoleBindings: GroupVersionResource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource: 'clusterrolebindings',
};
const exported = ['tenancy.kcp.io', 'topology.kcp.io'];

let api: FakeApi;
let server: WorkspaceServer | undefined;
afterEach(stop);

async function stop(): Promise<void> {
  await server?.stop();
  server = undefined;
}
const put = (resource: GroupVersionResource, object: Partial<KubeObject>): KubeObject =>
  api.put(resource, root, { apiVersion: 'v1', kind: 'Thing', metadata: {}, ...object });

/** Root with what it exports and the type that binds it. */
function furnish(): void {
  api = new FakeApi();
  put(shards, { metadata: { name: 'root' }, spec: { baseURL: 'https://host', externalURL: 'https://host' } });
  for (const { export: each, schemas } of rootExports()) {
    put(apiExports, { ...each, status: { identityHash: 'abc' } });
    for (const schema of schemas) put(apiResourceSchemas, schema);
  }
  put(workspaceTypes, {
    metadata: { name: 'universal' },
    spec: { initializer: true, defaultAPIBindings: exported.map((name) => ({ path: 'root', export: name })) },
  });
}
const ask = (): KubeObject =>
  put(workspaces, { metadata: { name: 'w' }, spec: { type: { name: 'universal', path: 'root' } } });

/** The logical cluster of the workspace, when that is ready. */
const ready = (): Promise<LogicalClusterName> =>
  eventually(
    () => {
      const { spec, status } = api.get<Workspace>(workspaces, root, 'w') as Workspace;
      expect(status?.phase).toBe('Ready');
      return spec?.cluster as LogicalClusterName;
    },
    { timeout: 20_000 },
  );

test('a new workspace is ready with its default bindings, wherever the server is killed on the way', async () => {
  furnish();
  server = await WorkspaceServer.start(api);
  ask();
  const cluster = await ready();
  await eventually(() =>
    expect(api.get(workspaces, root, 'w')?.metadata.labels).toMatchObject({ 'tenancy.kcp.io/phase': 'Ready' }),
  );
  await stop();
  const writes = api.writes.length;
  // What is not there is made once; what is there is written once more, when all is known about it.
  expect(api.writes.map((write) => write.split(' ').slice(0, 2).join(' '))).toEqual([
    'create logicalclusters',
    'create namespaces',
    'create namespaces',
    'create apibindings',
    'create apibindings',
    'update logicalclusters',
    'update workspaces',
  ]);
  const names = exported.map((name) => defaultBindingName(cluster, { path: 'root', name }));
  for (let survived = 0; survived <= writes; survived++) {
    furnish();
    server = await WorkspaceServer.start(api, survived);
    ask();
    await eventually(() => expect(api.writes.length).toBe(survived));
    await stop();
    server = await WorkspaceServer.start(api);
    expect(await ready()).toBe(cluster);
    await stop();
    expect(api.all(apiBindings).map(({ metadata }) => metadata.name)).toEqual(names);
    expect(api.all(apiBindings).map(({ status }) => (status as { phase: string }).phase)).toEqual(['Bound', 'Bound']);
    expect(api.all(namespaces, cluster)).toHaveLength(2);
    const object = api.get<LogicalCluster>(logicalClusters, cluster, logicalClusterObjectName);
    const locks = parseLocks(object?.metadata.annotations?.[resourceBindingsAnnotation]);
    expect(new Set([...locks.values()].map(({ n }) => n))).toEqual(new Set(names));
    expect(object?.status?.phase).toBe('Ready');
  }
}, 120_000);

test('a workspace waits for types that are there and cannot all be found yet', async () => {
  furnish();
  const told = Promise.withResolvers<void>();
  server = await WorkspaceServer.start(api, undefined, told.promise);
  ask();
  put(workspaces, { metadata: { name: 'asked-later' } });
  await eventually(() => expect(api.get<Workspace>(workspaces, root, 'asked-later')?.status?.phase).toBe('Ready'));
  expect(api.get<Workspace>(workspaces, root, 'w')?.status).toBeUndefined();
  told.resolve();
  await ready();
});

test('a workspace that is deleted where the making of it broke off leaves nothing behind', async () => {
  // Choice of this shard and name are in no write: a Workspace without finalizer may have a logical cluster.
  for (let survived = 0; survived <= 7; survived++) {
    furnish();
    server = await WorkspaceServer.start(api, survived);
    ask();
    await eventually(() => expect(api.writes.length).toBe(survived));
    await stop();
    api.remove(workspaces, { cluster: root, namespace: '', name: 'w' });
    server = await WorkspaceServer.start(api);
    await eventually(() => expect(api.get(workspaces, root, 'w')).toBeUndefined(), { timeout: 20_000 });
    await stop();
    const left = [logicalClusters, namespaces, apiBindings, clusterRoleBindings].flatMap((kind) => api.all(kind));
    expect(left).toEqual([]);
  }
}, 120_000);

test('a logical cluster of which its workspace knows nothing goes before it begins', async () => {
  furnish();
  const place = { 'core.kcp.io/shard': 'other', 'internal.tenancy.kcp.io/cluster': 'elsewhere' };
  const { uid = '' } = put(workspaces, { metadata: { name: 'w', annotations: place } }).metadata;
  const late = 'late' as LogicalClusterName;
  const owner = { apiVersion: 'tenancy.kcp.io/v1alpha1', resource: 'workspaces', name: 'w', cluster: root, uid };
  const metadata = { name: logicalClusterObjectName };
  api.put(logicalClusters, late, { apiVersion: 'v1', kind: 'LogicalCluster', metadata, spec: { owner } });
  server = await WorkspaceServer.start(api);
  await eventually(() => expect(api.all(logicalClusters, late)).toEqual([]));
  expect(api.all(clusterRoleBindings, late)).toEqual([]);
});

/** The logical cluster of the workspace, as soon as somebody has said something about it. */
const begun = (): Promise<LogicalCluster> =>
  eventually(() => {
    const [object] = api.all(logicalClusters) as LogicalCluster[];
    expect(object?.status?.phase).toBeDefined();
    return object as LogicalCluster;
  });

test('a workspace of which nothing was made yet goes where its selector says by then', async () => {
  furnish();
  server = await WorkspaceServer.start(api);
  const spec = { type: { name: 'late', path: 'root' } };
  put(workspaces, { metadata: { name: 'w' }, spec });
  const told = (text: string): Promise<void> =>
    eventually(() =>
      expect(JSON.stringify(api.get<Workspace>(workspaces, root, 'w')?.status?.conditions)).toContain(text),
    );
  await told('workspace type root:late not found');
  const workspace = api.get<Workspace>(workspaces, root, 'w') as Workspace;
  put(workspaces, { ...workspace, spec: { ...spec, location: { selector: { matchLabels: { no: 'where' } } } } });
  put(workspaceTypes, { metadata: { name: 'late' } });
  await told('No available shards to schedule the workspace');
  expect(api.all(logicalClusters)).toEqual([]);
});

test('a workspace below root goes where chance says, one below that to the shard of its parent', async () => {
  furnish();
  // Chance takes the first of a list here, which is not to be the shard itself.
  const [own] = api.all(shards) as [KubeObject];
  api.remove(shards, { cluster: root, namespace: '', name: own.metadata.name ?? '' });
  put(shards, { metadata: { name: 'another' }, spec: { baseURL: 'https://another' } });
  put(shards, own);
  server = await WorkspaceServer.start(api);
  ask();
  const parent = 'theparent' as LogicalClusterName;
  const spec = { type: { name: 'universal', path: 'root' } };
  api.put(workspaces, parent, { apiVersion: 'v1', kind: 'Workspace', metadata: { name: 'child' }, spec });
  const shardOf = (cluster: LogicalClusterName, name: string): string | undefined =>
    api.get<Workspace>(workspaces, cluster, name)?.metadata.annotations?.['core.kcp.io/shard'];
  await eventually(() => expect([shardOf(root, 'w'), shardOf(parent, 'child')]).toEqual(['another', 'root']));
});

test('a workspace that waits for an export is found and seen to wait, and goes on when that comes', async () => {
  furnish();
  const [missing] = api.all(apiExports).filter(({ metadata }) => metadata.name === 'topology.kcp.io') as [KubeObject];
  api.remove(apiExports, { cluster: root, namespace: '', name: 'topology.kcp.io' });
  server = await WorkspaceServer.start(api);
  ask();
  await eventually(() => {
    const [object] = api.all(logicalClusters) as LogicalCluster[];
    expect(object?.status?.initializers).toEqual(['system:apibindings']);
    const workspace = api.get<Workspace>(workspaces, root, 'w');
    expect([workspace?.status?.phase, workspace?.status?.initializers]).toEqual([
      'Initializing',
      ['system:apibindings'],
    ]);
    expect(workspace?.spec?.URL).toBe('https://host/clusters/root:w');
  });
  expect(api.all(apiBindings)).toHaveLength(1);
  put(apiExports, missing);
  await eventually(() => expect(api.all(apiBindings)).toHaveLength(2));
});

test('a workspace of a type with a controller of its own waits for it from the first word on', async () => {
  furnish();
  put(workspaceTypes, { metadata: { name: 'own' }, spec: { initializer: true, terminator: true } });
  server = await WorkspaceServer.start(api);
  put(workspaces, { metadata: { name: 'w' }, spec: { type: { name: 'own', path: 'root' } } });
  const { metadata, status } = await begun();
  expect(status).toMatchObject({ phase: 'Initializing', initializers: ['root:own'], terminators: ['root:own'] });
  // Found by the controller, and held for it, with the same write.
  expect(Object.keys(metadata.labels ?? {}).filter((key) => key.includes('.internal.kcp.io/'))).toHaveLength(2);
  expect(metadata.finalizers).toContain('kcp.io/has-terminators');
  await eventually(() =>
    expect(api.get<Workspace>(workspaces, root, 'w')).toMatchObject({
      metadata: { labels: { 'tenancy.kcp.io/phase': 'Initializing' } },
      status: { phase: 'Initializing', initializers: ['root:own'] },
    }),
  );
});
