import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { cachedResourceEndpointSlices, defaultSliceAnnotation, defaultSliceOf } from '@multiplane/apis';
import { eventLoopIdle } from '@multiplane/testing';
import { framesOf, Pipeline } from '../../test/pipeline.ts';
import { loopbackUser } from '../loopback/loopback-user.ts';

const slices = '/apis/cache.kcp.io/v1alpha1/cachedresourceendpointslices';
const flavors = `${slices}/flavors`;
const madeFor = (name: string): KubeObject =>
  defaultSliceOf({ apiVersion: 'cache.kcp.io/v1alpha1', kind: 'CachedResource', metadata: { name, uid: 'u' } });
const sent = (spec: JsonObject = {}): JsonObject => ({
  apiVersion: 'cache.kcp.io/v1alpha1',
  kind: 'CachedResourceEndpointSlice',
  metadata: { name: 'flavors', labels: { mine: 'yes' } },
  spec: { cachedResource: { name: 'flavors' }, export: { name: 'compute' }, ...spec },
});

/** The operations that admission sees of users. */
let admitted: string[];
let pipeline: Pipeline;
beforeEach(async () => {
  admitted = [];
  pipeline = await Pipeline.open({
    plugins: [
      {
        name: 'record',
        handles: () => true,
        admit: async ({ user, operation, name, object }) => {
          if (user === loopbackUser) return;
          admitted.push(`${operation} ${name}`);
          delete object?.metadata.annotations?.[defaultSliceAnnotation];
        },
      },
    ],
  });
  await pipeline.client.create(cachedResourceEndpointSlices, pipeline.cluster, madeFor('flavors'));
  admitted = [];
});
afterEach(() => pipeline.close());
const current = (): Promise<JsonObject> => pipeline.must(200, 'GET', flavors);

test('a create takes the place of an object that gives way: same uid, one MODIFIED', async () => {
  const { uid, creationTimestamp } = (await current())['metadata'] as JsonObject;
  const { exchange } = pipeline.start('GET', `${slices}?watch=true`);
  await eventLoopIdle();
  const created = await pipeline.must(201, 'POST', slices, sent());
  expect(created).toMatchObject({
    metadata: { uid, creationTimestamp, generation: 2, labels: { mine: 'yes' } },
    spec: { cachedResource: { name: 'flavors' }, export: { name: 'compute' } },
  });
  expect((created['metadata'] as JsonObject)['ownerReferences']).toBeUndefined();
  expect(await current()).toEqual(created);
  await eventLoopIdle();
  expect(framesOf(exchange).map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED']);
  expect(admitted).toEqual(['UPDATE flavors']);
});

test('the second create of a client fails, as does one for another name that is taken', async () => {
  await pipeline.must(201, 'POST', slices, sent());
  expect((await pipeline.must(409, 'POST', slices, sent()))['reason']).toBe('AlreadyExists');
});

test('it may change what is immutable otherwise, by every way of writing it', async () => {
  await pipeline.must(201, 'POST', slices, sent({ cachedResource: { name: 'others' } }));
  await pipeline.must(422, 'PATCH', flavors, { spec: { export: { name: 'other' } } }, merge);
  for (const [index, [method, headers]] of (
    [
      ['PUT', {}],
      ['PATCH', merge],
      ['PATCH', apply],
    ] as const
  ).entries()) {
    const name = `made-${index}`;
    await pipeline.client.create(cachedResourceEndpointSlices, pipeline.cluster, madeFor(name));
    const path = `${slices}/${name}${headers === apply ? '?fieldManager=me&force=true' : ''}`;
    const { resourceVersion } = (await pipeline.must(200, 'GET', `${slices}/${name}`))['metadata'] as JsonObject;
    const body = sent({ cachedResource: { name: 'others' } });
    body['metadata'] = { name, ...(method === 'PUT' ? { resourceVersion: resourceVersion ?? '' } : {}) };
    expect((await pipeline.must(200, method, path, body, headers))['spec']).toEqual(body['spec']);
  }
});

test('an invalid object replaces nothing, and a dry run neither', async () => {
  const before = await current();
  await pipeline.must(422, 'POST', slices, { ...sent(), spec: {} });
  await pipeline.must(201, 'POST', `${slices}?dryRun=All`, sent());
  expect(await current()).toEqual(before);
});

test('of clients that create at once, one replaces the object', async () => {
  const answers = await Promise.all(
    ['a', 'b', 'c', 'd'].map((name) => pipeline.ask('POST', slices, sent({ export: { name } }))),
  );
  const winners = answers.filter(({ status }) => status === 201);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409, 409]);
  expect((await current())['spec']).toEqual(winners[0]?.body['spec']);
});

test('an object that is being deleted gives way to nobody', async () => {
  const object = await current();
  const metadata = { ...(object['metadata'] as JsonObject), finalizers: ['example.dev/held'] };
  await pipeline.client.update(cachedResourceEndpointSlices, pipeline.cluster, { ...object, metadata } as never);
  await pipeline.must(200, 'DELETE', flavors);
  expect((await pipeline.must(409, 'POST', slices, sent()))['message']).toContain('object is being deleted');
});

const merge = { 'content-type': 'application/merge-patch+json' };
const apply = { 'content-type': 'application/apply-patch+yaml' };
