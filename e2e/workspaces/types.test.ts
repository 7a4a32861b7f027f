import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Json } from '@multiplane/apimachinery';
import { eventually } from '@multiplane/testing';
import { configMap } from '../fixtures/gadgets.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { Requests, type Response } from '../harness/requests.ts';
import { createWorkspace, field } from '../harness/workspaces.ts';

const tenancy = 'apis/tenancy.kcp.io/v1alpha1';
const rbac = 'apis/rbac.authorization.k8s.io/v1';
const logicalClusters = 'apis/core.kcp.io/v1alpha1/logicalclusters';
const patient = { timeout: 30_000 };

/** Who wrote the controller of the type, who uses the type, and who has nothing to do with it. */
const [robot, tenant, stranger] = ['user-1', 'user-2', 'user-3'] as const;
const shards = topologyName === 'sharded' ? ['root', 'shard-1'] : ['root'];

let cluster: ControlPlane;
let requests: Requests;
/** Of the workspace that the types live in. */
let platform: string;

beforeAll(async () => {
  cluster = await startControlPlane();
  requests = new Requests(cluster);
  const admin = cluster.transport('base');
  await createWorkspace(admin, 'root', 'platform', { shard: 'root' });
  admin.close();
  const workspace = await get(`/clusters/root/${tenancy}/workspaces/platform`);
  platform = clusterOf(workspace);
  await create(`/clusters/${platform}/${tenancy}/workspacetypes`, {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'WorkspaceType',
    metadata: { name: 'tenant' },
    spec: {
      initializer: true,
      terminator: true,
      extend: { with: [{ name: 'universal', path: 'root' }] },
      limitAllowedParents: { types: [{ name: 'organization', path: 'root' }] },
      initializerPermissions: [
        { apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'get'] },
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterrolebindings'], verbs: ['create'] },
      ],
      terminatorPermissions: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
    },
  });
  await grant('works-for-tenants', robot, [
    { nonResourceURLs: ['/'], verbs: ['access'] },
    { apiGroups: ['tenancy.kcp.io'], resources: ['workspacetypes'], verbs: ['get', 'initialize', 'terminate'] },
  ]);
  await grant('is-a-tenant', tenant, [
    { nonResourceURLs: ['/'], verbs: ['access'] },
    { apiGroups: ['tenancy.kcp.io'], resources: ['workspacetypes'], verbs: ['use'] },
    { apiGroups: ['tenancy.kcp.io'], resources: ['workspaces'], verbs: ['create', 'get', 'delete'] },
  ]);
}, 180_000);

afterAll(async () => {
  requests?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
});

/** The administrator of the platform; not one whom everything is allowed. */
const asAdmin = (): string => cluster.adminToken;

async function get(path: string, as: string = asAdmin()): Promise<Json> {
  return (await requests.must({ as, path })).json as Json;
}

function create(path: string, body: object, as: string = asAdmin()): Promise<Response> {
  // What was granted or made a moment ago is known a moment later.
  return eventually(() => requests.must({ as, method: 'POST', path, body }), patient);
}

async function grant(name: string, user: string, rules: readonly object[]): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const apiGroup = 'rbac.authorization.k8s.io';
  await create(`/clusters/${platform}/${rbac}/clusterroles`, {
    apiVersion,
    kind: 'ClusterRole',
    metadata: { name },
    rules,
  });
  await create(`/clusters/${platform}/${rbac}/clusterrolebindings`, {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup, kind: 'ClusterRole', name },
    subjects: [{ apiGroup, kind: 'User', name: user }],
  });
}

/** The logical cluster behind a workspace. */
const clusterOf = (workspace: Json): string => {
  const name = field(workspace, 'spec', 'cluster');
  if (typeof name !== 'string') throw new Error(`it has no logical cluster yet: ${JSON.stringify(workspace)}`);
  return name;
};

const workspacePath = (name: string): string => `/clusters/${platform}/${tenancy}/workspaces/${name}`;

/** The logical cluster of a workspace that waits for the controller of its type. */
async function waitingCluster(name: string): Promise<string> {
  return eventually(async () => {
    const workspace = await get(workspacePath(name), tenant);
    expect(field(workspace, 'status', 'initializers')).toEqual([`${platform}:tenant`]);
    return clusterOf(workspace);
  }, patient);
}

/** Addresses of the views for the controller of the type, one for each shard. */
async function views(kind: 'initializing' | 'terminating'): Promise<string[]> {
  return eventually(async () => {
    const type = await get(`/clusters/${platform}/${tenancy}/workspacetypes/tenant`, robot);
    const all = (field(type, 'status', 'virtualWorkspaces') ?? []) as { url: string; type: string }[];
    const urls = all.filter((view) => view.type === kind).map(({ url }) => url);
    expect(urls).toHaveLength(shards.length);
    return urls;
  }, patient);
}

/** Requests to one of these addresses. */
const at = (url: string): Requests => {
  const { origin, pathname } = new URL(url);
  return new Requests({ url: origin, ca: cluster.ca }, pathname);
};

/** The view in which a logical cluster shows up. */
async function viewOf(kind: 'initializing' | 'terminating', name: string): Promise<Requests> {
  const urls = await views(kind);
  return eventually(async () => {
    for (const url of urls) {
      const view = at(url);
      const { json } = await view.must({ as: robot, path: `/clusters/*/${logicalClusters}` });
      const items = json['items'] as { metadata: { annotations: Record<string, string> } }[];
      if (items.some(({ metadata }) => metadata.annotations['kcp.io/cluster'] === name)) return view;
      view[Symbol.dispose]();
    }
    throw new Error(`${name} is in no view`);
  }, patient);
}

const mergePatch = { 'content-type': 'application/merge-patch+json' };

describe.each(shards)('a workspace of a type with a controller, on shard %s', (shard) => {
  const name = `on-${shard}`;
  let here: string;
  let view: Requests;

  afterAll(() => view?.[Symbol.dispose]());

  test('waits for it, and says so', async () => {
    await create(
      `/clusters/${platform}/${tenancy}/workspaces`,
      {
        apiVersion: 'tenancy.kcp.io/v1alpha1',
        kind: 'Workspace',
        metadata: { name },
        spec: { type: { name: 'tenant' }, location: { selector: { matchLabels: { name: shard } } } },
      },
      tenant,
    );
    here = await waitingCluster(name);
    const workspace = await get(workspacePath(name), tenant);
    expect(field(workspace, 'status', 'phase')).toBe('Initializing');
    expect(JSON.stringify(field(workspace, 'status', 'conditions'))).toContain(
      `Initializers still exist: [${platform}:tenant]`,
    );
  });

  test('is found and filled by the controller, within the permissions of the type', async () => {
    view = await viewOf('initializing', here);
    const inside = `/clusters/${here}`;
    await view.must({
      as: robot,
      method: 'POST',
      path: `${inside}/api/v1/namespaces/default/configmaps`,
      body: configMap('welcome', { from: 'the platform' }),
    });
    const denied = await view.send({ as: robot, path: `${inside}/api/v1/namespaces/default/secrets` });
    expect([denied.status, denied.text]).toEqual([
      403,
      `initializer "${platform}:tenant" denied by initializerPermissions: no rule allows list on core/secrets in namespace default\n`,
    ]);
  });

  test('gives the controller nothing that its type does not: neither rights to keep, nor the last word', async () => {
    const binding = await view.send({
      as: robot,
      method: 'POST',
      path: `/clusters/${here}/${rbac}/clusterrolebindings`,
      body: {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'mine-for-ever' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: robot }],
      },
    });
    expect([binding.status, String(binding.json['message'])]).toMatchObject([
      403,
      expect.stringContaining('attempting to grant RBAC permissions not currently held'),
    ]);
    const ready = await view.send({
      as: robot,
      method: 'PATCH',
      path: `/clusters/${here}/${logicalClusters}/cluster/status`,
      headers: mergePatch,
      body: { status: { phase: 'Ready' } },
    });
    expect(ready.status).toBe(422);
  });

  test('is invisible to other users', async () => {
    for (const path of [`/clusters/*/${logicalClusters}`, `/clusters/${here}/api/v1/namespaces`]) {
      expect((await view.send({ as: stranger, path })).status).toBe(403);
      expect((await view.send({ as: tenant, path })).status).toBe(403);
    }
    const behind = await requests.send({ as: robot, path: `/clusters/${here}/api/v1/namespaces` });
    expect(behind.status).toBe(403);
  });

  test.each([
    { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' },
    { x_remote_user: 'admin', x_remote_group: 'system:masters' },
    { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' },
    { 'impersonate-user': robot },
    { 'impersonate-user': robot, 'impersonate-extra-authorization.kcp.io%2fwarrant': '{"user":"admin"}' },
  ])('is not opened by a header that says who one is: %j', async (headers) => {
    for (const path of [`/clusters/*/${logicalClusters}`, `/clusters/${here}/api/v1/namespaces/default`])
      expect((await view.send({ as: stranger, path, headers })).status).toBe(403);
  });

  test('is ready when the controller is through, and closed to it from then on', async () => {
    await view.must({
      as: robot,
      method: 'PATCH',
      path: `/clusters/${here}/${logicalClusters}/cluster/status`,
      headers: mergePatch,
      body: { status: { initializers: [] } },
    });
    await eventually(async () => {
      expect(field(await get(workspacePath(name), tenant), 'status', 'phase')).toBe('Ready');
    }, patient);
    const welcome = await get(`/clusters/${here}/api/v1/namespaces/default/configmaps/welcome`, tenant);
    expect(field(welcome, 'data')).toEqual({ from: 'the platform' });
    const late = await view.send({ as: robot, path: `/clusters/${here}/api/v1/namespaces/default/configmaps/welcome` });
    expect(late.status).toBe(403);
  });

  test.each(shards)('has workspaces of its own on shard %s, of the type that its type says', async (home) => {
    const path = `/clusters/${here}/${tenancy}/workspaces`;
    const child = `on-${home}`;
    await create(
      path,
      {
        apiVersion: 'tenancy.kcp.io/v1alpha1',
        kind: 'Workspace',
        metadata: { name: child },
        spec: { location: { selector: { matchLabels: { name: home } } } },
      },
      tenant,
    );
    await eventually(async () => {
      const made = await get(`${path}/${child}`, tenant);
      expect(field(made, 'spec', 'type')).toEqual({ name: 'universal', path: 'root' });
      expect(field(made, 'status', 'phase')).toBe('Ready');
      expect(field(made, 'spec', 'URL')).toBe(`${cluster.url}/clusters/root:platform:${name}:${child}`);
    }, patient);
  });

  test('goes when the controller lets it go, with its content in place until then', async () => {
    await requests.must({ as: tenant, method: 'DELETE', path: workspacePath(name) });
    await using stack = new AsyncDisposableStack();
    const ending = stack.use(await viewOf('terminating', here));
    await eventually(async () => {
      expect(field(await get(workspacePath(name), tenant), 'status', 'phase')).toBe('Terminating');
    }, patient);
    const kept = await ending.must({
      as: robot,
      path: `/clusters/${here}/api/v1/namespaces/default/configmaps/welcome`,
    });
    expect(field(kept.json as Json, 'metadata', 'deletionTimestamp')).toBeUndefined();
    await ending.must({
      as: robot,
      method: 'PATCH',
      path: `/clusters/${here}/${logicalClusters}/cluster/status`,
      headers: mergePatch,
      body: { status: { terminators: [] } },
    });
    await eventually(async () => {
      expect((await requests.send({ as: tenant, path: workspacePath(name) })).status).toBe(404);
    }, patient);
  });
});

describe('a workspace', () => {
  test('that a member of system:masters made is ready, without anybody to own it', async () => {
    const masters = cluster.transport('shard-base');
    expect(await createWorkspace(masters, 'root', 'ownerless', { shard: 'root' })).toBe('root:ownerless');
    masters.close();
  });

  test('cannot be changed by its admin in what the system decided about it', async () => {
    const path = `/clusters/${platform}/${logicalClusters}/cluster`;
    for (const body of [
      { spec: { directlyDeletable: true } },
      { spec: { terminators: ['root:other'] } },
      { metadata: { annotations: { 'kcp.io/path': 'root:elsewhere' } } },
      { metadata: { annotations: { 'internal.tenancy.kcp.io/type': 'root:root' } } },
    ]) {
      const change = await requests.send({ as: asAdmin(), method: 'PATCH', path, headers: mergePatch, body });
      expect(change.status).toBe(403);
    }
  });

  test('is where the system puts it and whose the system says, whatever its maker writes', async () => {
    const path = `/clusters/${platform}/${tenancy}/workspaces`;
    const { json } = await create(path, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: {
        name: 'attack',
        annotations: { 'internal.tenancy.kcp.io/cluster': 'system:mine', 'core.kcp.io/shard': shards.at(-1) ?? '' },
        finalizers: ['core.kcp.io/logicalcluster'],
      },
      // Waits, so that there is time to forge its owner.
      spec: { type: { name: 'universal', path: 'root' }, location: { selector: { matchLabels: { name: 'none' } } } },
    });
    const owner = field(json as Json, 'metadata', 'annotations', 'experimental.tenancy.kcp.io/owner');
    for (const body of [
      {
        metadata: {
          annotations: { 'experimental.tenancy.kcp.io/owner': '{"username":"x","groups":["system:masters"]}' },
        },
      },
      { metadata: { annotations: { 'internal.tenancy.kcp.io/cluster': 'system:mine', 'core.kcp.io/shard': 'root' } } },
    ]) {
      const changed = await eventually(
        () => requests.must({ as: asAdmin(), method: 'PATCH', path: `${path}/attack`, headers: mergePatch, body }),
        patient,
      );
      expect(field(changed.json as Json, 'metadata', 'annotations', 'experimental.tenancy.kcp.io/owner')).toBe(owner);
      expect(field(changed.json as Json, 'metadata', 'annotations', 'internal.tenancy.kcp.io/cluster')).toBeUndefined();
    }
    await requests.must({
      as: asAdmin(),
      method: 'PATCH',
      path: `${path}/attack`,
      headers: mergePatch,
      body: { spec: { location: { selector: { matchLabels: { name: 'root' } } } } },
    });
    await eventually(async () => {
      const placed = await get(`${path}/attack`);
      expect(field(placed, 'status', 'phase')).toBe('Ready');
      expect(clusterOf(placed)).toMatch(/^[a-z0-9]{16}$/);
    }, patient);
    await requests.must({ as: asAdmin(), method: 'DELETE', path: `${path}/attack` });
  });

  test('of a type that one may not use, or that does not fit here, is not made', async () => {
    const attempt = async (as: string, type: string, path: string): Promise<string> => {
      const response = await requests.send({
        as,
        method: 'POST',
        path: `/clusters/${platform}/${tenancy}/workspaces`,
        body: {
          apiVersion: 'tenancy.kcp.io/v1alpha1',
          kind: 'Workspace',
          metadata: { name: 'refused' },
          spec: { type: { name: type, path } },
        },
      });
      expect(response.status).toBe(403);
      return String(response.json['message']);
    };
    expect(await attempt(asAdmin(), 'organization', 'root')).toContain(
      'workspace type root:organization only allows [root:root] parent workspaces, but parent type root:organization only implements [root:organization root:universal]',
    );
    expect(await attempt(tenant, 'home', 'root')).toContain("missing verb='use' permission on workspacetype");
  });
});
