import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { embedCacheServer } from '@multiplane/cache-server';
import {
  clientConfigOf,
  readKubeconfig,
  RemoteInformerFactory,
  RestClient,
  RestTransport,
  type Informer,
} from '@multiplane/client';
import { silentLogger, systemClock } from '@multiplane/component-base';
import { replicatedKinds } from '@multiplane/shard';
import { eventually } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const root = 'root' as LogicalClusterName;
const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' };
const clusterRoles = { ...rbac, resource: 'clusterroles' };
const clusterRoleBindings = { ...rbac, resource: 'clusterrolebindings' };
const logicalClusters = { group: 'core.kcp.io', version: 'v1alpha1', resource: 'logicalclusters' };
const shards = { group: 'core.kcp.io', version: 'v1alpha1', resource: 'shards' };
const workspaceTypes = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspacetypes' };
const markOf = (object: KubeObject | undefined): string | undefined =>
  object?.metadata.annotations?.['internal.kcp.io/replicate'];
const clusterOf = (object: KubeObject): LogicalClusterName =>
  object.metadata.annotations?.['kcp.io/cluster'] as LogicalClusterName;
const inRoot = (name: string): { cluster: LogicalClusterName; namespace: string; name: string } => ({
  cluster: root,
  namespace: '',
  name,
});

/** A shard with an embedded cache server, which the test reads over HTTPS. */
describe('replication of a shard', () => {
  let shard: InProcessShard;
  let cached: RemoteInformerFactory;
  beforeAll(async () => {
    shard = await InProcessShard.start(undefined, undefined, [
      embedCacheServer({ version: 'test', storage: 'memory' }),
    ]);
    cached = new RemoteInformerFactory(
      { pathPrefix: '/services/cache/shards/*' },
      { transport: shard.transport, clock: systemClock, logger: silentLogger },
    );
    await cached.start();
  }, 120_000);
  afterAll(async () => {
    await cached.stop();
    await shard[Symbol.asyncDispose]();
  });
  const seen = (informer: Informer, name: string): KubeObject | undefined =>
    informer.get(inRoot(name)) as KubeObject | undefined;

  test.each(replicatedKinds.map((kind) => [kind.resource, kind] as const))(
    'the cache server serves %s',
    async (_resource, { group, version, resource }) => {
      const path = `/services/cache/shards/*/clusters/*/apis/${group}/${version}/${resource}?limit=1`;
      const list = await shard.transport.json({ method: 'GET', path });
      expect((list as unknown as KubeObject).kind).toMatch(/List$/);
    },
  );

  test('replicates its Shard object', async () => {
    const informer = cached.informer(shards);
    await eventually(() => expect(seen(informer, 'root')?.metadata.annotations?.['kcp.io/shard']).toBe('root'));
  });

  test('replicates workspace types and their logical cluster', async () => {
    const types = cached.informer(workspaceTypes);
    const clusters = cached.informer(logicalClusters);
    await shard.client.create(workspaceTypes, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'WorkspaceType',
      metadata: { name: 'seminar' },
      spec: {},
    });
    await eventually(() => expect(seen(types, 'seminar')).toBeDefined());
    await eventually(() => expect(markOf(seen(clusters, 'cluster'))).toBe('apis.kcp.io,tenancy.kcp.io'));
  });

  test('replicates roles and bindings that grant their use, and no others', async () => {
    const roles = cached.informer(clusterRoles);
    const bindings = cached.informer(clusterRoleBindings);
    const role = (name: string, verb: string): KubeObject => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name },
      rules: [{ apiGroups: ['tenancy.kcp.io'], resources: ['workspacetypes'], verbs: [verb] }],
    });
    const binding = (name: string, subject: string, roleName: string): KubeObject => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      subjects: [{ apiGroup: rbac.group, kind: 'User', name: subject }],
      roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: roleName },
    });
    await shard.client.create(clusterRoles, root, role('reads', 'get'));
    await shard.client.create(clusterRoles, root, role('uses', 'use'));
    await shard.client.create(clusterRoles, root, role('policy', 'get'));
    await shard.client.create(clusterRoleBindings, root, binding('alice', 'alice', 'uses'));
    await shard.client.create(clusterRoleBindings, root, binding('bob', 'bob', 'reads'));
    await shard.client.create(clusterRoleBindings, root, binding('carol', 'apis.kcp.io:binding:carol', 'policy'));
    await eventually(() => {
      expect(markOf(seen(roles, 'uses'))).toBe('tenancy.kcp.io');
      expect(markOf(seen(roles, 'policy'))).toBe('apis.kcp.io');
      expect(markOf(seen(bindings, 'alice'))).toBe('tenancy.kcp.io');
      expect(markOf(seen(bindings, 'carol'))).toBe('apis.kcp.io');
    });
    expect([seen(roles, 'reads'), seen(bindings, 'bob')]).toEqual([undefined, undefined]);

    // What a role grants changes: so do its mark, those of the bindings to it, and what is published.
    await shard.client.update(clusterRoles, root, {
      ...(await shard.client.get(clusterRoles, inRoot('uses'))),
      rules: [],
    });
    await shard.client.delete(clusterRoleBindings, inRoot('carol'));
    await eventually(() => {
      for (const [informer, name] of [
        [roles, 'uses'],
        [roles, 'policy'],
        [bindings, 'alice'],
        [bindings, 'carol'],
      ] as const)
        expect(seen(informer, name)).toBeUndefined();
    });
    expect(markOf(await shard.client.get(clusterRoles, inRoot('uses')))).toBeUndefined();
  });

  test('labels the owner binding of a workspace on creation, and does not replicate it', async () => {
    const file = shard.directory.join('root', 'admin.kubeconfig');
    const transport = new RestTransport({ config: clientConfigOf(readKubeconfig(file), file, 'root') });
    const owner = new RestClient({ transport });
    await owner.create({ group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspaces' }, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name: 'quiet' },
      spec: { type: { name: 'universal', path: 'root' } },
    });
    const binding = await eventually(async () => {
      const { items } = await shard.client.list(clusterRoleBindings, { cluster: '*' });
      const found = items.filter((item) => item.metadata.name === 'workspace-admin' && clusterOf(item) !== root);
      expect(found.length).toBe(1);
      return found[0] as KubeObject;
    });
    expect(markOf(binding)).toBe('apis.kcp.io,tenancy.kcp.io');
    expect(binding.metadata.managedFields?.length).toBe(1);
    // What is published after it is there; so it never will be.
    await shard.client.create(workspaceTypes, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'WorkspaceType',
      metadata: { name: 'afterwards' },
      spec: {},
    });
    await eventually(() => expect(seen(cached.informer(workspaceTypes), 'afterwards')).toBeDefined());
    expect(cached.informer(clusterRoleBindings).list({ cluster: clusterOf(binding) })).toEqual([]);
    transport.close();
  });

  test('removes all objects of a removed shard', async () => {
    const types = cached.informer(workspaceTypes);
    await shard.client.create(shards, root, {
      apiVersion: 'core.kcp.io/v1alpha1',
      kind: 'Shard',
      metadata: { name: 'west' },
      spec: {
        baseURL: 'https://west:6443',
        externalURL: 'https://west:6443',
        virtualWorkspaceURL: 'https://west:6443',
      },
    });
    const response = await shard.transport.open({
      method: 'POST',
      path: '/services/cache/shards/west/clusters/far/apis/tenancy.kcp.io/v1alpha1/workspacetypes',
      body: JSON.stringify({
        apiVersion: 'tenancy.kcp.io/v1alpha1',
        kind: 'WorkspaceType',
        metadata: { name: 'distant' },
      }),
    });
    response.resume();
    expect(response.statusCode).toBe(201);
    const distant = { cluster: 'far' as LogicalClusterName, namespace: '', name: 'distant' };
    await eventually(() => expect(types.get(distant)).toBeDefined());
    await shard.client.create(workspaceTypes, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'WorkspaceType',
      metadata: { name: 'stays' },
      spec: {},
    });
    await eventually(() => expect(types.get(inRoot('stays'))).toBeDefined());
    await shard.client.delete(shards, inRoot('west'));
    await eventually(() => expect(types.get(distant)).toBeUndefined());
    expect(types.get(inRoot('stays'))).toBeDefined();
  });
});
