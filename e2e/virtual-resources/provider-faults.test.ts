import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { apiResourceSchema, eventually } from '@multiplane/testing';
import type { Response } from '../harness/requests.ts';
import { SharedApis, there } from '../harness/shared-apis.ts';
import { field } from '../harness/workspaces.ts';

/**
 * An APIExport, a CachedResource and a slice that do not fit: consumers get an error, never objects in another form. And who makes
 * the slice.
 */
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

/** What a consumer is told, of whom the APIExport is the only name. */
const unavailable = (name: string): string =>
  `the virtual resource flavors.${group} of APIExport root:provider:${name} is not available: its provider has not set it up ` +
  'correctly; please contact the owner of the APIExport, whose condition VirtualStorageValid says what to do';
const answerOf = ({ status, headers, json }: Response): unknown[] => [status, headers['retry-after'], json['message']];

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
      ).toMatchObject({
        status: 'False',
        reason: 'APIResourceSchemaInvalid',
        message: `${message}; create an APIResourceSchema that fits, and refer to it in the APIExport`,
      });
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
      expect(answerOf(refused)).toEqual([503, undefined, unavailable(what)]);
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
  expect(answerOf(refused)).toEqual([503, undefined, unavailable('unfit')]);
}, 120_000);

test('another identityHash is refused at once, with a text for consumers', async () => {
  await offer('hash', `fits.flavors.${group}`, 'f'.repeat(64));
  await shared.workspace('third', there);
  await shared.bind('third', 'hash');
  await eventually(async () => {
    const refused = await shared.requests.send({ path: `/clusters/root:third/apis/${group}/v1/flavors` });
    expect(answerOf(refused)).toEqual([503, undefined, unavailable('hash')]);
  }, patient);
}, 120_000);

describe('the endpoint slice of a CachedResource', () => {
  const slices = `${provider}/apis/cache.kcp.io/v1alpha1/cachedresourceendpointslices`;
  const slice = `${slices}/flavors`;
  const own = {
    apiVersion: 'cache.kcp.io/v1alpha1',
    kind: 'CachedResourceEndpointSlice',
    metadata: { name: 'flavors' },
    spec: { cachedResource: { name: 'flavors' }, export: { name: 'fits' } },
  };
  const cached = (annotations: Record<string, string> = {}): object => ({
    apiVersion: 'cache.kcp.io/v1alpha1',
    kind: 'CachedResource',
    metadata: { name: 'flavors', annotations },
    spec: { group, version: 'v1', resource: 'flavors' },
  });
  const create = async (annotations?: Record<string, string>): Promise<void> => {
    await shared.post(`${provider}/apis/cache.kcp.io/v1alpha1/cachedresources`, cached(annotations));
  };
  const remove = async (): Promise<void> => {
    await shared.remove(cachedResource);
    await eventually(
      async () => expect((await shared.requests.send({ path: cachedResource })).status).toBe(404),
      patient,
    );
  };
  const isGone = (): Promise<void> =>
    eventually(async () => expect((await shared.requests.send({ path: slice })).status).toBe(404), patient);

  test('gives way to the slice of a client that creates one: one object, MODIFIED', async () => {
    const made = (await shared.get(slice)) as unknown as KubeObject;
    const watch = await shared.requests.watch(
      `${slices}?watch=true&resourceVersion=${made.metadata.resourceVersion ?? ''}&fieldSelector=metadata.name%3Dflavors`,
    );
    const created = await shared.requests.send({ method: 'POST', path: slices, body: own });
    expect([created.status, created.json['spec']]).toEqual([201, own.spec]);
    expect(field(created.json as never, 'metadata', 'uid')).toBe(made.metadata.uid);
    await eventually(async () => {
      const events = watch.events.map(({ type, object }) => [type, field(object as never, 'spec', 'export')]);
      expect(events).toContainEqual(['MODIFIED', { name: 'fits' }]);
      expect(events.map(([type]) => type)).not.toContain('DELETED');
    }, patient);
    watch.close();
    expect((await shared.requests.send({ method: 'POST', path: slices, body: own })).status).toBe(409);
  }, 60_000);

  test('stays when the CachedResource is deleted if it is the client’s, and may be there before it', async () => {
    await remove();
    expect(field(await shared.get(slice), 'spec')).toEqual(own.spec);
    await create();
    await eventually(async () => expect((await condition(slice, 'ResourceValid'))?.['status']).toBe('True'), patient);
    expect(field(await shared.get(slice), 'spec')).toEqual(own.spec);
  }, 90_000);

  test('is made again when it is deleted, changes by apply and patch, and goes with the CachedResource', async () => {
    await shared.remove(slice);
    await eventually(async () => {
      expect(field(await shared.get(slice), 'spec')).toEqual({ cachedResource: { name: 'flavors' } });
    }, patient);
    await remove();
    await isGone();
    await create();
    await eventually(() => shared.get(slice), patient);
    await shared.patch(slice, { spec: { export: { name: 'fits' } } });
    const refused = await shared.requests.send({
      method: 'PATCH',
      path: slice,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { export: { name: 'other' } } },
    });
    expect(refused.status).toBe(422);
    await remove();
    expect(field(await shared.get(slice), 'spec')).toEqual(own.spec);
    await shared.remove(slice);
  }, 120_000);

  test('is not made if an annotation of the CachedResource says so, and its consumers are told at once', async () => {
    await create({ 'cachedresources.cache.kcp.io/skip-endpointslice': '' });
    await eventually(async () => {
      expect(
        await condition(`${provider}/apis/apis.kcp.io/v1alpha2/apiexports/fits`, 'VirtualStorageValid'),
      ).toMatchObject({
        status: 'False',
        reason: 'EndpointSliceNotFound',
        message: expect.stringContaining('create it, or remove the annotation'),
      });
      expect(field(await shared.get(cachedResource), 'status', 'phase')).toBe('Ready');
      const refused = await shared.requests.send({ path: `/clusters/root:consumer/apis/${group}/v1/flavors` });
      expect(answerOf(refused)).toEqual([503, undefined, unavailable('fits')]);
    }, patient);
    expect((await shared.requests.send({ path: slice })).status).toBe(404);
  }, 90_000);
});
