import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, apiExports, apiResourceSchemas, type APIBinding, type APIExport } from '@multiplane/apis';
import {
  defaultBindingName,
  logicalClusters,
  workspaces,
  workspaceTypes,
  type LogicalCluster,
  type Workspace,
} from '@multiplane/controllers';
import { apiExport, apiResourceSchema, eventually, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const root = 'root' as LogicalClusterName;
const rbac = (resource: string): GroupVersionResource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource,
});
const at = (name: string, cluster = root) => ({ cluster, namespace: '', name });
const owner = (name: string) => ({
  'experimental.tenancy.kcp.io/owner': JSON.stringify({ username: name, groups: ['system:authenticated'] }),
});

let folder: TempDir;
let shard: InProcessShard;
const start = (): Promise<InProcessShard> => InProcessShard.start([], folder);
beforeAll(async () => {
  folder = await TempDir.create('default-bindings');
  shard = await start();
}, 120_000);
afterAll(async () => {
  await shard.stop();
  await folder.remove();
});

async function create(name: string, type: string, metadata: KubeObject['metadata'] = {}): Promise<LogicalClusterName> {
  await shard.client.create(workspaces, root, {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: { ...metadata, name },
    spec: { type: { name: type, path: 'root' } },
  });
  return eventually(async () => {
    const { spec } = (await shard.client.get(workspaces, at(name))) as Workspace;
    expect(spec?.cluster).toBeDefined();
    return spec?.cluster as LogicalClusterName;
  });
}
const ready = (name: string): Promise<void> =>
  eventually(async () => {
    const { status } = (await shard.client.get(workspaces, at(name))) as Workspace;
    expect(status?.phase).toBe('Ready');
  });
const createType = (name: string, spec: Record<string, unknown>): Promise<KubeObject> =>
  shard.client.create(workspaceTypes, root, {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'WorkspaceType',
    metadata: { name },
    spec,
  });
async function createExport(name: string): Promise<void> {
  await shard.client.create(apiResourceSchemas, root, apiResourceSchema({ plural: name, scope: 'Cluster' }));
  await shard.client.create(apiExports, root, apiExport(name, [`v1.${name}.example.dev`]));
}
const conditionIn = (cluster: LogicalClusterName, type: string, message: string | undefined): Promise<void> =>
  eventually(async () => {
    const { status } = (await shard.client.get(logicalClusters, at('cluster', cluster))) as LogicalCluster;
    const found = status?.conditions?.find((condition) => condition.type === type);
    expect(found).toMatchObject(message === undefined ? { status: 'True' } : { status: 'False', message });
  });
const bindingsIn = async (cluster: LogicalClusterName): Promise<string[]> =>
  (await shard.client.list(apiBindings, { cluster })).items.map(({ metadata }) => metadata.name ?? '');
const status = async (path: string): Promise<number | undefined> => {
  const response = await shard.transport.open({ method: 'GET', path });
  response.resume();
  return response.statusCode;
};

describe('the exports of root', () => {
  test('keep identities and changes by the admin over a restart; deleted objects are recreated', async () => {
    const before = (await shard.client.get(apiExports, at('tenancy.kcp.io'))) as APIExport;
    expect(before.status?.identityHash).toMatch(/^[0-9a-f]{64}$/);
    const claims = [{ group: '', resource: 'configmaps', verbs: ['get'] }];
    const spec = { permissionClaims: claims, resources: [] };
    await shard.client.patch(apiExports, at('topology.kcp.io'), 'application/merge-patch+json', { spec });
    const mine = { metadata: { annotations: { 'bootstrap.kcp.io/create-only': 'true' } }, spec: { resources: [] } };
    await shard.client.patch(apiExports, at('shards.core.kcp.io'), 'application/merge-patch+json', mine);
    await shard.client.delete(apiBindings, at('topology.kcp.io'));
    await eventually(async () => expect(await bindingsIn(root)).not.toContain('topology.kcp.io'));
    await shard.stop();
    shard = await start();
    const after = (await shard.client.get(apiExports, at('tenancy.kcp.io'))) as APIExport;
    expect(after).toEqual(before);
    const topology = (await shard.client.get(apiExports, at('topology.kcp.io'))) as APIExport;
    expect(topology.spec?.resources?.map(({ name }) => name)).toEqual(['partitions', 'partitionsets']);
    expect(topology.spec?.permissionClaims).toEqual([expect.objectContaining(claims[0] as object)]);
    const shards = (await shard.client.get(apiExports, at('shards.core.kcp.io'))) as APIExport;
    expect(shards.spec?.resources ?? []).toEqual([]);
    expect(await bindingsIn(root)).toEqual([
      'cache.kcp.io',
      'scopes.multiplane.dev',
      'shards.core.kcp.io',
      'tenancy.kcp.io',
      'topology.kcp.io',
    ]);
    // Restores the default for the tests that follow.
    await shard.client.patch(apiExports, at('topology.kcp.io'), 'application/merge-patch+json', {
      spec: { permissionClaims: null },
    });
  }, 120_000);

  test('can be listed over all workspaces by identity', async () => {
    await create('found', 'universal');
    await ready('found');
    const { status: of } = (await shard.client.get(apiExports, at('tenancy.kcp.io'))) as APIExport;
    const path = `/clusters/*/apis/tenancy.kcp.io/v1alpha1/workspaces`;
    const list = (await shard.transport.json({ method: 'GET', path: `${path}:${of?.identityHash ?? ''}` })) as {
      items: KubeObject[];
    };
    expect(list.items.map(({ metadata }) => metadata.name)).toContain('found');
    expect(await status(`${path}:0000`)).toBe(404);
  });
});

describe('a workspace', () => {
  test('serves exactly the APIs that its type binds', async () => {
    const universal = await create('usual', 'universal');
    await ready('usual');
    expect(await bindingsIn(universal)).toEqual(
      ['tenancy.kcp.io', 'topology.kcp.io'].map((name) => defaultBindingName(universal, { path: 'root', name })),
    );
    expect(await status(`/clusters/${universal}/apis/tenancy.kcp.io/v1alpha1/workspaces`)).toBe(200);
    expect(await status(`/clusters/${universal}/apis/core.kcp.io/v1alpha1/shards`)).toBe(404);
    await createType('bare', {});
    const bare = await create('bare', 'bare');
    await ready('bare');
    expect(await bindingsIn(bare)).toEqual([]);
    expect(await status(`/clusters/${bare}/apis/tenancy.kcp.io/v1alpha1/workspaces`)).toBe(404);
    expect(await status(`/clusters/${bare}/apis/tenancy.kcp.io/v1alpha1`)).toBe(404);
  });

  // kcp waits for the creator forever.
  test('without a recorded creator gets its default bindings from the system', async () => {
    const cluster = await create('nobodys', 'universal');
    await ready('nobodys');
    const { spec } = (await shard.client.get(logicalClusters, at('cluster', cluster))) as LogicalCluster;
    expect(spec?.createdBy).toBeUndefined();
    expect(await bindingsIn(cluster)).toHaveLength(2);
  });

  test('does not get default bindings that its creator may not bind', async () => {
    await createExport('hats');
    await createType('hatted', { defaultAPIBindings: [{ path: 'root', export: 'hats' }] });
    const cluster = await create('hatted', 'hatted', { annotations: owner('ann') });
    const name = defaultBindingName(cluster, { path: 'root', name: 'hats' });
    await conditionIn(
      cluster,
      'APIBindingsInitialized',
      `encountered errors: apibindings.apis.kcp.io "${name}" is forbidden: unable to create APIBinding: no permission to bind to export root:hats`,
    );
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    await shard.client.create(rbac('clusterroles'), root, {
      apiVersion,
      kind: 'ClusterRole',
      metadata: { name: 'hats' },
      rules: [{ apiGroups: ['apis.kcp.io'], resources: ['apiexports'], resourceNames: ['hats'], verbs: ['bind'] }],
    });
    await shard.client.create(rbac('clusterrolebindings'), root, {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'hats' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'hats' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ann' }],
    });
    await ready('hatted');
    expect(await status(`/clusters/${cluster}/apis/example.dev/v1/hats`)).toBe(200);
  }, 120_000);
});

describe('a type with lifecycle mode Maintain', () => {
  test('propagates new default bindings to its workspaces and recreates deleted ones', async () => {
    await createExport('caps');
    await createType('kept', { defaultAPIBindingLifecycle: 'Maintain' });
    const cluster = await create('kept', 'kept');
    await ready('kept');
    expect(await bindingsIn(cluster)).toEqual([]);
    const spec = { defaultAPIBindings: [{ path: 'root', export: 'caps' }] };
    await shard.client.patch(workspaceTypes, at('kept'), 'application/merge-patch+json', { spec });
    const name = defaultBindingName(cluster, { path: 'root', name: 'caps' });
    await conditionIn(cluster, 'APIBindingsReconciled', undefined);
    expect(await status(`/clusters/${cluster}/apis/example.dev/v1/caps`)).toBe(200);

    const { metadata } = await shard.client.get(apiBindings, at(name, cluster));
    await shard.client.delete(apiBindings, at(name, cluster));
    await eventually(async () => {
      const binding = (await shard.client.get(apiBindings, at(name, cluster))) as APIBinding;
      expect(binding.metadata.uid).not.toBe(metadata.uid);
      expect(binding.status?.phase).toBe('Bound');
    });

    const claims = [{ group: '', resource: 'configmaps', verbs: ['get'] }];
    await shard.client.patch(apiExports, at('caps'), 'application/merge-patch+json', {
      spec: { permissionClaims: claims },
    });
    await eventually(async () => {
      const binding = (await shard.client.get(apiBindings, at(name, cluster))) as APIBinding;
      expect(binding.spec?.permissionClaims).toMatchObject([{ resource: 'configmaps', state: 'Accepted' }]);
    });
  }, 120_000);
});

test('a claim on a resource that does not exist does not keep a workspace from becoming ready', async () => {
  await createExport('lamps');
  await shard.client.patch(apiExports, at('lamps'), 'application/merge-patch+json', {
    spec: { permissionClaims: [{ group: 'apis.kcp.io', resource: 'gizmos', verbs: ['*'] }] },
  });
  await createType('lamps', { defaultAPIBindings: [{ path: 'root', export: 'lamps' }] });
  const cluster = await create('lamps', 'lamps');
  await ready('lamps');
  const name = defaultBindingName(cluster, { path: 'root', name: 'lamps' });
  await eventually(async () => {
    const { spec, status } = (await shard.client.get(apiBindings, at(name, cluster))) as APIBinding;
    expect(spec?.permissionClaims).toMatchObject([{ resource: 'gizmos', state: 'Accepted' }]);
    expect(status?.conditions?.find(({ type }) => type === 'PermissionClaimsApplied')).toMatchObject({
      status: 'False',
      reason: 'ClaimedResourceNotFound',
    });
  });
}, 120_000);
