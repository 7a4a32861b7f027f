import { beforeEach, expect, test } from '@jest/globals';
import { apiExports, apiResourceSchemas } from '@multiplane/apis';
import { statusErrors } from '@multiplane/apimachinery';
import { FakeShard } from '../../test/fake-shard.ts';
import { exportOf, schemaOf } from '../../test/shared-apis.ts';

const services = ['initializingworkspaces', 'terminatingworkspaces'];
const object = 'apis/core.kcp.io/v1alpha1/logicalclusters/cluster';

let shard: FakeShard;
beforeEach(() => {
  shard = new FakeShard();
});

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
