import { afterEach, describe, expect, test } from '@jest/globals';
import { eventLoopIdle } from '@multiplane/testing';
import type { JsonObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  type APIResourceSchema,
  boundDefinitionsCluster,
  builtInResources,
  definitionOfSchema,
} from '@multiplane/apis';
import { CacheInformerFactory } from '../../informers/cache-informer-factory.ts';
import { Pipeline, type PipelineOptions, framesOf } from '../../../test/pipeline.ts';
import { FakeBindings, FakeExports } from '../../../test/fake-bindings.ts';

const definitionsCluster = boundDefinitionsCluster as LogicalClusterName;
const one = 'one' as LogicalClusterName;
const two = 'two' as LogicalClusterName;
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const numbers: JsonObject = { type: 'object', properties: { size: { type: 'integer' } } };

interface Wanted {
  readonly group?: string;
  readonly plural?: string;
  readonly kind?: string;
  readonly versions?: readonly { readonly name: string; readonly spec: JsonObject }[];
}

function schemaOf(uid: string, wanted: Wanted = {}): APIResourceSchema {
  const { group = 'example.dev', plural = 'hats', kind = 'Hat', versions = [{ name: 'v1', spec: numbers }] } = wanted;
  return {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: {
      name: `v1.${plural}.${group === '' ? 'core' : group}`,
      uid,
      annotations: { 'kcp.io/cluster': 'provider' },
    },
    spec: {
      group,
      names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
      scope: 'Namespaced',
      versions: versions.map(({ name, spec }, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema: { type: 'object', properties: { spec } },
        subresources: { status: {} },
      })),
      ...(versions.length > 1 ? { conversion: { strategy: 'None' as const } } : {}),
    },
  };
}

const hat = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: 'example.dev/v1',
  kind: 'Hat',
  metadata: { name },
  spec,
});
const hatsOf = (cluster: string, suffix = ''): string =>
  `/clusters/${cluster}/apis/example.dev/v1/namespaces/default/hats${suffix}`;
const namesOf = (list: JsonObject): string[] =>
  (list['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);

let pipeline: Pipeline | undefined;
let bindings: FakeBindings;
let exported: FakeExports;
async function open(options: PipelineOptions = {}): Promise<Pipeline> {
  bindings = new FakeBindings();
  exported = new FakeExports();
  pipeline = await Pipeline.open({ ...options, bindings, exports: exported });
  for (const cluster of [one, two])
    await pipeline.must(201, 'POST', `/clusters/${cluster}/api/v1/namespaces`, { metadata: { name: 'default' } });
  return pipeline;
}
afterEach(async () => {
  await pipeline?.close();
});

const hats = { group: 'example.dev', resource: 'hats' };
const serveSchema = (on: Pipeline, schema: APIResourceSchema): Promise<void> =>
  on.serve(definitionOfSchema(schema), definitionsCluster);

describe('a virtual resource', () => {
  const virtual = {
    export: { cluster: 'provider' as LogicalClusterName, name: 'things', path: 'root:provider' },
    exportIdentity: 'abc',
    identityHash: 'def',
    reference: { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: 'hats' },
  };

  test('is not read as a stored one while its export is gone', async () => {
    const on = await open();
    await serveSchema(on, schemaOf('s1'));
    exported.setVirtual('hats', virtual);
    bindings.bind(one, { ...hats, uid: 's1', identity: 'abc', exportCluster: 'provider', isVirtual: true });
    const served = on.resolver.resolve(one, 'example.dev', 'v1', 'hats');
    expect(served?.virtual).toEqual(virtual);
    const hash = on.resolver.discoveryHash(one);
    exported.setVirtual('hats', undefined);
    exported.isSynced = false;
    for (const method of ['GET', 'POST', 'DELETE']) {
      const { status, text } = await on.ask(method, hatsOf(one), method === 'POST' ? hat('a') : undefined);
      expect([status, JSON.parse(text)]).toMatchObject([
        503,
        {
          message:
            'the virtual resource hats.example.dev is unavailable: APIExport provider:things does not exist or no longer offers it; please contact its owner, or delete APIBinding b',
          details: { retryAfterSeconds: 5 },
        },
      ]);
    }
    expect((await on.ask('GET', '/clusters/*/apis/example.dev/v1/hats:abc')).status).toBe(503);
    expect(on.resolver.list(one).some(({ resource }) => resource === 'hats')).toBe(true);
    expect(on.resolver.discoveryHash(one)).not.toBe(hash);
    exported.setVirtual('hats', virtual);
    expect(on.resolver.resolve(one, 'example.dev', 'v1', 'hats')).toBe(served);
    expect(on.resolver.discoveryHash(one)).toBe(hash);
  });
});

describe('a bound resource', () => {
  test('is served where it is bound', async () => {
    const on = await open();
    await serveSchema(on, schemaOf('s1'));
    expect((await on.ask('GET', hatsOf(one))).text).toBe('404 page not found\n');
    const before = on.resolver.discoveryHash(one);
    bindings.bind(one, { ...hats, uid: 's1', identity: 'abc' });
    expect(on.resolver.discoveryHash(one)).not.toBe(before);
    expect(
      on.resolver
        .list(one)
        .filter(({ group }) => group === 'example.dev')
        .map(({ kind }) => kind),
    ).toEqual(['Hat']);
    await on.must(201, 'POST', hatsOf(one), hat('a', { size: 1 }));
    expect((await on.ask('POST', hatsOf(one), hat('b', { size: 'big' }))).status).toBe(422);
    expect(await on.must(200, 'PATCH', hatsOf(one, '/a/status'), { status: {} }, mergePatch)).toMatchObject({
      kind: 'Hat',
    });
    expect((await on.ask('GET', hatsOf(two))).status).toBe(404);
    bindings.unbind(one, 'example.dev', 'hats');
    expect((await on.ask('GET', hatsOf(one))).status).toBe(404);
    expect(on.resolver.discoveryHash(one)).toBe(before);
  });

  test('of two exports with the same schema is stored separately', async () => {
    const on = await open();
    await serveSchema(on, schemaOf('shared'));
    bindings.bind(one, { ...hats, uid: 'shared', identity: 'first' });
    bindings.bind(two, { ...hats, uid: 'shared', identity: 'second' });
    await on.must(201, 'POST', hatsOf(one), hat('of-one'));
    await on.must(201, 'POST', hatsOf(two), hat('of-two'));
    expect(namesOf(await on.must(200, 'GET', '/clusters/*/apis/example.dev/v1/hats:first'))).toEqual(['of-one']);
    expect(namesOf(await on.must(200, 'GET', '/clusters/*/apis/example.dev/v1/hats:second'))).toEqual(['of-two']);
    // Bound to the other export, the same cluster sees none of its previous objects.
    bindings.bind(one, { ...hats, uid: 'shared', identity: 'second' });
    expect(namesOf(await on.must(200, 'GET', hatsOf(one)))).toEqual([]);
  });

  test('hides a local definition of the same name until it is unbound', async () => {
    const on = await open();
    const local = definitionOfSchema(schemaOf('local'));
    await on.serve({ ...local, metadata: { name: 'hats.example.dev' } }, one);
    await on.must(201, 'POST', hatsOf(one), hat('local'));
    const watch = on.start('GET', `${hatsOf(one)}?watch=true&resourceVersion=0`);
    await eventLoopIdle();
    await serveSchema(on, schemaOf('s1'));
    bindings.bind(one, { ...hats, uid: 's1', identity: 'abc' });
    await watch.done;
    expect(namesOf(await on.must(200, 'GET', hatsOf(one)))).toEqual([]);
    expect(on.resolver.list(one).filter(({ resource }) => resource === 'hats')).toHaveLength(1);
    bindings.unbind(one, 'example.dev', 'hats');
    expect(namesOf(await on.must(200, 'GET', hatsOf(one)))).toEqual(['local']);
  });

  test('without an available definition responds with 503 and is not in discovery', async () => {
    const on = await open();
    bindings.bind(one, { ...hats, uid: 'nowhere', identity: 'abc' });
    const answer = await on.ask('GET', hatsOf(one));
    expect(answer.status).toBe(503);
    expect(answer.body['message']).toBe('hats.example.dev is currently unavailable');
    expect(on.resolver.list(one).some(({ group }) => group === 'example.dev')).toBe(false);
    await serveSchema(on, schemaOf('nowhere'));
    expect((await on.ask('GET', hatsOf(one))).status).toBe(200);
    expect(on.resolver.list(one).some(({ group }) => group === 'example.dev')).toBe(true);
  });

  test('of a terminating binding accepts no creates', async () => {
    const on = await open();
    await serveSchema(on, schemaOf('s1'));
    bindings.bind(one, { ...hats, uid: 's1', identity: 'abc' });
    await on.must(201, 'POST', hatsOf(one), hat('a'));
    const watch = on.start('GET', `${hatsOf(one)}?watch=true&resourceVersion=0`);
    await eventLoopIdle();
    const before = on.resolver.discoveryHash(one);
    bindings.bind(one, { ...hats, uid: 's1', identity: 'abc', deleting: true });
    expect(on.resolver.discoveryHash(one)).not.toBe(before);
    expect(
      on.resolver
        .list(one)
        .find(({ resource }) => resource === 'hats')
        ?.verbs.toSorted(),
    ).toEqual(['delete', 'deletecollection', 'get', 'list', 'watch']);
    expect((await on.ask('POST', hatsOf(one), hat('b'))).status).toBe(403);
    await on.must(200, 'DELETE', hatsOf(one, '/a'));
    await eventLoopIdle();
    bindings.unbind(one, 'example.dev', 'hats');
    await watch.done;
    expect(framesOf(watch.exchange).map(({ type }) => type)).toEqual(['ADDED', 'DELETED']);
  });

  test('bound by another schema changes immediately, also for existing objects', async () => {
    const on = await open();
    await serveSchema(on, schemaOf('s1'));
    await serveSchema(
      on,
      schemaOf('s2', {
        versions: [
          { name: 'v2', spec: { type: 'object', properties: { color: { type: 'string', default: 'black' } } } },
          { name: 'v1', spec: numbers },
        ],
      }),
    );
    bindings.bind(one, { ...hats, uid: 's1', identity: 'abc' });
    await on.must(201, 'POST', hatsOf(one), hat('a', { size: 1 }));
    const watch = on.start('GET', `${hatsOf(one)}?watch=true`);
    await eventLoopIdle();
    const before = on.resolver.discoveryHash(one);
    bindings.bind(one, { ...hats, uid: 's2', identity: 'abc' });
    await watch.done;
    expect(on.resolver.discoveryHash(one)).not.toBe(before);
    const seen = await on.must(200, 'GET', '/clusters/one/apis/example.dev/v2/namespaces/default/hats/a');
    expect(seen).toMatchObject({ apiVersion: 'example.dev/v2', spec: {} });
    expect(await on.must(200, 'GET', hatsOf(one, '/a'))).toMatchObject({ spec: { size: 1 } });
  });

  test('uses a new schema of its export if names and scope are equal', async () => {
    const on = await open();
    const spec: JsonObject = { type: 'object', properties: { color: { type: 'string' } } };
    const versions = [
      { name: 'v1', spec: numbers },
      { name: 'v2', spec },
    ];
    await serveSchema(on, schemaOf('s1'));
    bindings.bind(one, { ...hats, uid: 's1', identity: 'abc' });
    await on.must(201, 'POST', hatsOf(one), hat('a', { size: 1 }));
    const before = on.resolver.discoveryHash(one);
    exported.offer('hats', 's2');
    // Nothing changes until the new definition is established.
    expect(on.resolver.discoveryHash(one)).toBe(before);
    await serveSchema(on, schemaOf('s2', { versions }));
    expect(on.resolver.discoveryHash(one)).not.toBe(before);
    expect(await on.must(200, 'GET', '/clusters/one/apis/example.dev/v2/namespaces/default/hats/a')).toMatchObject({
      apiVersion: 'example.dev/v2',
    });
    await serveSchema(on, schemaOf('s3', { kind: 'Cap' }));
    exported.offer('hats', 's3');
    expect(on.resolver.discoveryHash(one)).toBe(before);
    bindings.bind(one, { ...hats, uid: 's1', identity: 'abc', deleting: true });
    exported.offer('hats', 's2');
    expect((await on.ask('GET', '/clusters/one/apis/example.dev/v2/namespaces/default/hats')).status).toBe(404);
  });

  test('changes with its definition for all bindings', async () => {
    const on = await open();
    await serveSchema(on, schemaOf('s1'));
    bindings.bind(one, { ...hats, uid: 's1', identity: 'abc' });
    bindings.bind(two, { ...hats, uid: 's1', identity: 'abc' });
    const before = on.resolver.discoveryHash(one);
    expect(on.resolver.discoveryHash(two)).toBe(before);
    await on.must(
      200,
      'PATCH',
      `/clusters/${definitionsCluster}${definitions}/s1`,
      { spec: { names: { categories: ['all'] } } },
      mergePatch,
    );
    expect(on.resolver.discoveryHash(one)).not.toBe(before);
    expect(on.resolver.discoveryHash(two)).toBe(on.resolver.discoveryHash(one));
    // Definitions of other logical clusters have no effect.
    const hash = on.resolver.discoveryHash(one);
    const own = definitionOfSchema(schemaOf('x'));
    await on.serve({ ...own, metadata: { name: 'hats.example.dev' } }, 'third' as LogicalClusterName);
    expect(on.resolver.discoveryHash(one)).toBe(hash);
  });
});

describe('an identity in the URL', () => {
  test('selects a binding, never a local definition', async () => {
    const on = await open();
    await serveSchema(on, schemaOf('s1'));
    bindings.bind(one, { ...hats, uid: 's1', identity: 'abc' });
    await on.must(201, 'POST', hatsOf(one), hat('a'));
    const named = (identity: string): string =>
      `/clusters/one/apis/example.dev/v1/namespaces/default/hats:${identity}/a`;
    expect(await on.must(200, 'GET', named('abc'))).toMatchObject({ metadata: { name: 'a' } });
    expect((await on.ask('GET', named('other'))).text).toBe('404 page not found\n');
    await on.serve({ ...definitionOfSchema(schemaOf('local')), metadata: { name: 'hats.example.dev' } }, two);
    expect((await on.ask('GET', hatsOf(two))).status).toBe(200);
    expect((await on.ask('GET', '/clusters/two/apis/example.dev/v1/namespaces/default/hats:abc')).status).toBe(404);
    expect((await on.ask('GET', named(''))).body).toMatchObject({
      code: 500,
      message: 'Internal error occurred: invalid resource "hats": missing identity',
    });
  });

  test('is required over all logical clusters except for metadata', async () => {
    const on = await open();
    await serveSchema(on, schemaOf('s1'));
    bindings.bind(one, { ...hats, uid: 's1', identity: 'abc' });
    bindings.bind(two, { ...hats, uid: 's1', identity: 'xyz' });
    await on.must(201, 'POST', hatsOf(one), hat('a'));
    await on.must(201, 'POST', hatsOf(two), hat('b'));
    expect((await on.ask('GET', '/clusters/*/apis/example.dev/v1/hats')).text).toBe('404 page not found\n');
    expect((await on.ask('GET', '/clusters/*/apis/example.dev/v1/hats:guess')).text).toBe('404 page not found\n');
    const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
    expect(
      namesOf(await on.must(200, 'GET', '/clusters/*/apis/example.dev/v1/hats', undefined, { accept })).toSorted(),
    ).toEqual(['a', 'b']);
  });

  test('works over all logical clusters before the first binding', async () => {
    const on = await open();
    exported.schemas.set('abc/example.dev/hats', schemaOf('s1'));
    const everywhere = '/clusters/*/apis/example.dev/v1/hats:abc';
    expect(await on.must(200, 'GET', everywhere)).toMatchObject({ kind: 'HatList', items: [] });
    const watch = on.start('GET', `${everywhere}?watch=true`);
    await eventLoopIdle();
    await serveSchema(on, schemaOf('s1'));
    bindings.bind(one, { ...hats, uid: 's1', identity: 'abc' });
    await on.must(201, 'POST', hatsOf(one), hat('first'));
    await eventLoopIdle();
    expect(framesOf(watch.exchange).map(({ object }) => object.metadata.name)).toEqual(['first']);
    expect(watch.exchange.ended).toBe(false);
    // A resource that the export no longer offers is still served where it is bound.
    exported.schemas.clear();
    expect(namesOf(await on.must(200, 'GET', everywhere))).toEqual(['first']);
  });
});

test('a watch over all logical clusters ends when a schema with several versions is first bound', async () => {
  const on = await open();
  const versions = [
    { name: 'v1', spec: numbers },
    { name: 'v2', spec: numbers },
  ];
  exported.schemas.set('abc/example.dev/hats', schemaOf('s1', { versions }));
  const watch = on.start('GET', '/clusters/*/apis/example.dev/v1/hats:abc?watch=true');
  await eventLoopIdle();
  await serveSchema(on, schemaOf('s1', { versions }));
  await watch.done;
  expect((await on.ask('GET', '/clusters/*/apis/example.dev/v1/hats:abc')).status).toBe(200);
});

describe('the conversions of a bound schema', () => {
  const v1: JsonObject = { type: 'object', properties: { size: { type: 'integer' }, note: { type: 'string' } } };
  const v2: JsonObject = {
    type: 'object',
    properties: { width: { type: 'integer' }, color: { type: 'string' }, by: { type: 'string', default: 'me' } },
  };
  const conversions = [
    {
      from: 'v1',
      to: 'v2',
      rules: [{ field: 'spec.size', destination: 'spec.width', transformation: 'self * 10' }],
      preserve: ['spec.note'],
    },
    {
      from: 'v2',
      to: 'v1',
      rules: [{ field: 'spec.width', destination: 'spec.size', transformation: 'self / 10' }],
      preserve: ['spec.color', 'spec.by'],
    },
  ];
  const second = '/clusters/one/apis/example.dev/v2/namespaces/default/hats';

  async function serveVersions(on: Pipeline, uid: string, storage: 'v1' | 'v2'): Promise<void> {
    const versions = [
      { name: 'v1', spec: v1 },
      { name: 'v2', spec: v2 },
    ].toSorted((a) => (a.name === storage ? -1 : 1));
    const definition = definitionOfSchema(schemaOf(uid, { versions }));
    const annotations = {
      ...definition.metadata.annotations,
      'internal.apis.kcp.io/conversions': JSON.stringify(conversions),
    };
    await on.serve({ ...definition, metadata: { ...definition.metadata, annotations } }, definitionsCluster);
    bindings.bind(one, { ...hats, uid, identity: 'abc' });
  }
  const newHat = (name: string, spec: JsonObject): JsonObject => ({ ...hat(name, spec), apiVersion: 'example.dev/v2' });

  test('return all objects in all versions without loss', async () => {
    const on = await open();
    await serveVersions(on, 's1', 'v1');
    await on.must(201, 'POST', hatsOf(one), hat('old', { size: 2, note: 'n' }));
    expect(await on.must(200, 'GET', `${second}/old`)).toMatchObject({ spec: { width: 20 } });
    expect(await on.must(201, 'POST', second, newHat('new', { width: 50, color: 'red' }))).toMatchObject({
      apiVersion: 'example.dev/v2',
      spec: { width: 50, color: 'red', by: 'me' },
    });
    expect(await on.must(200, 'GET', hatsOf(one, '/new'))).toMatchObject({ spec: { size: 5 } });
    expect((await on.must(200, 'GET', second))['items']).toMatchObject([
      { spec: { width: 50, color: 'red', by: 'me' } },
      { spec: { width: 20 } },
    ]);
    // An update in one version keeps fields that only the other version has.
    await on.must(200, 'PATCH', hatsOf(one, '/new'), { spec: { size: 6 } }, mergePatch);
    expect(await on.must(200, 'GET', `${second}/new`)).toMatchObject({ spec: { width: 60, color: 'red' } });
    await on.must(200, 'PATCH', `${second}/old`, { spec: { color: 'blue' } }, mergePatch);
    expect(await on.must(200, 'GET', hatsOf(one, '/old'))).toMatchObject({ spec: { size: 2, note: 'n' } });
  });

  test('convert objects of a previous storage version', async () => {
    const on = await open();
    await serveVersions(on, 's1', 'v1');
    await on.must(201, 'POST', hatsOf(one), hat('a', { size: 2, note: 'n' }));
    await serveVersions(on, 's2', 'v2');
    const shown = { apiVersion: 'example.dev/v2', spec: { width: 20 } };
    expect(await on.must(200, 'GET', `${second}/a`)).toMatchObject(shown);
    expect(await on.must(200, 'GET', hatsOf(one, '/a'))).toMatchObject({ spec: { size: 2, note: 'n' } });
    await on.must(200, 'PATCH', `${second}/a`, { spec: { color: 'red' } }, mergePatch);
    expect(await on.must(200, 'GET', hatsOf(one, '/a'))).toMatchObject({ spec: { size: 2, note: 'n' } });
    expect(await on.must(200, 'GET', `${second}/a`)).toMatchObject({ spec: { width: 20, color: 'red' } });
  });

  test('can be made by a webhook of the provider', async () => {
    const asked: unknown[] = [];
    const on = await open({
      reviewer: {
        convert: ({ conversion, desired, objects }) => {
          asked.push([conversion.tenant, conversion.client, desired]);
          return Promise.resolve(objects.map((object) => ({ ...object, apiVersion: desired, spec: { width: 7 } })));
        },
      },
    });
    const versions = [
      { name: 'v1', spec: v1 },
      { name: 'v2', spec: v2 },
    ];
    const definition = definitionOfSchema(schemaOf('s1', { versions }));
    const conversion = {
      strategy: 'Webhook',
      webhook: { clientConfig: { url: 'https://convert.example.dev' }, conversionReviewVersions: ['v1'] },
    };
    await on.serve({ ...definition, spec: { ...(definition['spec'] as JsonObject), conversion } }, definitionsCluster);
    bindings.bind(one, { ...hats, uid: 's1', identity: 'abc' });
    await on.must(201, 'POST', hatsOf(one), hat('a', { size: 2 }));
    expect(await on.must(200, 'GET', `${second}/a`)).toMatchObject({ spec: { width: 7 } });
    expect(asked).toEqual([
      ['provider', expect.objectContaining({ url: 'https://convert.example.dev' }), 'example.dev/v2'],
    ]);
  });

  test('report why they fail for an object', async () => {
    const on = await open();
    await serveVersions(on, 's1', 'v1');
    await on.must(201, 'POST', hatsOf(one), hat('a', { size: 2 ** 62 }));
    const answer = await on.ask('GET', `${second}/a`);
    expect(answer.status).toBe(500);
    expect(answer.body['message']).toContain('conversion from v1 to v2 failed: spec.size: integer overflow');
  });
});

describe('a kind of Kubernetes through an export', () => {
  test('is served in the core group, with its merge keys', async () => {
    const on = await open();
    const anything: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    await serveSchema(
      on,
      schemaOf('p1', { group: '', plural: 'pods', kind: 'Pod', versions: [{ name: 'v1', spec: anything }] }),
    );
    bindings.bind(one, { group: '', resource: 'pods', uid: 'p1', identity: 'abc' });
    const pods = '/clusters/one/api/v1/namespaces/default/pods';
    const containers = ['a', 'b'].map((name) => ({ name, image: 'x' }));
    await on.must(201, 'POST', pods, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers } });
    const patched = await on.must(
      200,
      'PATCH',
      `${pods}/p`,
      { spec: { containers: [{ name: 'b', image: 'y' }] } },
      { 'content-type': 'application/strategic-merge-patch+json' },
    );
    expect((patched['spec'] as JsonObject)['containers']).toEqual([
      { name: 'a', image: 'x' },
      { name: 'b', image: 'y' },
    ]);
    expect(on.resolver.list(one).some(({ group, resource }) => group === '' && resource === 'pods')).toBe(true);
    expect(on.cache.snapshot('/registry/core/pods/abc/one/').entries(undefined, 10)).toHaveLength(1);
    expect((await on.ask('GET', '/clusters/two/api/v1/namespaces/default/pods')).status).toBe(404);
  });
});

describe('an exported built-in kind', () => {
  const builtIn = builtInResources().map((definition) =>
    definition.group === 'tenancy.kcp.io' ? { ...definition, exportedBy: 'tenancy.kcp.io' } : definition,
  );
  const workspaces = (cluster: string, suffix = ''): string =>
    `/clusters/${cluster}/apis/tenancy.kcp.io/v1alpha1/workspaces${suffix}`;
  const tenancy = {
    group: 'tenancy.kcp.io',
    resource: 'workspaces',
    uid: 'w',
    identity: 'root-id',
    exportCluster: 'root',
  };

  test('is served where the export of root is bound, and in system clusters', async () => {
    const on = await open({ builtIn });
    const none = on.resolver.discoveryHash(one);
    expect((await on.ask('GET', workspaces(one))).status).toBe(404);
    bindings.bind(one, { ...tenancy, exportName: 'tenancy.kcp.io' });
    expect((await on.ask('GET', workspaces(one))).status).toBe(200);
    expect((await on.ask('GET', workspaces(one, ':root-id'))).status).toBe(200);
    expect((await on.ask('GET', workspaces(one, ':other'))).status).toBe(404);
    const bound = on.resolver.discoveryHash(one);
    expect(bound).not.toBe(none);
    expect(on.resolver.discoveryHash(two)).toBe(none);
    expect((await on.ask('GET', workspaces('system:admin'))).status).toBe(200);
    expect((await on.ask('GET', workspaces('*'))).status).toBe(200);
    bindings.bind(one, { ...tenancy, exportName: 'tenancy.kcp.io', deleting: true });
    expect(on.resolver.list(one).find(({ resource }) => resource === 'workspaces')?.verbs).not.toContain('create');
    expect(on.resolver.discoveryHash(one)).not.toBe(bound);
  });

  test('is found by its identity over all logical clusters', async () => {
    const on = await open({ builtIn });
    expect((await on.ask('GET', workspaces('*', ':root-id'))).status).toBe(404);
    exported.exports.set('root-id', [{ cluster: 'root' as LogicalClusterName, name: 'tenancy.kcp.io' }]);
    exported.exports.set('mine', [{ cluster: 'mine' as LogicalClusterName, name: 'tenancy.kcp.io' }]);
    expect((await on.ask('GET', workspaces('*', ':root-id'))).status).toBe(200);
    expect((await on.ask('GET', workspaces('*', ':mine'))).status).toBe(404);
  });

  test('of another export is a separate resource with its own storage', async () => {
    const on = await open({ builtIn });
    const schema = schemaOf('mine', { group: 'tenancy.kcp.io', plural: 'workspaces', kind: 'Workspace' });
    await serveSchema(on, schema);
    bindings.bind(one, { ...tenancy, uid: 'mine', identity: 'my-id', exportCluster: 'provider' });
    expect(on.resolver.resolve(one, 'tenancy.kcp.io', 'v1', 'workspaces')?.storage?.prefix).toContain('/my-id/');
    expect(on.resolver.resolve(one, 'tenancy.kcp.io', 'v1alpha1', 'workspaces')).toBeUndefined();
  });
});

describe('a built-in kind without export', () => {
  test('has no identity, so an export of the same name does not reach its objects', async () => {
    const on = await open();
    const secrets = (cluster: string, suffix = ''): string => `/clusters/${cluster}/api/v1/secrets${suffix}`;
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'crown-jewels' } };
    await on.must(201, 'POST', '/clusters/two/api/v1/namespaces/default/secrets', secret);
    expect((await on.ask('GET', secrets('*', ':mine'))).status).toBe(404);
    expect((await on.ask('GET', secrets('two', ':mine'))).status).toBe(404);
    exported.schemas.set('mine//secrets', schemaOf('s', { group: '', plural: 'secrets', kind: 'Secret' }));
    expect(namesOf(await on.must(200, 'GET', secrets('*', ':mine')))).toEqual([]);
    await serveSchema(on, schemaOf('s', { group: '', plural: 'secrets', kind: 'Secret' }));
    bindings.bind(two, { group: '', resource: 'secrets', uid: 's', identity: 'mine' });
    expect(namesOf(await on.must(200, 'GET', secrets('*', ':mine')))).toEqual([]);
    expect(namesOf(await on.must(200, 'GET', secrets('two', ':mine')))).toEqual([]);
    expect(namesOf(await on.must(200, 'GET', secrets('two')))).toEqual(['crown-jewels']);
  });
});

describe('informers', () => {
  test('find bound objects by resource without identity', async () => {
    const on = await open();
    await serveSchema(on, schemaOf('s1'));
    bindings.bind(one, { ...hats, uid: 's1', identity: 'abc' });
    bindings.bind(two, { ...hats, uid: 's1', identity: 'xyz' });
    const informers = new CacheInformerFactory({ cache: on.cache, reader: on.reader, builtIn: builtInResources() });
    const events: string[] = [];
    informers.metadata.addHandlers({
      changed: () => undefined,
      deleted: ({ cluster, resource, name }) =>
        events.push(`${cluster} ${resource.resource}.${resource.group} ${name}`),
    });
    await on.must(201, 'POST', hatsOf(one), hat('a'));
    await on.must(201, 'POST', hatsOf(two), hat('b'));
    const resource = { group: 'example.dev', version: 'v1', resource: 'hats' };
    const records = Array.from(informers.metadata.list({ cluster: one }), ({ resource: of, name }) => [of, name]);
    expect(records).toContainEqual([resource, 'a']);
    expect(records).not.toContainEqual([resource, 'b']);
    expect(Array.from(informers.metadata.list({ cluster: two, namespace: 'default', resource }))).toHaveLength(1);

    const informer = informers.informer(resource);
    const names = (objects: readonly { readonly metadata: { readonly name?: string } }[]): string[] =>
      objects.map(({ metadata }) => metadata.name ?? '');
    expect(names(informer.list()).toSorted()).toEqual(['a', 'b']);
    expect(names(informer.list({ cluster: one }))).toEqual(['a']);
    expect(names(informer.list({ namespace: 'other' }))).toEqual([]);
    expect(informer.get({ cluster: two, namespace: 'default', name: 'b' })?.metadata.name).toBe('b');
    expect(informer.get({ cluster: two, namespace: 'default', name: 'a' })).toBeUndefined();
    const seen: string[] = [];
    informer.addHandlers({ added: (_object: unknown, { cluster, name }) => void seen.push(`${cluster} ${name}`) });
    await eventLoopIdle();
    expect(seen.toSorted()).toEqual(['one a', 'two b']);
    await on.must(200, 'DELETE', hatsOf(two, '/b'));
    await eventLoopIdle();
    expect(events).toEqual(['two hats.example.dev b']);
  });
});
