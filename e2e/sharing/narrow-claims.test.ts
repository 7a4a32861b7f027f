import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Json } from '@multiplane/apimachinery';
import { apiExport, apiResourceSchema, eventually } from '@multiplane/testing';
import type { Response } from '../harness/requests.ts';
import { describeWithKubectl, Kubectl } from '../harness/kubectl.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { bindingsOf, exportPath, SharedApis } from '../harness/shared-apis.ts';

const group = 'databases.dev';
const patient = { timeout: 30_000 };
const consumers = ['near', 'far'];
const everything = { matchAll: true };
const reference = { group, resource: 'databases', path: '.spec.secretRef' };

/** What the export asks for. */
const claims = [
  { resource: 'secrets', verbs: ['*'], objects: { references: [reference] } },
  { resource: 'configmaps', verbs: ['*'], objects: { names: ['ca'], namespaces: ['default', 'other'] } },
  { resource: 'namespaces', verbs: ['*'], subresources: ['status'] },
];
const certificates = [
  { resource: 'secrets', verbs: ['get', 'list', 'watch'], objects: { fieldSelector: 'type=kubernetes.io/tls' } },
  { resource: 'namespaces', verbs: ['*'], subresources: [] },
];

let shared: SharedApis;
beforeAll(async () => {
  shared = await SharedApis.start();
  await shared.nearAndFar();
  const spec = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  await shared.addSchema(apiResourceSchema({ group, plural: 'databases', spec }));
  await shared.offer(apiExport('databases', [`v1.databases.${group}`], { permissionClaims: claims }));
  await shared.offer(apiExport('certificates', [], { permissionClaims: certificates }));
  await shared.grant(
    'provider',
    'provider',
    [
      { apiGroups: ['apis.kcp.io'], resources: ['apiexports/content'], verbs: ['*'] },
      { nonResourceURLs: ['/'], verbs: ['access'] },
    ],
    [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'user-1' }],
  );
  for (const consumer of consumers) {
    await shared.post(`/clusters/root:${consumer}/api/v1/namespaces`, { metadata: { name: 'other' } });
    // The consumer of databases shows less than it was asked for.
    await bind(consumer, 'databases', [
      { ...claims[0] },
      { ...claims[1], objects: { namespaces: ['default'] } },
      { ...claims[2] },
    ]);
    await bind(consumer, 'certificates', [{ ...certificates[0], objects: undefined }, { ...certificates[1] }]);
  }
}, 180_000);
afterAll(async () => {
  await shared?.[Symbol.asyncDispose]();
});

async function bind(consumer: string, name: string, accepted: readonly object[]): Promise<void> {
  await eventually(
    () =>
      shared.post(bindingsOf(consumer), {
        apiVersion: 'apis.kcp.io/v1alpha2',
        kind: 'APIBinding',
        metadata: { name },
        spec: {
          reference: { export: { path: 'root:provider', name } },
          permissionClaims: accepted.map((claim) => ({ ...claim, selector: everything, state: 'Accepted' })),
        },
      }),
    patient,
  );
  await shared.bound(consumer, name);
}

const own = (consumer: string, namespace = 'default'): string =>
  `/clusters/root:${consumer}/api/v1/namespaces/${namespace}`;
const databases = (consumer: string): string =>
  `/clusters/root:${consumer}/apis/${group}/v1/namespaces/default/databases`;
/** Where the provider of an export sees a consumer, or all consumers of its own shard. */
const seen = (exported: string, consumer: string): string =>
  `/services/apiexport/${shared.clusters.get('provider')}/${exported}/clusters/${consumer === '*' ? '*' : shared.clusters.get(consumer)}`;
const create = (path: string, name: string, more: object = {}): Promise<Json> =>
  shared.post(path, { metadata: { name }, ...more });
const database = (name: string, secret: string): object => ({
  apiVersion: `${group}/v1`,
  kind: 'Database',
  metadata: { name },
  spec: { secretRef: { name: secret } },
});

/** Namespaces and names of what a list has. */
async function listed(path: string): Promise<string[]> {
  const { items } = (await shared.get(path)) as unknown as {
    items: { metadata: { namespace?: string; name: string } }[];
  };
  return items.map(({ metadata: { namespace = '', name } }) => `${namespace}/${name}`).toSorted();
}
const ask = (method: string, path: string, body?: object): Promise<Response> =>
  shared.requests.send({ method, path, ...(body === undefined ? {} : { body }) });

describe.each(consumers)('a provider of %s', (consumer) => {
  test('sees objects by name and namespace, as far as the consumer accepts', async () => {
    for (const namespace of ['default', 'other'])
      for (const name of ['ca', 'secret-sauce']) await create(`${own(consumer, namespace)}/configmaps`, name);
    const maps = `${seen('databases', consumer)}/api/v1/configmaps`;
    expect(await listed(maps)).toEqual(['default/ca']);
    expect(await listed(`${seen('databases', consumer)}/api/v1/namespaces/other/configmaps`)).toEqual([]);
    const one = (namespace: string, name: string): string =>
      `${seen('databases', consumer)}/api/v1/namespaces/${namespace}/configmaps/${name}`;
    expect((await ask('GET', one('default', 'ca'))).status).toBe(200);
    for (const [namespace, name] of [
      ['other', 'ca'],
      ['default', 'secret-sauce'],
    ] as const) {
      expect((await ask('GET', one(namespace, name))).status).toBe(404);
      expect((await ask('DELETE', one(namespace, name))).status).toBe(404);
    }
    // The rest survives what deletes everything that the provider has.
    expect((await ask('DELETE', `${seen('databases', consumer)}/api/v1/namespaces/default/configmaps`)).status).toBe(
      200,
    );
    expect(await listed(`${own(consumer)}/configmaps`)).toEqual(['default/kube-root-ca.crt', 'default/secret-sauce']);
  }, 60_000);

  test('creates only what its claim is for', async () => {
    const maps = `${seen('databases', consumer)}/api/v1/namespaces/default/configmaps`;
    const refused = await ask('POST', maps, { metadata: { name: 'another' } });
    expect([refused.status, refused.json['message']]).toEqual([
      403,
      'configmaps "another" is forbidden: the permission claim of the APIExport is not for this object',
    ]);
    expect((await ask('POST', maps, { metadata: { name: 'ca' } })).status).toBe(201);
  }, 60_000);

  test('sees objects by field', async () => {
    const secrets = `${own(consumer)}/secrets`;
    const data = { 'tls.crt': '', 'tls.key': '' };
    await create(secrets, 'tls', { type: 'kubernetes.io/tls', data });
    await create(secrets, 'opaque');
    expect(await listed(`${seen('certificates', consumer)}/api/v1/secrets`)).toEqual(['default/tls']);
  }, 60_000);

  test('uses the subresources that it asked for', async () => {
    // Verbs do not limit system:masters.
    const as = 'user-1';
    const statuses = async (exported: string): Promise<number[]> => {
      const path = `${seen(exported, consumer)}/api/v1/namespaces/other`;
      const { json } = await shared.requests.must({ as, path });
      const puts = [path, `${path}/status`].map(async (put) =>
        shared.requests.send({ as, method: 'PUT', path: put, body: json }),
      );
      return (await Promise.all(puts)).map(({ status }) => (status === 409 ? 200 : status));
    };
    expect(await statuses('databases')).toEqual([200, 200]);
    expect(await statuses('certificates')).toEqual([200, 403]);
  }, 60_000);

  test('sees the objects that its own objects name, as these come and go', async () => {
    const secrets = `${own(consumer)}/secrets`;
    const visible = `${seen('databases', consumer)}/api/v1/secrets`;
    for (const name of ['one', 'two']) await create(secrets, name);
    expect(await listed(visible)).toEqual([]);
    const { metadata } = (await shared.get(visible)) as { metadata: { resourceVersion: string } };
    const watch = await shared.requests.watch(`${visible}?watch=true&resourceVersion=${metadata.resourceVersion}`);
    const events = (): string[] =>
      watch.events.map(
        ({ type, object }) => `${String(type)} ${(object as { metadata: { name: string } }).metadata.name}`,
      );

    await shared.post(databases(consumer), database('orders', 'one'));
    await eventually(async () => expect(await listed(visible)).toEqual(['default/one']), patient);
    // A write of the consumer to what is visible, and to what is not.
    for (const name of ['one', 'two']) await shared.patch(`${secrets}/${name}`, { stringData: { password: 'x' } });
    await shared.patch(`${databases(consumer)}/orders`, { spec: { secretRef: { name: 'two' } } });
    await eventually(async () => expect(await listed(visible)).toEqual(['default/two']), patient);
    // Named before it exists: the provider may make it, and sees it.
    await shared.post(databases(consumer), database('users', 'made'));
    await eventually(
      async () =>
        expect(
          (
            await ask('POST', `${seen('databases', consumer)}/api/v1/namespaces/default/secrets`, {
              metadata: { name: 'made' },
            })
          ).status,
        ).toBe(201),
      patient,
    );
    await shared.remove(`${databases(consumer)}/orders`);
    await eventually(async () => expect(await listed(visible)).toEqual(['default/made']), patient);
    await eventually(
      () =>
        expect(events()).toEqual(
          ['ADDED one', 'MODIFIED one', 'ADDED two', 'DELETED one', 'ADDED made', 'DELETED two'].toSorted(
            byOrderOf(events()),
          ),
        ),
      patient,
    );
    watch.close();
    // The objects themselves are where they were.
    expect(await listed(secrets)).toEqual(expect.arrayContaining(['default/made', 'default/one', 'default/two']));
  }, 90_000);
});

/** Objects change one after the other, each in a write of its own: which of two comes first is not said. */
const byOrderOf =
  (seenEvents: readonly string[]) =>
  (a: string, b: string): number =>
    seenEvents.indexOf(a) - seenEvents.indexOf(b);

describeWithKubectl('kubectl kcp claims show', () => {
  test('says what claims are for, and for which objects now', async () => {
    await using kubectl = await Kubectl.create({
      server: `${shared.cluster.url}/clusters/root:near`,
      ca: shared.cluster.ca,
      token: testTokens.masters,
      namespace: 'default',
    });
    const printed = await kubectl.ok(['kcp', 'claims', 'show', 'databases', '--preview']);
    expect(printed.split('\n')).toEqual(
      expect.arrayContaining([
        'APIBinding databases: the provider of root:provider:databases asks for',
        `  everything with secrets, named by databases.${group} in .spec.secretRef (accepted)`,
        '  everything with configmaps, with the name ca, in the namespace default (accepted)',
        '  everything with namespaces, of subresources only status (accepted)',
        '    default/made',
        '    default/ca',
      ]),
    );
    expect(printed).not.toContain('secret-sauce');
  }, 60_000);
});

test('the export cannot ask for what it cannot say', async () => {
  const path = exportPath('databases');
  const exported = (await shared.get(path)) as { spec: { permissionClaims: object[] } };
  const tried = async (objects: object): Promise<string> => {
    const permissionClaims = [{ resource: 'secrets', verbs: ['get'], objects }];
    const answer = await ask('PUT', path, { ...exported, spec: { ...exported.spec, permissionClaims } });
    return `${answer.status} ${String(answer.json['message'])}`;
  };
  expect(await tried({ fieldSelector: 'type' })).toContain(
    'spec.permissionClaims[0].objects.fieldSelector: Invalid value',
  );
  expect(await tried({ references: [{ ...reference, path: '.spec[' }] })).toContain(
    'spec.permissionClaims[0].objects.references[0].path: Invalid value',
  );
  expect(await tried({ references: [{ ...reference, resource: 'others' }] })).toContain(
    'objects.references[0].resource: Invalid value: "others": must be a resource of this APIExport',
  );
});
