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
import { FakeApi } from '../../test/fake-api.ts';
import { WorkspaceServer } from '../../test/workspace-server.ts';
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

/** Creates the shard, the exports of root and a type that binds two of them. */
function setUp(): void {
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
const createWorkspace = (): KubeObject =>
  put(workspaces, { metadata: { name: 'w' }, spec: { type: { name: 'universal', path: 'root' } } });

/** Resolves to the logical cluster of the workspace when it is Ready. */
const untilReady = (): Promise<LogicalClusterName> =>
  eventually(() => {
    const { spec, status } = api.get<Workspace>(workspaces, root, 'w') as Workspace;
    expect(status?.phase).toBe('Ready');
    return spec?.cluster as LogicalClusterName;
  });

test('a new workspace becomes Ready with its default bindings after a crash before any write', async () => {
  setUp();
  server = await WorkspaceServer.start(api);
  createWorkspace();
  const cluster = await untilReady();
  await eventually(() =>
    expect(api.get(workspaces, root, 'w')?.metadata.labels).toMatchObject({ 'tenancy.kcp.io/phase': 'Ready' }),
  );
  await stop();
  const writes = api.writes.length;
  // Each object is created by one write; Workspace and LogicalCluster are updated once.
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
    setUp();
    server = await WorkspaceServer.start(api, survived);
    createWorkspace();
    await eventually(() => expect(api.writes.length).toBe(survived));
    await stop();
    server = await WorkspaceServer.start(api);
    expect(await untilReady()).toBe(cluster);
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

test('a workspace waits for the sync of its type', async () => {
  setUp();
  const typesSynced = Promise.withResolvers<void>();
  server = await WorkspaceServer.start(api, undefined, typesSynced.promise);
  createWorkspace();
  put(workspaces, { metadata: { name: 'created-later' } });
  await eventually(() => expect(api.get<Workspace>(workspaces, root, 'created-later')?.status?.phase).toBe('Ready'));
  expect(api.get<Workspace>(workspaces, root, 'w')?.status).toBeUndefined();
  typesSynced.resolve();
  await untilReady();
});

test('a workspace deleted after a crash during its creation leaves no objects', async () => {
  // The choice of the local shard is not recorded: a Workspace without finalizer may have a logical cluster.
  for (let survived = 0; survived <= 7; survived++) {
    setUp();
    server = await WorkspaceServer.start(api, survived);
    createWorkspace();
    await eventually(() => expect(api.writes.length).toBe(survived));
    await stop();
    api.remove(workspaces, { cluster: root, namespace: '', name: 'w' });
    server = await WorkspaceServer.start(api);
    await eventually(() => expect(api.get(workspaces, root, 'w')).toBeUndefined());
    await stop();
    const remaining = [logicalClusters, namespaces, apiBindings, clusterRoleBindings].flatMap((kind) => api.all(kind));
    expect(remaining).toEqual([]);
  }
}, 120_000);

test('a logical cluster that its workspace does not refer to is deleted before it is initialized', async () => {
  setUp();
  const annotations = { 'core.kcp.io/shard': 'other', 'internal.tenancy.kcp.io/cluster': 'chosen' };
  const { uid = '' } = put(workspaces, { metadata: { name: 'w', annotations } }).metadata;
  const disowned = 'disowned' as LogicalClusterName;
  const owner = { apiVersion: 'tenancy.kcp.io/v1alpha1', resource: 'workspaces', name: 'w', cluster: root, uid };
  const metadata = { name: logicalClusterObjectName };
  api.put(logicalClusters, disowned, { apiVersion: 'v1', kind: 'LogicalCluster', metadata, spec: { owner } });
  server = await WorkspaceServer.start(api);
  await eventually(() => expect(api.all(logicalClusters, disowned)).toEqual([]));
  expect(api.all(clusterRoleBindings, disowned)).toEqual([]);
});

/** Resolves to the LogicalCluster with its first status. */
const untilStarted = (): Promise<LogicalCluster> =>
  eventually(() => {
    const [object] = api.all(logicalClusters) as LogicalCluster[];
    expect(object?.status?.phase).toBeDefined();
    return object as LogicalCluster;
  });

test('a workspace that is not scheduled yet follows changes of its selector', async () => {
  setUp();
  server = await WorkspaceServer.start(api);
  const spec = { type: { name: 'late', path: 'root' } };
  put(workspaces, { metadata: { name: 'w' }, spec });
  const untilReported = (text: string): Promise<void> =>
    eventually(() =>
      expect(JSON.stringify(api.get<Workspace>(workspaces, root, 'w')?.status?.conditions)).toContain(text),
    );
  await untilReported('workspace type root:late not found');
  const workspace = api.get<Workspace>(workspaces, root, 'w') as Workspace;
  put(workspaces, { ...workspace, spec: { ...spec, location: { selector: { matchLabels: { no: 'where' } } } } });
  put(workspaceTypes, { metadata: { name: 'late' } });
  await untilReported('No available shards to schedule the workspace');
  expect(api.all(logicalClusters)).toEqual([]);
});

test('a workspace below root is scheduled at random, a deeper one to the shard of its parent', async () => {
  setUp();
  // The random choice takes the first shard of the list here: make it another one.
  const [own] = api.all(shards) as [KubeObject];
  api.remove(shards, { cluster: root, namespace: '', name: own.metadata.name ?? '' });
  put(shards, { metadata: { name: 'another' }, spec: { baseURL: 'https://another' } });
  put(shards, own);
  server = await WorkspaceServer.start(api);
  createWorkspace();
  const parent = 'theparent' as LogicalClusterName;
  const spec = { type: { name: 'universal', path: 'root' } };
  api.put(workspaces, parent, { apiVersion: 'v1', kind: 'Workspace', metadata: { name: 'child' }, spec });
  const shardOf = (cluster: LogicalClusterName, name: string): string | undefined =>
    api.get<Workspace>(workspaces, cluster, name)?.metadata.annotations?.['core.kcp.io/shard'];
  await eventually(() => expect([shardOf(root, 'w'), shardOf(parent, 'child')]).toEqual(['another', 'root']));
});

test('a workspace that waits for an export is Initializing with a URL, and continues when the export is created', async () => {
  setUp();
  const [missing] = api.all(apiExports).filter(({ metadata }) => metadata.name === 'topology.kcp.io') as [KubeObject];
  api.remove(apiExports, { cluster: root, namespace: '', name: 'topology.kcp.io' });
  server = await WorkspaceServer.start(api);
  createWorkspace();
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

test('a workspace of a type with an initializer is Initializing with its first status', async () => {
  setUp();
  put(workspaceTypes, { metadata: { name: 'own' }, spec: { initializer: true, terminator: true } });
  server = await WorkspaceServer.start(api);
  put(workspaces, { metadata: { name: 'w' }, spec: { type: { name: 'own', path: 'root' } } });
  const { metadata, status } = await untilStarted();
  expect(status).toMatchObject({ phase: 'Initializing', initializers: ['root:own'], terminators: ['root:own'] });
  // Labels and finalizer are set by the same write.
  expect(Object.keys(metadata.labels ?? {}).filter((key) => key.includes('.internal.kcp.io/'))).toHaveLength(2);
  expect(metadata.finalizers).toContain('kcp.io/has-terminators');
  await eventually(() =>
    expect(api.get<Workspace>(workspaces, root, 'w')).toMatchObject({
      metadata: { labels: { 'tenancy.kcp.io/phase': 'Initializing' } },
      status: { phase: 'Initializing', initializers: ['root:own'] },
    }),
  );
});
