import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { asJson, type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import { cachedResourceEndpointSlices, cachedResources } from '@multiplane/apis';
import { eventLoopIdle } from '@multiplane/testing';
import { framesOf, Pipeline } from '../../test/pipeline.ts';

const api = '/apis/cache.kcp.io/v1alpha1';
const apiVersion = 'cache.kcp.io/v1alpha1';
const metadata = { name: 'flavors' };
const older = { slices: `${api}/cachedresourceendpointslices`, kind: 'CachedResourceEndpointSlice' };
const newer = { slices: `${api}/clustercachedresourceendpointslices`, kind: 'ClusterCachedResourceEndpointSlice' };
const newerSlice = { apiVersion, kind: newer.kind, metadata, spec: { clusterCachedResource: { name: 'flavors' } } };
const olderSpec = { cachedResource: { name: 'flavors' } };
const merge = { 'content-type': 'application/merge-patch+json' };
const apply = { 'content-type': 'application/apply-patch+yaml' };

let pipeline: Pipeline;
beforeEach(async () => {
  pipeline = await Pipeline.open();
});
afterEach(() => pipeline.close());

const read = (path: string): Promise<JsonObject> => pipeline.must(200, 'GET', path);
const uidOf = ({ metadata: of }: JsonObject): unknown => (of as JsonObject)['uid'];
const stored = async (resource = cachedResourceEndpointSlices): Promise<KubeObject> =>
  pipeline.client.get(resource, { cluster: pipeline.cluster, namespace: '', name: 'flavors' });

test('one object has both names, each with its own kind and field', async () => {
  const created = await pipeline.must(201, 'POST', newer.slices, newerSlice);
  expect(created).toMatchObject({ kind: newer.kind, spec: newerSlice.spec });
  const other = await read(`${older.slices}/flavors`);
  expect(other).toMatchObject({ kind: older.kind, spec: olderSpec });
  expect([uidOf(other), other['spec']]).toEqual([uidOf(created), olderSpec]);
  expect(JSON.stringify(other)).not.toContain('clusterCachedResource');
  expect(JSON.stringify(created)).not.toContain('f:cachedResource');
  await pipeline.must(409, 'POST', older.slices, { ...newerSlice, kind: older.kind, spec: olderSpec });
  await pipeline.must(200, 'DELETE', `${older.slices}/flavors`);
  await pipeline.must(404, 'GET', `${newer.slices}/flavors`);
});

test('lists, watches, updates, patches and applies of either name are seen by the other', async () => {
  await pipeline.must(201, 'POST', older.slices, { ...newerSlice, kind: older.kind, spec: olderSpec });
  const watches = [older, newer].map(({ slices, kind }) => ({
    kind,
    ...pipeline.start('GET', `${slices}?watch=true`),
  }));
  await eventLoopIdle();
  const label = (value: string): object => ({ metadata: { labels: { value } } });
  await pipeline.must(200, 'PATCH', `${newer.slices}/flavors`, label('merged'), merge);
  const current = await read(`${newer.slices}/flavors`);
  await pipeline.must(200, 'PUT', `${newer.slices}/flavors`, { ...current, status: undefined });
  const applied = { ...newerSlice, metadata: { name: 'flavors', labels: { applied: 'yes' } } };
  await pipeline.must(200, 'PATCH', `${newer.slices}/flavors?fieldManager=me&force=true`, applied, apply);
  expect(asJson(await stored())).toMatchObject({
    kind: older.kind,
    metadata: { labels: { value: 'merged', applied: 'yes' } },
    spec: olderSpec,
  });
  await eventLoopIdle();
  for (const { exchange, kind } of watches) {
    const frames = framesOf(exchange) as unknown as { type: string; object: JsonObject }[];
    expect(frames.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'MODIFIED']);
    expect(new Set(frames.map(({ object }) => object['kind']))).toEqual(new Set([kind]));
  }
  for (const { slices, kind } of [older, newer]) {
    const list = await read(slices);
    expect(list).toMatchObject({ kind: `${kind}List`, items: [{ kind }] });
  }
});

test('conditions have the reasons of the name by which they are read', async () => {
  await pipeline.must(201, 'POST', newer.slices, newerSlice);
  const at = '2026-01-01T00:00:00Z';
  const conditions = [
    { type: 'ResourceValid', status: 'False', reason: 'CachedResourceNotFound', lastTransitionTime: at },
  ];
  await pipeline.must(200, 'PATCH', `${older.slices}/flavors/status`, { status: { conditions } }, merge);
  const shown = await read(`${newer.slices}/flavors`);
  expect(shown['status']).toMatchObject({ conditions: [{ reason: 'ClusterCachedResourceNotFound' }] });
  await pipeline.must(200, 'PUT', `${newer.slices}/flavors/status`, shown);
  expect((await read(`${older.slices}/flavors`))['status']).toMatchObject({ conditions });
});

test('the reference is required and immutable by the newer name, too', async () => {
  await pipeline.must(422, 'POST', newer.slices, { ...newerSlice, spec: {} });
  await pipeline.must(422, 'POST', newer.slices, { ...newerSlice, spec: olderSpec });
  await pipeline.must(201, 'POST', newer.slices, newerSlice);
  const changed = await pipeline.must(
    422,
    'PATCH',
    `${newer.slices}/flavors`,
    { spec: { clusterCachedResource: { name: 'other' } } },
    merge,
  );
  expect(changed['message']).toContain('ClusterCachedResource reference must not be changed');
});

test('a ClusterCachedResource is a CachedResource without a default slice', async () => {
  const spec = { group: 'example.dev', version: 'v1', resource: 'flavors' };
  const kind = 'ClusterCachedResource';
  await pipeline.must(201, 'POST', `${api}/clustercachedresources`, { apiVersion, kind, metadata, spec });
  expect(asJson(await stored(cachedResources))).toMatchObject({
    kind: 'CachedResource',
    metadata: { annotations: { 'cachedresources.cache.kcp.io/skip-endpointslice': '' } },
    spec,
  });
  // The status by the other name, as controllers write it.
  const path = 'cachedresources/flavors/status';
  await pipeline.must(200, 'PATCH', `${api}/${path}`, { status: { phase: 'Ready' } }, merge);
  expect(await read(`${api}/clustercachedresources/flavors`)).toMatchObject({ kind, status: { phase: 'Ready' } });
});
