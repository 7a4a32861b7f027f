import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Json } from '@multiplane/apimachinery';
import { apiExport, apiResourceSchema, eventually, testCertificates } from '@multiplane/testing';
import { startControlPlane, topologyName, type ControlPlane } from '../harness/control-plane.ts';
import { Requests, type Response } from '../harness/requests.ts';
import { createWorkspace, field } from '../harness/workspaces.ts';

const apis = 'apis/apis.kcp.io';
const registration = 'apis/admissionregistration.k8s.io/v1';
const rbac = 'apis/rbac.authorization.k8s.io/v1';
const consumers = ['near', 'far'];
const patient = { timeout: 30_000 };
/** Where the API is offered, and where it is used. */
const [here, there] = topologyName === 'sharded' ? (['root', 'shard-1'] as const) : (['root', 'root'] as const);

let cluster: ControlPlane;
let requests: Requests;
let hooks: Server;
let hookAuthority: string;
/** What the webhook was asked: cluster and name of the object. */
const asked: string[] = [];
const clusters: Record<string, unknown> = {};

beforeAll(async () => {
  cluster = await startControlPlane({ flags: ['--webhook-allowed-networks=127.0.0.0/8'] });
  requests = new Requests(cluster);
  const admin = cluster.transport('base');
  await createWorkspace(admin, 'root', 'provider', { shard: here });
  await createWorkspace(admin, 'root', 'near', { shard: here });
  await createWorkspace(admin, 'root', 'far', { shard: there });
  admin.close();
  for (const name of ['near', 'far']) {
    const { json } = await requests.must({ path: `/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/${name}` });
    clusters[name] = field(json as Json, 'spec', 'cluster');
  }
  const { authorityPem, server: serving } = await testCertificates('stables');
  hookAuthority = authorityPem;
  hooks = createServer({ cert: serving.certificatePem, key: serving.privateKeyPem }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(review(JSON.parse(Buffer.concat(chunks).toString()) as Review)));
    });
  });
  hooks.listen(0, '127.0.0.1');
  await once(hooks, 'listening');

  const group = 'wildwest.dev';
  const spec = { type: 'object', properties: { legs: { type: 'integer' }, stable: { type: 'string' } } };
  for (const schema of [
    apiResourceSchema({ group, plural: 'horses', spec }),
    apiResourceSchema({ group, plural: 'banks', scope: 'Cluster' }),
  ])
    await post(`/clusters/root:provider/${apis}/v1alpha1/apiresourceschemas`, schema);
  for (const exported of [
    apiExport('horses', ['v1.horses.wildwest.dev']),
    apiExport('banks', ['v1.banks.wildwest.dev'], { maximalPermissionPolicy: { local: {} } }),
  ])
    await post(`/clusters/root:provider/${apis}/v1alpha2/apiexports`, exported);
  await Promise.all(
    consumers.map(async (consumer) => {
      await grant(consumer, 'everything', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }], 'user-1');
      for (const name of ['horses', 'banks']) await bind(consumer, name);
    }),
  );
}, 180_000);

afterAll(async () => {
  requests?.[Symbol.dispose]();
  hooks?.closeAllConnections();
  hooks?.close();
  await cluster?.[Symbol.asyncDispose]();
});

interface Review {
  readonly request: {
    readonly uid: string;
    readonly object: { readonly metadata: { readonly name: string; readonly annotations: Record<string, string> } };
  };
}

/** Says in which stable a horse stands. */
function review({ request: { uid, object } }: Review): object {
  const where = object.metadata.annotations['kcp.io/cluster'] ?? '';
  asked.push(`${where} ${object.metadata.name}`);
  const patch = [{ op: 'add', path: '/spec/stable', value: `stable of ${where}` }];
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed: true,
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
    },
  };
}

const post = (path: string, body: object): Promise<Response> => requests.must({ method: 'POST', path, body });

async function bind(consumer: string, name: string): Promise<void> {
  const bindings = `/clusters/root:${consumer}/${apis}/v1alpha2/apibindings`;
  await eventually(
    () =>
      post(bindings, {
        apiVersion: 'apis.kcp.io/v1alpha2',
        kind: 'APIBinding',
        metadata: { name },
        spec: { reference: { export: { path: 'root:provider', name } } },
      }),
    patient,
  );
  await eventually(async () => {
    const { json } = await requests.must({ path: `${bindings}/${name}` });
    if (field(json as Json, 'status', 'phase') !== 'Bound') throw new Error(JSON.stringify(json));
  }, patient);
}

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

const horse = (workspace: string, name: string, legs: number): Promise<Response> =>
  requests.send({
    method: 'POST',
    path: `/clusters/root:${workspace}/apis/wildwest.dev/v1/namespaces/default/horses`,
    body: { apiVersion: 'wildwest.dev/v1', kind: 'Horse', metadata: { name }, spec: { legs } },
  });
const horses = [{ apiGroups: ['wildwest.dev'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['horses'] }];

test("a provider's policies and webhooks act on the bound objects of consumers on every shard", async () => {
  await post(`/clusters/root:provider/${registration}/validatingadmissionpolicies`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'legs' },
    spec: {
      matchConstraints: { resourceRules: horses },
      validations: [
        { expression: 'object.spec.legs == 4', messageExpression: '"has " + string(object.spec.legs) + " legs"' },
      ],
    },
  });
  await post(`/clusters/root:provider/${registration}/validatingadmissionpolicybindings`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'legs' },
    spec: { policyName: 'legs', validationActions: ['Deny'] },
  });
  const { port } = hooks.address() as AddressInfo;
  await post(`/clusters/root:provider/${registration}/mutatingwebhookconfigurations`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: 'stables' },
    webhooks: [
      {
        name: 'stables.wildwest.dev',
        clientConfig: {
          url: `https://127.0.0.1:${port}/stables`,
          caBundle: Buffer.from(hookAuthority).toString('base64'),
        },
        rules: horses,
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  for (const consumer of ['near', 'far']) {
    // What the provider wrote a moment ago holds on other shards a moment later.
    await eventually(async () => {
      const { status, json } = await horse(consumer, 'lame', 3);
      if (status === 201)
        await requests.must({
          method: 'DELETE',
          path: `/clusters/root:${consumer}/apis/wildwest.dev/v1/namespaces/default/horses/lame`,
        });
      expect([status, json['message']]).toEqual([
        422,
        `horses.wildwest.dev "lame" is forbidden: ValidatingAdmissionPolicy 'legs' with binding 'legs' denied request: has 3 legs`,
      ]);
    }, patient);
    await eventually(async () => {
      const { json } = await horse(consumer, `sound-${asked.length}`, 4);
      expect(field(json as Json, 'spec', 'stable')).toBe(`stable of ${String(clusters[consumer])}`);
    }, patient);
  }
  expect(new Set(asked.map((text) => text.split(' ', 1)[0]))).toEqual(new Set([clusters['near'], clusters['far']]));
}, 120_000);

test("a provider's parameters hold for consumers on every shard, of its own kinds, too", async () => {
  const provider = '/clusters/root:provider';
  const limits = `${provider}/apis/stables.dev/v1/namespaces/default/limits`;
  await post(`${provider}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'limits.stables.dev' },
    spec: {
      group: 'stables.dev',
      names: { plural: 'limits', kind: 'Limit' },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', properties: { legs: { type: 'integer' } } } },
            },
          },
        },
      ],
    },
  });
  const limit = (legs: number): object => ({
    apiVersion: 'stables.dev/v1',
    kind: 'Limit',
    metadata: { name: 'legs' },
    spec: { legs },
  });
  await eventually(() => post(limits, limit(6)), patient);
  await post(`${provider}/api/v1/namespaces/default/configmaps`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'names' },
    data: { forbidden: 'pegasus' },
  });
  const configure = async (name: string, paramKind: object, paramRef: object, validation: object): Promise<void> => {
    const apiVersion = 'admissionregistration.k8s.io/v1';
    await post(`${provider}/${registration}/validatingadmissionpolicies`, {
      apiVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: { paramKind, matchConstraints: { resourceRules: horses }, validations: [validation] },
    });
    await post(`${provider}/${registration}/validatingadmissionpolicybindings`, {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: {
        policyName: name,
        validationActions: ['Deny'],
        paramRef: { namespace: 'default', parameterNotFoundAction: 'Deny', ...paramRef },
      },
    });
  };
  await configure(
    'most-legs',
    { apiVersion: 'stables.dev/v1', kind: 'Limit' },
    { name: 'legs' },
    {
      expression: 'object.spec.legs < params.spec.legs',
      messageExpression: '"fewer than " + string(params.spec.legs)',
    },
  );
  await configure(
    'names',
    { apiVersion: 'v1', kind: 'ConfigMap' },
    { selector: {} },
    {
      expression: "!has(params.data) || !('forbidden' in params.data) || params.data.forbidden != object.metadata.name",
    },
  );
  const refusal = async (consumer: string, name: string): Promise<string> => {
    const { json } = await requests.send({
      method: 'POST',
      path: `/clusters/root:${consumer}/apis/wildwest.dev/v1/namespaces/default/horses?dryRun=All`,
      body: { apiVersion: 'wildwest.dev/v1', kind: 'Horse', metadata: { name }, spec: { legs: 4 } },
    });
    return (json['message'] as string | undefined) ?? '';
  };
  await Promise.all(
    consumers.map((consumer) =>
      eventually(async () => {
        expect(await refusal(consumer, 'pegasus')).toContain("ValidatingAdmissionPolicy 'names' with binding 'names'");
        expect(await refusal(consumer, 'sound')).toBe('');
      }, patient),
    ),
  );
  // They change what holds, and without them nothing is let through.
  await requests.must({
    method: 'PATCH',
    path: `${limits}/legs`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { spec: { legs: 4 } },
  });
  for (const consumer of consumers)
    await eventually(async () => expect(await refusal(consumer, 'sound')).toContain('fewer than 4'), patient);
  await requests.must({ method: 'DELETE', path: `${limits}/legs` });
  for (const consumer of consumers)
    await eventually(async () => expect(await refusal(consumer, 'sound')).toContain('no params found'), patient);
  for (const resource of ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'])
    for (const name of ['most-legs', 'names'])
      await requests.must({ method: 'DELETE', path: `${provider}/${registration}/${resource}/${name}` });
  for (const consumer of consumers)
    await eventually(async () => expect(await refusal(consumer, 'pegasus')).toBe(''), patient);
}, 120_000);

test("a consumer's own configurations do not act on what is bound, only on its own objects", async () => {
  await post(`/clusters/root:near/${registration}/validatingadmissionpolicies`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'nothing' },
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['wildwest.dev', ''],
            apiVersions: ['*'],
            operations: ['CREATE'],
            resources: ['horses', 'configmaps'],
          },
        ],
      },
      validations: [{ expression: 'false', message: 'nothing at all' }],
    },
  });
  await post(`/clusters/root:near/${registration}/validatingadmissionpolicybindings`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'nothing' },
    spec: { policyName: 'nothing', validationActions: ['Deny'] },
  });
  await eventually(async () => {
    const { status } = await requests.send({
      method: 'POST',
      path: '/clusters/root:near/api/v1/namespaces/default/configmaps?dryRun=All',
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } },
    });
    expect(status).toBe(422);
  }, patient);
  expect((await horse('near', 'free', 4)).status).toBe(201);
});

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
