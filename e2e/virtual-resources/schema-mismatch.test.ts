import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { apiResourceSchema, eventually } from '@multiplane/testing';
import { SharedApis, there } from '../harness/shared-apis.ts';
import { field } from '../harness/workspaces.ts';

/** An exported schema that does not fit its CachedResource: consumers get an error, never objects in another form. */
const group = 'cloud.example.com';
const patient = { timeout: 30_000 };
const provider = '/clusters/root:provider';
const cachedResource = `${provider}/apis/cache.kcp.io/v1alpha1/cachedresources/flavors`;
const schemaText: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

let shared: SharedApis;
let identityHash: string;

beforeAll(async () => {
  shared = await SharedApis.start();
  await shared.workspace('consumer', there);
  const names = { plural: 'flavors', singular: 'flavor', kind: 'Flavor', listKind: 'FlavorList' };
  await shared.post(`${provider}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `flavors.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names,
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schemaText } }],
    },
  });
  const flavor: KubeObject = { apiVersion: `${group}/v1`, kind: 'Flavor', metadata: { name: 'small' } };
  await eventually(() => shared.post(`${provider}/apis/${group}/v1/flavors`, flavor), patient);
  await eventually(
    () =>
      shared.post(`${provider}/apis/cache.kcp.io/v1alpha1/cachedresources`, {
        apiVersion: 'cache.kcp.io/v1alpha1',
        kind: 'CachedResource',
        metadata: { name: 'flavors' },
        spec: { group, version: 'v1', resource: 'flavors' },
      }),
    patient,
  );
  await shared.post(`${provider}/apis/cache.kcp.io/v1alpha1/cachedresourceendpointslices`, {
    apiVersion: 'cache.kcp.io/v1alpha1',
    kind: 'CachedResourceEndpointSlice',
    metadata: { name: 'flavors' },
    spec: { cachedResource: { name: 'flavors' } },
  });
  identityHash = await eventually(async () => {
    const cached = await shared.get(cachedResource);
    if (field(cached, 'status', 'phase') !== 'Ready') throw new Error(JSON.stringify(cached));
    return field(cached, 'status', 'identityHash') as string;
  }, patient);
}, 240_000);

afterAll(async () => {
  await shared?.[Symbol.asyncDispose]();
});

const condition = async (path: string, type: string): Promise<JsonObject | undefined> =>
  (field(await shared.get(path), 'status', 'conditions') as JsonObject[] | undefined)?.find(
    (one) => one['type'] === type,
  );

async function offer(name: string, schema: string, hash = identityHash): Promise<void> {
  await shared.offer({
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name },
    spec: {
      resources: [
        {
          name: 'flavors',
          group,
          schema,
          storage: {
            virtual: {
              reference: { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: 'flavors' },
              identityHash: hash,
            },
          },
        },
      ],
    },
  });
}

describe.each([
  [
    'version',
    { versions: [{ name: 'v2', served: true, storage: true, schema: schemaText }] },
    'v2',
    'does not serve version v1, which CachedResource flavors caches',
  ],
  ['scope', { scope: 'Namespaced' as const }, 'v1', `has scope Namespaced, but flavors.${group} has scope Cluster`],
  ['kind', { kind: 'Taste' }, 'v1', `is of kind Taste, but flavors.${group} is of kind Flavor`],
])('a schema with another %s', (what, difference, version, problem) => {
  test('is reported by the export and its slice, and consumers get an error', async () => {
    const schema = apiResourceSchema({
      group,
      plural: 'flavors',
      kind: 'Flavor',
      scope: 'Cluster',
      prefix: what,
      ...difference,
    });
    await shared.addSchema(schema);
    await offer(what, schema.metadata.name ?? '');
    const message = `APIResourceSchema ${what}.flavors.${group} ${problem}`;
    await eventually(async () => {
      expect(
        await condition(`${provider}/apis/apis.kcp.io/v1alpha2/apiexports/${what}`, 'VirtualStorageValid'),
      ).toMatchObject({ status: 'False', reason: 'APIResourceSchemaInvalid', message });
      expect(
        await condition(
          `${provider}/apis/cache.kcp.io/v1alpha1/cachedresourceendpointslices/flavors`,
          'APIExportValid',
        ),
      ).toMatchObject({ status: 'False', reason: 'APIResourceSchemaInvalid', message });
    }, patient);
    await shared.bind('consumer', what);
    const path = `/clusters/root:consumer/apis/${group}/${version}/flavors`;
    await eventually(async () => {
      const refused = await shared.requests.send({ path });
      expect(refused.status).toBeGreaterThanOrEqual(500);
      expect(refused.json['message']).toContain(`flavors.${group}`);
    }, patient);
    await shared.remove(`/clusters/root:consumer/apis/apis.kcp.io/v1alpha2/apibindings/${what}`);
    await eventually(async () => expect((await shared.requests.send({ path })).status).toBe(404), patient);
    await shared.remove(`${provider}/apis/apis.kcp.io/v1alpha2/apiexports/${what}`);
  }, 120_000);
});

test('another export of the slice that does not fit is refused, while the one that fits is served', async () => {
  const fitting = apiResourceSchema({ group, plural: 'flavors', kind: 'Flavor', scope: 'Cluster', prefix: 'fits' });
  await shared.addSchema(fitting);
  await offer('fits', fitting.metadata.name ?? '');
  await offer('unfit', `kind.flavors.${group}`);
  await shared.workspace('other', there);
  await shared.bind('consumer', 'fits');
  await shared.bind('other', 'unfit');
  const path = (consumer: string): string => `/clusters/root:${consumer}/apis/${group}/v1/flavors`;
  await eventually(async () => {
    const { items } = (await shared.get(path('consumer'))) as unknown as { items: KubeObject[] };
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['small']);
  }, patient);
  const refused = await shared.requests.send({ path: path('other') });
  expect([refused.status, refused.json['message']]).toEqual([
    503,
    expect.stringContaining(`is of kind Taste, but flavors.${group} is of kind Flavor`),
  ]);
}, 120_000);
