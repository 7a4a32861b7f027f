import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Json } from '@multiplane/apimachinery';
import { apiExport, apiResourceSchema, eventually } from '@multiplane/testing';
import type { Response } from '../harness/requests.ts';
import { bindingsOf, exportPath, SharedApis } from '../harness/shared-apis.ts';
import { WebhookServer, webhooksHere } from '../harness/webhook-server.ts';
import { field } from '../harness/workspaces.ts';

const registration = 'apis/admissionregistration.k8s.io/v1';
const rbac = 'apis/rbac.authorization.k8s.io/v1';
const consumers = ['near', 'far'];
const patient = { timeout: 30_000 };

let shared: SharedApis;
let stables: WebhookServer;
/** What the webhook was asked: cluster and name of the object. */
const asked: string[] = [];

beforeAll(async () => {
  shared = await SharedApis.start({ flags: webhooksHere });
  await shared.nearAndFar();
  stables = await WebhookServer.start('stables', review);

  const group = 'wildwest.dev';
  const spec = { type: 'object', properties: { legs: { type: 'integer' }, stable: { type: 'string' } } };
  for (const schema of [
    apiResourceSchema({ group, plural: 'horses', spec }),
    apiResourceSchema({ group, plural: 'banks', scope: 'Cluster' }),
  ])
    await shared.addSchema(schema);
  for (const exported of [
    apiExport('horses', ['v1.horses.wildwest.dev']),
    apiExport('banks', ['v1.banks.wildwest.dev'], { maximalPermissionPolicy: { local: {} } }),
  ])
    await shared.offer(exported);
  await Promise.all(
    consumers.map(async (consumer) => {
      await grant(consumer, 'everything', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }], 'user-1');
      for (const name of ['horses', 'banks']) await shared.bind(consumer, name);
    }),
  );
}, 180_000);

afterAll(async () => {
  await stables?.[Symbol.asyncDispose]();
  await shared?.[Symbol.asyncDispose]();
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

async function grant(workspace: string, name: string, rules: object[], user: string): Promise<void> {
  const apiGroup = 'rbac.authorization.k8s.io';
  await shared.post(`/clusters/root:${workspace}/${rbac}/clusterroles`, {
    apiVersion: `${apiGroup}/v1`,
    kind: 'ClusterRole',
    metadata: { name },
    rules: [...rules, { nonResourceURLs: ['/'], verbs: ['access'] }],
  });
  await shared.post(`/clusters/root:${workspace}/${rbac}/clusterrolebindings`, {
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
  const list = await shared.requests.send({ as: 'user-1', path });
  const create = await shared.requests.send({
    as: 'user-1',
    method: 'POST',
    path: `${path}?dryRun=All`,
    body: { apiVersion: 'wildwest.dev/v1', kind: 'Bank', metadata: { name: 'a' } },
  });
  return [list.status, create.status];
}

const horse = (workspace: string, name: string, legs: number): Promise<Response> =>
  shared.requests.send({
    method: 'POST',
    path: `/clusters/root:${workspace}/apis/wildwest.dev/v1/namespaces/default/horses`,
    body: { apiVersion: 'wildwest.dev/v1', kind: 'Horse', metadata: { name }, spec: { legs } },
  });
const horses = [{ apiGroups: ['wildwest.dev'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['horses'] }];

test("a provider's policies and webhooks act on the bound objects of consumers on every shard", async () => {
  await shared.post(`/clusters/root:provider/${registration}/validatingadmissionpolicies`, {
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
  await shared.post(`/clusters/root:provider/${registration}/validatingadmissionpolicybindings`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'legs' },
    spec: { policyName: 'legs', validationActions: ['Deny'] },
  });
  await shared.post(`/clusters/root:provider/${registration}/mutatingwebhookconfigurations`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: 'stables' },
    webhooks: [
      {
        name: 'stables.wildwest.dev',
        clientConfig: { url: stables.url, caBundle: stables.caBundle },
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
        await shared.requests.must({
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
      expect(field(json as Json, 'spec', 'stable')).toBe(`stable of ${String(shared.clusters.get(consumer))}`);
    }, patient);
  }
  expect(new Set(asked.map((text) => text.split(' ', 1)[0]))).toEqual(
    new Set([shared.clusters.get('near'), shared.clusters.get('far')]),
  );
}, 120_000);

test("a provider's parameters hold for consumers on every shard, of its own kinds, too", async () => {
  const provider = '/clusters/root:provider';
  const limits = `${provider}/apis/stables.dev/v1/namespaces/default/limits`;
  await shared.post(`${provider}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`, {
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
  await eventually(() => shared.post(limits, limit(6)), patient);
  await shared.post(`${provider}/api/v1/namespaces/default/configmaps`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'names' },
    data: { forbidden: 'pegasus' },
  });
  const configure = async (name: string, paramKind: object, paramRef: object, validation: object): Promise<void> => {
    const apiVersion = 'admissionregistration.k8s.io/v1';
    await shared.post(`${provider}/${registration}/validatingadmissionpolicies`, {
      apiVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: { paramKind, matchConstraints: { resourceRules: horses }, validations: [validation] },
    });
    await shared.post(`${provider}/${registration}/validatingadmissionpolicybindings`, {
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
    const { json } = await shared.requests.send({
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
  await shared.requests.must({
    method: 'PATCH',
    path: `${limits}/legs`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { spec: { legs: 4 } },
  });
  for (const consumer of consumers)
    await eventually(async () => expect(await refusal(consumer, 'sound')).toContain('fewer than 4'), patient);
  await shared.requests.must({ method: 'DELETE', path: `${limits}/legs` });
  for (const consumer of consumers)
    await eventually(async () => expect(await refusal(consumer, 'sound')).toContain('no params found'), patient);
  for (const resource of ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'])
    for (const name of ['most-legs', 'names'])
      await shared.requests.must({ method: 'DELETE', path: `${provider}/${registration}/${resource}/${name}` });
  for (const consumer of consumers)
    await eventually(async () => expect(await refusal(consumer, 'pegasus')).toBe(''), patient);
}, 120_000);

test("a consumer's own configurations do not act on what is bound, only on its own objects", async () => {
  await shared.post(`/clusters/root:near/${registration}/validatingadmissionpolicies`, {
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
  await shared.post(`/clusters/root:near/${registration}/validatingadmissionpolicybindings`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'nothing' },
    spec: { policyName: 'nothing', validationActions: ['Deny'] },
  });
  await eventually(async () => {
    const { status } = await shared.requests.send({
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

  await shared.requests.must({ method: 'DELETE', path: exportPath('banks') });
  // It is gone for everybody when the bindings say so.
  for (const consumer of consumers) {
    await eventually(async () => {
      const { json } = await shared.requests.must({ path: `${bindingsOf(consumer)}/banks` });
      expect(field(json as Json, 'status', 'conditions')).toContainEqual(
        expect.objectContaining({ type: 'APIExportValid', status: 'False', reason: 'APIExportNotFound' }),
      );
    }, patient);
    expect(await tried(consumer)).toEqual([200, 403]);
  }
}, 120_000);
