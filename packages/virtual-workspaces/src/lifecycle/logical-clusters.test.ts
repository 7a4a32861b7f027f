import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { apiExports, apiResourceSchemas } from '@multiplane/apis';
import { fieldErrors, statusErrors } from '@multiplane/apimachinery';
import { FakeShard } from '../../test/fake-shard.ts';
import { exportOf, schemaOf } from '../../test/shared-apis.ts';
import { initializing, terminating } from './lifecycle.ts';

const services = ['initializingworkspaces', 'terminatingworkspaces'];
const object = 'apis/core.kcp.io/v1alpha1/logicalclusters/cluster';

let shard: FakeShard;
beforeEach(() => {
  shard = new FakeShard();
});
afterEach(() => shard.close());

test.each(services)('%s: requests are checked before a logical cluster is looked for', async (service) => {
  const missing = statusErrors.notFound({ group: 'core.kcp.io', resource: 'logicalclusters' }, 'cluster');
  shard.answer = ({ exchange }) => exchange.respond(404, JSON.stringify(missing.toStatus()));
  const url = `/services/${service}/root:held/clusters/one/${object}/status`;
  const put = async (body: string, type = 'application/json'): Promise<number> =>
    (await shard.send(url, { method: 'PUT', headers: { 'content-type': type }, body })).status;
  const head = '"apiVersion":"core.kcp.io/v1alpha1","kind":"LogicalCluster","metadata":{"name":"cluster"}';
  expect(await put(`{${head}}`, 'text/plain')).toBe(415);
  expect(await put('{}')).toBe(400);
  // kcp's virtual workspace has no schema.
  expect(await put(`{${head},"status":{"phase":1}}`)).toBe(404);
});

test('unknown paths get the root paths in one virtual workspace and a text in the others', async () => {
  shard.informer(apiResourceSchemas).put(schemaOf());
  shard.informer(apiExports).put(exportOf());
  for (const service of services) {
    const { status, headers, body } = await shard.send(`/services/${service}/root:held/clusters/*/healthz`);
    expect([status, headers.get('content-type'), body.toString()]).toEqual([
      404,
      'text/plain; charset=utf-8',
      '404 page not found\n',
    ]);
    expect((await shard.send(`/services/${service}/root:held/clusters/*/`)).status).toBe(200);
  }
  const { status, headers } = await shard.send('/services/apiexport/provider/things/clusters/*/healthz');
  expect([status, headers.get('content-type')]).toEqual([404, 'application/json']);
});

test.each(services)('%s: discovery is plain, also for clients that accept the aggregated form', async (service) => {
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
  const read = async (path: string): Promise<{ status: number; body: string }> => {
    const { status, body } = await shard.send(`/services/${service}/root:held/clusters/*/${path}`, {
      headers: { accept },
    });
    return { status, body: body.toString() };
  };
  expect(JSON.parse((await read('api')).body)).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
  expect((await read('api/v1')).status).toBe(404);
  expect(JSON.parse((await read('apis')).body)).toMatchObject({
    kind: 'APIGroupList',
    groups: [{ name: 'core.kcp.io' }],
  });
  expect(JSON.parse((await read('apis/core.kcp.io/v1alpha1')).body)).toMatchObject({
    kind: 'APIResourceList',
    resources: [{ name: 'logicalclusters', verbs: ['get', 'list', 'watch'] }, { name: 'logicalclusters/status' }],
  });
});

test('a health path of the content is authorized: there it is a path of the logical cluster', async () => {
  shard.allows = () => false;
  for (const service of services) {
    const { status, body } = await shard.send(`/services/${service}/root:held/clusters/one/healthz`);
    expect([status, body.toString()]).toEqual([403, expect.stringContaining('path \\"/clusters/one/healthz\\"')]);
    expect((await shard.send(`/services/${service}/root:held/clusters/*/healthz`)).status).toBe(404);
  }
});

const labelsOf = (selector: string): Record<string, string> =>
  Object.fromEntries(
    selector
      .replace(' in (Terminating,Deleting)', '=Deleting')
      .split(',')
      .map((requirement) => requirement.split('=') as [string, string]),
  ) as Record<string, string>;

test.each([
  ['terminator', 'terminatingworkspaces', 'core', 'PATCH', ['x'], 'only removing'],
  ['terminator', 'terminatingworkspaces', 'core', 'PUT', ['x'], 'only removing'],
  // kcp compares the numbers of initializers first, so the shard sees another one.
  ['initializer', 'initializingworkspaces', 'tenancy', 'PATCH', ['x'], 'refused by the schema'],
  ['initializer', 'initializingworkspaces', 'tenancy', 'PATCH', ['x', 'y'], 'only removing'],
])(
  'another %s is refused before the schema (%s, %s, %s, %j): %s',
  async (noun, service, group, method, list, wanted) => {
    const lifecycle = noun === 'terminator' ? terminating : initializing;
    const waiting = {
      apiVersion: 'core.kcp.io/v1alpha1',
      kind: 'LogicalCluster',
      metadata: {
        name: 'cluster',
        resourceVersion: '1',
        deletionTimestamp: '2026-01-01T00:00:00Z',
        labels: labelsOf(lifecycle.labelSelector('root:held')),
      },
      status: { phase: noun === 'terminator' ? 'Deleting' : 'Initializing', [`${noun}s`]: ['root:held'] },
    };
    const invalid = statusErrors.invalid({ group: `${group}.kcp.io`, kind: 'LogicalCluster' }, 'cluster', [
      fieldErrors.invalid(`status.${noun}s[0]`, 'x', 'refused by the schema'),
    ]);
    shard.answer = ({ exchange }) => {
      if (exchange.method === 'GET') exchange.respond(200, JSON.stringify(waiting));
      else exchange.respond(422, JSON.stringify(invalid.toStatus()));
    };
    const status = { [`${noun}s`]: list };
    const { status: code, body } = await shard.send(`/services/${service}/root:held/clusters/one/${object}/status`, {
      method,
      headers: { 'content-type': method === 'PUT' ? 'application/json' : 'application/merge-patch+json' },
      body: JSON.stringify(method === 'PUT' ? { ...waiting, status: { ...waiting.status, ...status } } : { status }),
    });
    expect(code).toBe(422);
    expect(body.toString()).toContain(wanted);
  },
);
