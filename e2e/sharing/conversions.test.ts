import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Json, JsonObject } from '@multiplane/apimachinery';
import { apiExport, apiResourceSchema, eventually } from '@multiplane/testing';
import { SharedApis } from '../harness/shared-apis.ts';
import { field } from '../harness/workspaces.ts';

/*
 * The rules of an APIConversion, for consumers on the provider's shard and on another, and through the view of the export.
 */
const apis = 'apis/apis.kcp.io';
const patient = { timeout: 30_000 };
const schema = 'v1.people.example.dev';

let shared: SharedApis;
beforeAll(async () => {
  shared = await SharedApis.start();
  await shared.nearAndFar();
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
  await shared.addSchema(apiResourceSchema({ plural: 'people', kind: 'Person', scope: 'Cluster', versions }));
  await shared.offer(apiExport('people', [schema]));
  for (const consumer of ['near', 'far']) await shared.bind(consumer, 'people');
}, 180_000);
afterAll(async () => {
  await shared?.[Symbol.asyncDispose]();
});

const people = (consumer: string, version: string, name = ''): string =>
  `/clusters/root:${consumer}/apis/example.dev/${version}/people${name === '' ? '' : `/${name}`}`;
const specOf = async (path: string): Promise<unknown> => field(await shared.get(path), 'spec');

const rule = (from: string, to: string, transformation?: string): object => ({
  field: `.spec.${from}`,
  destination: `.spec.${to}`,
  ...(transformation === undefined ? {} : { transformation }),
});

test('rules that cannot work are refused, and say why', async () => {
  const conversions = [{ from: 'v1', to: 'v2', rules: [rule('first', 'name.given', 'self.nosuch()')] }];
  const answer = await shared.requests.send({
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
  await shared.post(people('far', 'v1'), object('v1', 'before', { first: 'Ann', last: 'Lee' }));
  await shared.post(`/clusters/root:provider/${apis}/v1alpha1/apiconversions`, {
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
      await shared.post(people(consumer, 'v2'), object('v2', name, spec));
      expect(await specOf(people(consumer, 'v1', name))).toEqual({ first: 'Bo', last: 'DI' });
      expect(await specOf(people(consumer, 'v2', name))).toEqual(spec);
      await shared.patch(people(consumer, 'v1', name), { spec: { first: 'Mo' } });
      expect(await specOf(people(consumer, 'v2', name))).toEqual({ ...spec, name: { given: 'Mo', family: 'DI' } });
    }, patient);
  }

  const provider = shared.clusters.get('provider');
  const view = `/services/apiexport/${provider}/people/clusters/*/apis/example.dev/v2/people`;
  const items = field(await shared.get(view), 'items') as Json[];
  expect(items.map((item) => field(item, 'spec', 'nick'))).toContain('bd');
  expect(items.map((item) => field(item, 'spec', 'first'))).not.toContain('Mo');
}, 120_000);
