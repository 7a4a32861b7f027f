import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Json, JsonObject } from '@multiplane/apimachinery';
import { apiExport, apiResourceSchema, eventually } from '@multiplane/testing';
import { bindingsOf, exportPath, here, SharedApis } from '../harness/shared-apis.ts';
import { field } from '../harness/workspaces.ts';

const apis = 'apis/apis.kcp.io';
const rbac = 'apis/rbac.authorization.k8s.io/v1';
const patient = { timeout: 60_000 };

let shared: SharedApis;
let provider: string;

beforeAll(async () => {
  shared = await SharedApis.start();
  provider = shared.clusters.get('provider') as string;
  await offerSchema('v1');
}, 180_000);

afterAll(async () => {
  await shared?.[Symbol.asyncDispose]();
});

const offerSchema = (prefix: string): Promise<Json> =>
  shared.addSchema(apiResourceSchema({ group: 'wildwest.dev', plural: 'cowboys', prefix }));
const offer = (name: string, spec: JsonObject = {}, schema = 'v1.cowboys.wildwest.dev'): Promise<Json> =>
  shared.offer(apiExport(name, [schema], spec));
const phaseOf = async (consumer: string, name: string): Promise<unknown> =>
  field(await shared.get(`${bindingsOf(consumer)}/${name}`), 'status', 'phase');
const expectBound = (consumer: string, name: string): Promise<void> =>
  eventually(async () => expect(await phaseOf(consumer, name)).toBe('Bound'), patient);
async function conditionOf(path: string, type: string): Promise<unknown> {
  const conditions = (field(await shared.get(path), 'status', 'conditions') ?? []) as { type: string }[];
  return conditions.find((condition) => condition.type === type);
}
const cowboysOf = (consumer: string): string =>
  `/clusters/root:${consumer}/apis/wildwest.dev/v1/namespaces/default/cowboys`;
const ride = (consumer: string, name: string): Promise<Json> =>
  eventually(
    () => shared.post(cowboysOf(consumer), { apiVersion: 'wildwest.dev/v1', kind: 'Cowboy', metadata: { name } }),
    patient,
  );

describe('missing parts are reported and awaited', () => {
  test('the secret of an identity', async () => {
    await shared.workspace('identity');
    await offer('nameless', { identity: { secretRef: { name: 'later', namespace: 'default' } } });
    const exported = exportPath('nameless');
    await eventually(
      async () =>
        expect(await conditionOf(exported, 'IdentityValid')).toMatchObject({
          status: 'False',
          reason: 'IdentityVerificationFailed',
          message: 'secrets "later" not found',
        }),
      patient,
    );
    await shared.createBinding('identity', 'nameless');
    await eventually(
      async () =>
        expect(await conditionOf(`${bindingsOf('identity')}/nameless`, 'APIExportValid')).toMatchObject({
          status: 'False',
          reason: 'MissingIdentityHash',
          message: 'APIExport root:provider|nameless is missing status.identityHash',
        }),
      patient,
    );
    await shared.post('/clusters/root:provider/api/v1/namespaces/default/secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'later' },
      stringData: { key: 'not to be guessed' },
    });
    await expectBound('identity', 'nameless');
  }, 120_000);

  test('a schema', async () => {
    await shared.workspace('schema');
    await offer('shapeless', {}, 'v9.cowboys.wildwest.dev');
    await shared.createBinding('schema', 'shapeless');
    await eventually(
      async () =>
        expect(await conditionOf(`${bindingsOf('schema')}/shapeless`, 'APIExportValid')).toMatchObject({
          status: 'False',
          reason: 'InternalError',
          message:
            'Invalid APIExport. Please contact the APIExport owner to resolve: APIResourceSchema "v9.cowboys.wildwest.dev" not found',
        }),
      patient,
    );
    await offerSchema('v9');
    await expectBound('schema', 'shapeless');
    await ride('schema', 'late');
  }, 120_000);
});

test('of two bindings for one resource, made at once, one has it; the other one when the first is gone', async () => {
  await shared.workspace('twice');
  await Promise.all([offer('one'), offer('two')]);
  await Promise.all([shared.createBinding('twice', 'one'), shared.createBinding('twice', 'two')]);
  const [winner, loser] = await eventually(async () => {
    const phases = [await phaseOf('twice', 'one'), await phaseOf('twice', 'two')];
    expect(phases.filter((phase) => phase === 'Bound')).toHaveLength(1);
    return phases[0] === 'Bound' ? (['one', 'two'] as const) : (['two', 'one'] as const);
  }, patient);
  await eventually(
    async () =>
      expect(await conditionOf(`${bindingsOf('twice')}/${loser}`, 'InitialBindingCompleted')).toMatchObject({
        status: 'False',
        reason: 'NamingConflicts',
      }),
    patient,
  );
  await ride('twice', 'first');
  await shared.remove(`${bindingsOf('twice')}/${winner}`);
  await expectBound('twice', loser);
  // Of another identity there is nothing left.
  await eventually(async () => expect(field(await shared.get(cowboysOf('twice')), 'items')).toEqual([]), patient);
}, 120_000);

describe('a provider at its endpoint', () => {
  /** A service account of the provider that may see what consumers have, and its token. */
  async function reader(name: string): Promise<string> {
    const accounts = `/clusters/root:provider/api/v1/namespaces/default/serviceaccounts`;
    await shared.post(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } });
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: `read-${name}` } };
    await shared.post(`/clusters/root:provider/${rbac}/clusterroles`, {
      ...role,
      kind: 'ClusterRole',
      rules: [{ apiGroups: ['apis.kcp.io'], resources: ['apiexports/content'], resourceNames: [name], verbs: ['*'] }],
    });
    await shared.post(`/clusters/root:provider/${rbac}/clusterrolebindings`, {
      ...role,
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `read-${name}` },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name }],
    });
    const made = await shared.post(`${accounts}/${name}/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    });
    return field(made, 'status', 'token') as string;
  }
  /** Where the consumers of an export are, as paths below the address of the control plane. */
  async function endpointsOf(name: string, count: number): Promise<readonly string[]> {
    return eventually(async () => {
      const slice = await shared.get(`/clusters/root:provider/${apis}/v1alpha1/apiexportendpointslices/${name}`);
      const endpoints = (field(slice, 'status', 'endpoints') ?? []) as { url: string }[];
      expect(endpoints).toHaveLength(count);
      return endpoints.map(({ url }) => url);
    }, patient);
  }
  const below = (url: string): string => `/services/apiexport/${provider}/${url.slice(url.lastIndexOf('/') + 1)}`;

  test('sees the objects of a consumer go that is deleted, and goes on seeing those of others', async () => {
    await offer('watched');
    for (const name of ['leaves', 'stays']) {
      await shared.workspace(name, here);
      await shared.createBinding(name, 'watched');
      await expectBound(name, 'watched');
      await ride(name, `of-${name}`);
    }
    const [url] = await endpointsOf('watched', 1);
    const view = `${below(url as string)}/clusters/*/apis/wildwest.dev/v1/cowboys`;
    const list = await eventually(async () => {
      const found = await shared.get(view);
      expect(field(found, 'items')).toHaveLength(2);
      return found;
    }, patient);
    const watch = await shared.requests.watch(
      `${view}?watch=1&resourceVersion=${field(list, 'metadata', 'resourceVersion') as string}`,
    );
    try {
      await shared.remove('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/leaves');
      const events = (): string[] =>
        watch.events.map(
          ({ type, object }) => `${String(type)} ${field(object as Json, 'metadata', 'name') as string}`,
        );
      await eventually(() => expect(events()).toContain('DELETED of-leaves'), patient);
      await ride('stays', 'next');
      await eventually(() => expect(events()).toContain('ADDED next'), patient);
      expect(watch.ended).toBe(false);
    } finally {
      watch.close();
    }
  }, 180_000);

  test('is not let in any more when its service account is gone', async () => {
    await offer('trusted');
    await shared.workspace('trusting', here);
    await shared.createBinding('trusting', 'trusted');
    await ride('trusting', 'one');
    const token = await reader('trusted');
    const [url] = await endpointsOf('trusted', 1);
    const path = `${below(url as string)}/clusters/*/apis/wildwest.dev/v1/cowboys`;
    const status = async (): Promise<number> => (await shared.requests.send({ as: token, path })).status;
    await eventually(async () => expect(await status()).toBe(200), patient);
    await shared.remove('/clusters/root:provider/api/v1/namespaces/default/serviceaccounts/trusted');
    await eventually(async () => expect(await status()).toBe(401), patient);
  }, 120_000);
});
