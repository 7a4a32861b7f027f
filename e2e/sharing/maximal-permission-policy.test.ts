import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Json } from '@multiplane/apimachinery';
import { eventually } from '@multiplane/testing';
import { startControlPlane, topologyName, type ControlPlane } from '../harness/control-plane.ts';
import { Requests } from '../harness/requests.ts';
import { createWorkspace, field } from '../harness/workspaces.ts';

const apis = 'apis/apis.kcp.io';
const rbac = 'apis/rbac.authorization.k8s.io/v1';
const patient = { timeout: 30_000 };
const consumers = ['near', 'far'];
const [here, there] = topologyName === 'sharded' ? (['root', 'shard-1'] as const) : (['root', 'root'] as const);

let cluster: ControlPlane;
let requests: Requests;

beforeAll(async () => {
  cluster = await startControlPlane();
  requests = new Requests(cluster);
  const admin = cluster.transport('base');
  await createWorkspace(admin, 'root', 'provider', { shard: here });
  await createWorkspace(admin, 'root', 'near', { shard: here });
  await createWorkspace(admin, 'root', 'far', { shard: there });
  admin.close();
  await post(`/clusters/root:provider/${apis}/v1alpha1/apiresourceschemas`, {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: 'v1.banks.wildwest.dev' },
    spec: {
      group: 'wildwest.dev',
      names: { plural: 'banks', singular: 'bank', kind: 'Bank', listKind: 'BankList' },
      scope: 'Cluster',
      versions: [{ name: 'v1', served: true, storage: true, schema: { type: 'object' } }],
    },
  });
  await post(`/clusters/root:provider/${apis}/v1alpha2/apiexports`, {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name: 'banks' },
    spec: {
      resources: [{ name: 'banks', group: 'wildwest.dev', schema: 'v1.banks.wildwest.dev' }],
      maximalPermissionPolicy: { local: {} },
    },
  });
  for (const consumer of consumers) {
    await grant(consumer, 'everything', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }], 'user-1');
    const bindings = `/clusters/root:${consumer}/${apis}/v1alpha2/apibindings`;
    await eventually(
      () =>
        post(bindings, {
          apiVersion: 'apis.kcp.io/v1alpha2',
          kind: 'APIBinding',
          metadata: { name: 'banks' },
          spec: { reference: { export: { path: 'root:provider', name: 'banks' } } },
        }),
      patient,
    );
    await eventually(async () => {
      const { json } = await requests.must({ path: `${bindings}/banks` });
      if (field(json as Json, 'status', 'phase') !== 'Bound') throw new Error(JSON.stringify(json));
    }, patient);
  }
}, 180_000);

afterAll(async () => {
  requests?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
});

const post = (path: string, body: object) => requests.must({ method: 'POST', path, body });

async function grant(workspace: string, name: string, rules: object[], user: string): Promise<void> {
  const apiGroup = 'rbac.authorization.k8s.io';
  await post(`/clusters/root:${workspace}/${rbac}/clusterroles`, {
    apiVersion: `${apiGroup}/v1`,
    kind: 'ClusterRole',
    metadata: { name },
    rules: [...rules, { nonResourceURLs: ['/'], verbs: ['access'] }],
  });
  await post(`/clusters/root:${workspace}/${rbac}/clusterrolebindings`, {
    apiVersion: `${apiGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup, kind: 'ClusterRole', name },
    subjects: [{ apiGroup, kind: 'User', name: user }],
  });
}

/** What the consumer's own administrator gets: statuses of a list and of a create. */
async function tried(consumer: string): Promise<number[]> {
  const path = `/clusters/root:${consumer}/apis/wildwest.dev/v1/banks`;
  const list = await requests.send({ as: 'user-1', path });
  const create = await requests.send({
    as: 'user-1',
    method: 'POST',
    path: `${path}?dryRun=All`,
    body: { apiVersion: 'wildwest.dev/v1', kind: 'Bank', metadata: { name: 'a' } },
  });
  return [list.status, create.status];
}

test('an administrator of a consumer may do what the provider grants, also when the export is gone', async () => {
  const everywhere = (statuses: number[]): Promise<void[]> =>
    Promise.all(
      consumers.map((consumer) => eventually(async () => expect(await tried(consumer)).toEqual(statuses), patient)),
    );
  await everywhere([403, 403]);
  const reading = [{ apiGroups: ['wildwest.dev'], resources: ['banks'], verbs: ['get', 'list'] }];
  await grant('provider', 'consumers', reading, 'apis.kcp.io:binding:user-1');
  await everywhere([200, 403]);

  await requests.must({ method: 'DELETE', path: `/clusters/root:provider/${apis}/v1alpha2/apiexports/banks` });
  // It is gone for everybody when the bindings say so.
  for (const consumer of consumers) {
    await eventually(async () => {
      const { json } = await requests.must({ path: `/clusters/root:${consumer}/${apis}/v1alpha2/apibindings/banks` });
      expect(field(json as Json, 'status', 'conditions')).toContainEqual(
        expect.objectContaining({ type: 'APIExportValid', status: 'False', reason: 'APIExportNotFound' }),
      );
    }, patient);
    expect(await tried(consumer)).toEqual([200, 403]);
  }
}, 120_000);
