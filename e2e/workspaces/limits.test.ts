import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { Requests, type Response } from '../harness/requests.ts';
import { createTenant, type Tenant } from '../harness/tenants.ts';
import { createWorkspace, field } from '../harness/workspaces.ts';

const patient = { timeout: 30_000 };
const objectsAnnotation = 'core.kcp.io/max-total-objects';
const merge = { 'content-type': 'application/merge-patch+json' };
/** Where the workspaces of the tests live: not on the shard of their parent. */
const shard = topologyName === 'sharded' ? 'shard-1' : undefined;

let cluster: ControlPlane;
let requests: Requests;
beforeAll(async () => {
  cluster = await startControlPlane();
  requests = new Requests(cluster);
}, 180_000);
afterAll(async () => {
  requests?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
});

const workspaceOf = (path: string): string => {
  const parts = path.split(':');
  const name = parts.pop() ?? '';
  return `/clusters/${parts.join(':')}/apis/tenancy.kcp.io/v1alpha1/workspaces/${name}`;
};
const logicalClusterOf = (path: string): string =>
  `/clusters/${path}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`;
const maps = (path: string): string => `/clusters/${path}/api/v1/namespaces/default/configmaps`;
const annotate = (path: string, annotations: object, as = 'masters'): Promise<Response> =>
  requests.send({ as, method: 'PATCH', path, headers: merge, body: { metadata: { annotations } } });
const message = ({ json }: Response): string => String(json['message']);
const createMap = (path: string, name: string, as = 'user-1', query = ''): Promise<Response> =>
  requests.send({ as, method: 'POST', path: `${maps(path)}${query}`, body: { metadata: { name } } });

/** Sets the limit of objects on the LogicalCluster so that `room` more fit; returns the limit. */
async function leaveRoom(path: string, room: number): Promise<number> {
  const refused = await eventually(async () => {
    await expectStatus(annotate(logicalClusterOf(path), { [objectsAnnotation]: '1' }), 200);
    const answer = await createMap(path, 'probe', 'user-1', '?dryRun=All');
    expect(answer.status).toBe(403);
    return answer;
  }, patient);
  const used = Number(/used: (\d+)/.exec(message(refused))?.[1]);
  await expectStatus(annotate(logicalClusterOf(path), { [objectsAnnotation]: String(used + room) }), 200);
  await eventually(
    async () => expect((await createMap(path, 'probe', 'user-1', '?dryRun=All')).status).toBe(room > 0 ? 201 : 403),
    patient,
  );
  return used + room;
}

async function expectStatus(answer: Promise<Response>, status: number): Promise<Response> {
  const got = await answer;
  if (got.status !== status) throw new Error(`answered ${got.status} instead of ${status}: ${got.text.slice(0, 500)}`);
  return got;
}

describe('the limit of objects', () => {
  let tenant: Tenant;
  let path: string;
  beforeAll(async () => {
    tenant = await createTenant(cluster, 'objects', { user: 'user-1', shard });
    ({ path } = tenant);
  }, 60_000);
  afterAll(async () => {
    await tenant?.[Symbol.asyncDispose]();
  });

  test('refuses creates at the limit, names it and who can raise it; a delete makes room', async () => {
    const limit = await leaveRoom(path, 2);
    await expectStatus(createMap(path, 'a'), 201);
    await expectStatus(createMap(path, 'b'), 201);
    const refused = await expectStatus(createMap(path, 'c'), 403);
    expect(refused.json).toMatchObject({ reason: 'Forbidden', details: { name: 'c', kind: 'configmaps' } });
    expect(message(refused)).toBe(
      `configmaps "c" is forbidden: exceeded limit: workspace "${path}" has reached its total object count limit, used: ${limit}, requested: 1, limited: ${limit}; an administrator of the installation can raise it by the annotation core.kcp.io/max-total-objects of the LogicalCluster`,
    );
    // Also by other ways to create.
    await expectStatus(createMap(path, 'c', 'user-1', '?dryRun=All'), 403);
    const generated = requests.send({
      as: 'user-1',
      method: 'POST',
      path: maps(path),
      body: { metadata: { generateName: 'g-' } },
    });
    expect(message(await expectStatus(generated, 403))).toContain('configmaps "g-');
    const applied = requests.send({
      as: 'user-1',
      method: 'PATCH',
      path: `${maps(path)}/c?fieldManager=me`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } },
    });
    await expectStatus(applied, 403);
    const namespace = {
      method: 'POST',
      path: `/clusters/${path}/api/v1/namespaces`,
      body: { metadata: { name: 'more' } },
    };
    await expectStatus(requests.send({ as: 'user-1', ...namespace }), 403);
    // Updates pass, and events: an exhausted workspace must stay debuggable.
    await expectStatus(
      requests.send({
        as: 'user-1',
        method: 'PATCH',
        path: `${maps(path)}/a`,
        headers: merge,
        body: { data: { a: 'b' } },
      }),
      200,
    );
    await expectStatus(
      requests.send({
        as: 'user-1',
        method: 'POST',
        path: `/clusters/${path}/api/v1/namespaces/default/events`,
        body: {
          metadata: { name: 'e' },
          involvedObject: { namespace: 'default', kind: 'ConfigMap', name: 'a' },
          reason: 'Full',
        },
      }),
      201,
    );
    await expectStatus(requests.send({ as: 'user-1', method: 'DELETE', path: `${maps(path)}/a` }), 200);
    await expectStatus(createMap(path, 'c'), 201);
    await expectStatus(createMap(path, 'd'), 403);
  });

  test('admits exactly as many of many concurrent creates as fit', async () => {
    await leaveRoom(path, 40);
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, async (_, n) => (await createMap(path, `many-${n}`)).status),
    );
    expect(answers.filter((status) => status === 201)).toHaveLength(40);
    expect(new Set(answers)).toEqual(new Set([201, 403]));
  }, 60_000);

  test('keeps what exists when it is lowered below the usage', async () => {
    await leaveRoom(path, 0);
    await expectStatus(annotate(logicalClusterOf(path), { [objectsAnnotation]: '3' }), 200);
    expect(message(await expectStatus(createMap(path, 'never'), 403))).toContain('limited: 3');
    await expectStatus(requests.send({ as: 'user-1', path: `${maps(path)}/c` }), 200);
    await expectStatus(requests.send({ as: 'user-1', method: 'DELETE', path: `${maps(path)}/c` }), 200);
    await expectStatus(createMap(path, 'never'), 403);
    // 0 is no limit, as in kcp.
    await expectStatus(annotate(logicalClusterOf(path), { [objectsAnnotation]: '0' }), 200);
    await eventually(() => expectStatus(createMap(path, 'never'), 201), patient);
  });

  test('cannot be changed by an administrator of the workspace', async () => {
    await leaveRoom(path, 0);
    const raised = await expectStatus(
      annotate(logicalClusterOf(path), { [objectsAnnotation]: '100000' }, 'user-1'),
      403,
    );
    expect(message(raised)).toContain(
      `annotation ${objectsAnnotation} can only be changed by administrators of the installation`,
    );
    await expectStatus(annotate(logicalClusterOf(path), { [objectsAnnotation]: null }, 'user-1'), 403);
    const inherited = { 'internal.limits.multiplane.dev/inherited': '{"objects":{"max":0}}' };
    await expectStatus(annotate(logicalClusterOf(path), inherited, 'user-1'), 200);
    const read = await requests.must({ as: 'user-1', path: logicalClusterOf(path) });
    expect(field(read.json as never, 'metadata', 'annotations')).not.toHaveProperty(
      Object.keys(inherited)[0] as string,
    );
    await expectStatus(createMap(path, 'raised'), 403);
  });

  test.each(['abc', '', '1.5', '9007199254740992', '99999999999999999999999', '1e400', '0x10'])(
    '%j is no limit',
    async (value) => {
      const refused = await expectStatus(annotate(logicalClusterOf(path), { [objectsAnnotation]: value }), 422);
      expect(message(refused)).toContain('must be a whole number or a quantity');
    },
  );
});

describe('limits that a parent sets', () => {
  let tenant: Tenant;
  let path: string;
  let child: string;
  beforeAll(async () => {
    tenant = await createTenant(cluster, 'tree', { user: 'user-1', shard });
    ({ path } = tenant);
    const admin = cluster.transport('base');
    child = await createWorkspace(admin, path, 'child', topologyName === 'sharded' ? { shard: 'root' } : {});
    admin.close();
    await requests.must({
      method: 'POST',
      path: `/clusters/${child}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`,
      body: {
        metadata: { name: 'user-1' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'user-1' }],
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      },
    });
    await eventually(() => expectStatus(createMap(child, 'probe', 'user-1', '?dryRun=All'), 201), patient);
  }, 60_000);
  afterAll(async () => {
    await tenant?.[Symbol.asyncDispose]();
  });

  const refusal = (at: string): Promise<string> =>
    Promise.resolve(
      eventually(
        async () => message(await expectStatus(createMap(at, 'probe', 'user-1', '?dryRun=All'), 403)),
        patient,
      ),
    );

  test('hold for the workspace and all below it, on whatever shard; the lowest counts, and the text names who can raise it', async () => {
    await expectStatus(annotate(workspaceOf(path), { [objectsAnnotation]: '2' }), 200);
    for (const at of [path, child]) {
      expect(await refusal(at)).toMatch(
        /limited: 2; an administrator of workspace "root" can raise it by the annotation core.kcp.io\/max-total-objects of the Workspace$/,
      );
    }
    // The tenant can set less for its children, but not more.
    await expectStatus(annotate(workspaceOf(child), { [objectsAnnotation]: '1' }, 'user-1'), 200);
    await eventually(
      async () => expect(await refusal(child)).toContain(`limited: 1; an administrator of workspace "${path}"`),
      patient,
    );
    await expectStatus(annotate(workspaceOf(child), { [objectsAnnotation]: '100000' }, 'user-1'), 200);
    await eventually(
      async () => expect(await refusal(child)).toContain('limited: 2; an administrator of workspace "root"'),
      patient,
    );
    const created = requests.send({
      as: 'user-1',
      method: 'POST',
      path: workspaceOf(child).replace(/\/child$/, ''),
      body: { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name: 'full' } },
    });
    expect(message(await expectStatus(created, 403))).toContain('total object count limit');

    await expectStatus(annotate(workspaceOf(path), { [objectsAnnotation]: null }), 200);
    await eventually(() => expectStatus(createMap(path, 'again'), 201), patient);
    await eventually(() => expectStatus(createMap(child, 'again'), 201), patient);
  }, 120_000);

  test('are in force in a new workspace from the start', async () => {
    await expectStatus(annotate(workspaceOf(path), { [objectsAnnotation]: '300' }), 200);
    const body = {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name: 'small', annotations: { [objectsAnnotation]: '1' } },
    };
    const at = workspaceOf(child).replace(/\/child$/, '');
    await expectStatus(requests.send({ as: 'user-1', method: 'POST', path: at, body }), 201);
    await eventually(async () => {
      const answer = await requests.send({
        method: 'POST',
        path: maps(`${path}:small`),
        body: { metadata: { name: 'a' } },
      });
      expect(answer.status).toBe(403);
      expect(message(answer)).toContain(`limited: 1; an administrator of workspace "${path}"`);
    }, patient);
  }, 60_000);

  test('need the verb limit: who may only create workspaces cannot set them', async () => {
    const rbac = `/clusters/${path}/apis/rbac.authorization.k8s.io/v1`;
    const rules = [
      { apiGroups: ['tenancy.kcp.io'], resources: ['workspaces'], verbs: ['create', 'get', 'update', 'patch'] },
      { nonResourceURLs: ['/'], verbs: ['access'] },
    ];
    await requests.must({
      method: 'POST',
      path: `${rbac}/clusterroles`,
      body: { metadata: { name: 'creator' }, rules },
    });
    await requests.must({
      method: 'POST',
      path: `${rbac}/clusterrolebindings`,
      body: {
        metadata: { name: 'creator' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'user-2' }],
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'creator' },
      },
    });
    const at = workspaceOf(child).replace(/\/child$/, '');
    const create = (annotations: object): Promise<Response> =>
      requests.send({
        as: 'user-2',
        method: 'POST',
        path: at,
        body: { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name: 'mine', annotations } },
      });
    await eventually(async () => {
      const refused = await expectStatus(create({ [objectsAnnotation]: '0' }), 403);
      expect(message(refused)).toContain(
        `annotation ${objectsAnnotation}: missing verb='limit' permission on workspaces`,
      );
    }, patient);
    await expectStatus(create({}), 201);
    await eventually(() => expectStatus(annotate(`${at}/mine`, { [objectsAnnotation]: '0' }, 'user-2'), 403), patient);
    await expectStatus(annotate(`${at}/mine`, { 'limits.multiplane.dev/max-bytes': 'much' }), 422);
    const misspelt = await expectStatus(annotate(`${at}/mine`, { 'limits.multiplane.dev/max-bytez': '10Mi' }), 422);
    expect(message(misspelt)).toContain(
      'metadata.annotations: Unsupported value: "limits.multiplane.dev/max-bytez": supported values: "limits.multiplane.dev/max-bytes"',
    );
  }, 60_000);
});
