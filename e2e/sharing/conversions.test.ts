import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Json, JsonObject } from '@multiplane/apimachinery';
import { apiExport, apiResourceSchema, eventually } from '@multiplane/testing';
import { startControlPlane, topologyName, type ControlPlane } from '../harness/control-plane.ts';
import { Requests } from '../harness/requests.ts';
import { createWorkspace, field } from '../harness/workspaces.ts';

/*
 * The rules of an APIConversion, for consumers on the provider's shard and on another, and through the view of the export.
 */
const apis = 'apis/apis.kcp.io';
const isSharded = topologyName === 'sharded';
const patient = { timeout: 30_000 };
const schema = 'v1.people.example.dev';

let cluster: ControlPlane;
let requests: Requests;
beforeAll(async () => {
  cluster = await startControlPlane();
  requests = new Requests(cluster);
  const admin = cluster.transport('base');
  await createWorkspace(admin, 'root', 'provider', { shard: 'root' });
  await createWorkspace(admin, 'root', 'near', { shard: 'root' });
  await createWorkspace(admin, 'root', 'far', { shard: isSharded ? 'shard-1' : 'root' });
  admin.close();
  const text = { type: 'string' };
  const version = (name: string, properties: JsonObject): JsonObject => ({
    name,
    served: true,
    storage: name === 'v1',
    schema: { type: 'object', properties: { spec: { type: 'object', properties } } },
  });
  const versions = [
    version('v1', { first: text, last: text }),
    version('v2', { name: { type: 'object', properties: { given: text, family: text } }, nick: text }),
  ];
  await post(
    `/clusters/root:provider/${apis}/v1alpha1/apiresourceschemas`,
    apiResourceSchema({ plural: 'people', kind: 'Person', scope: 'Cluster', versions }),
  );
  await post(`/clusters/root:provider/${apis}/v1alpha2/apiexports`, apiExport('people', [schema]));
  for (const consumer of ['near', 'far']) await bind(consumer);
}, 180_000);
afterAll(async () => {
  requests?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
});

async function get(path: string): Promise<Json> {
  return (await requests.must({ path })).json as Json;
}
async function post(path: string, body: object): Promise<Json> {
  return (await requests.must({ method: 'POST', path, body })).json as Json;
}
async function patch(path: string, body: object): Promise<Json> {
  const headers = { 'content-type': 'application/merge-patch+json' };
  return (await requests.must({ method: 'PATCH', path, headers, body })).json as Json;
}
const people = (consumer: string, version: string, name = ''): string =>
  `/clusters/root:${consumer}/apis/example.dev/${version}/people${name === '' ? '' : `/${name}`}`;
const specOf = async (path: string): Promise<unknown> => field(await get(path), 'spec');

async function bind(consumer: string): Promise<void> {
  const bindings = `/clusters/root:${consumer}/${apis}/v1alpha2/apibindings`;
  await eventually(
    () =>
      post(bindings, {
        apiVersion: 'apis.kcp.io/v1alpha2',
        kind: 'APIBinding',
        metadata: { name: 'people' },
        spec: { reference: { export: { path: 'root:provider', name: 'people' } } },
      }),
    patient,
  );
  await eventually(
    async () => expect(field(await get(`${bindings}/people`), 'status', 'phase')).toBe('Bound'),
    patient,
  );
}

const rule = (from: string, to: string, transformation?: string): object => ({
  field: `.spec.${from}`,
  destination: `.spec.${to}`,
  ...(transformation === undefined ? {} : { transformation }),
});

test('rules that cannot work are refused, and say why', async () => {
  const conversions = [{ from: 'v1', to: 'v2', rules: [rule('first', 'name.given', 'self.nosuch()')] }];
  const answer = await requests.send({
    method: 'POST',
    path: `/clusters/root:provider/${apis}/v1alpha1/apiconversions`,
    body: {
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIConversion',
      metadata: { name: schema },
      spec: { conversions },
    },
  });
  expect(answer.status).toBe(403);
  expect(field(answer.json as Json, 'message')).toContain('spec.conversions[0].rules[0].transformation');
});

test('objects are the same in every version, near, far, and for the provider', async () => {
  const object = (version: string, name: string, spec: object): object => ({
    apiVersion: `example.dev/${version}`,
    kind: 'Person',
    metadata: { name },
    spec,
  });
  await post(people('far', 'v1'), object('v1', 'before', { first: 'Ann', last: 'Lee' }));
  await post(`/clusters/root:provider/${apis}/v1alpha1/apiconversions`, {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIConversion',
    metadata: { name: schema },
    spec: {
      conversions: [
        {
          from: 'v1',
          to: 'v2',
          rules: [rule('first', 'name.given'), rule('last', 'name.family', 'self.upperAscii()')],
        },
        {
          from: 'v2',
          to: 'v1',
          rules: [rule('name.given', 'first'), rule('name.family', 'last')],
          preserve: ['.spec.nick'],
        },
      ],
    },
  });
  await eventually(
    async () => expect(await specOf(people('far', 'v2', 'before'))).toEqual({ name: { given: 'Ann', family: 'LEE' } }),
    patient,
  );
  let tries = 0;
  for (const consumer of ['near', 'far']) {
    // Each shard learns of the rules by itself.
    await eventually(async () => {
      const name = `of-${consumer}-${++tries}`;
      const spec = { name: { given: 'Bo', family: 'DI' }, nick: 'bd' };
      await post(people(consumer, 'v2'), object('v2', name, spec));
      expect(await specOf(people(consumer, 'v1', name))).toEqual({ first: 'Bo', last: 'DI' });
      expect(await specOf(people(consumer, 'v2', name))).toEqual(spec);
      await patch(people(consumer, 'v1', name), { spec: { first: 'Mo' } });
      expect(await specOf(people(consumer, 'v2', name))).toEqual({ ...spec, name: { given: 'Mo', family: 'DI' } });
    }, patient);
  }

  const provider = field(
    await get('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/provider'),
    'spec',
    'cluster',
  ) as string;
  const view = `/services/apiexport/${provider}/people/clusters/*/apis/example.dev/v2/people`;
  const items = field(await get(view), 'items') as Json[];
  expect(items.map((item) => field(item, 'spec', 'nick'))).toContain('bd');
  expect(items.map((item) => field(item, 'spec', 'first'))).not.toContain('Mo');
}, 120_000);
