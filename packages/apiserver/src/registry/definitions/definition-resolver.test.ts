import { afterEach, describe, expect, test } from '@jest/globals';
import { type JsonObject, type KubeObject, asLogicalClusterName } from '@multiplane/apimachinery';
import { Pipeline } from '../../../test/pipeline.ts';

const mergePatch = { 'content-type': 'application/merge-patch+json' };
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const hats = '/apis/example.com/v1/namespaces/default/hats';

interface Version {
  readonly name: string;
  readonly storage?: boolean;
  readonly served?: boolean;
  readonly spec?: JsonObject;
}

function hat(versions: readonly Version[] = [{ name: 'v1', storage: true }]): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'hats.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'hats', kind: 'Hat' },
      versions: versions.map(
        ({
          name,
          storage = false,
          served = true,
          spec = { type: 'object', properties: { size: { type: 'integer' } } },
        }) => ({
          name,
          served,
          storage,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        }),
      ),
    },
  };
}

const aHat = (spec: JsonObject = {}, version = 'v1'): JsonObject => ({
  apiVersion: `example.com/${version}`,
  kind: 'Hat',
  metadata: { name: 'a' },
  spec,
});

let pipeline: Pipeline | undefined;
async function open(): Promise<Pipeline> {
  pipeline = await Pipeline.open();
  return pipeline;
}
afterEach(async () => {
  await pipeline?.close();
});

describe('a definition', () => {
  test('is served as soon as its names are accepted; in Kubernetes up to five seconds later', async () => {
    const on = await open();
    await on.must(201, 'POST', definitions, hat());
    expect((await on.ask('GET', hats)).text).toBe('404 page not found\n');
    const surface = on.resolver.discoveryHash(on.cluster);
    await on.must(200, 'DELETE', `${definitions}/hats.example.com`);
    await on.must(200, 'PATCH', `${definitions}/hats.example.com`, { metadata: { finalizers: null } }, mergePatch);
    await on.serve(hat());
    expect((await on.ask('GET', hats)).status).toBe(200);
    expect(on.resolver.discoveryHash(on.cluster)).not.toBe(surface);
    expect(
      on.resolver
        .list(on.cluster)
        .filter(({ group }) => group === 'example.com')
        .map(({ resource }) => resource),
    ).toEqual(['hats']);
  });

  test('is served in its own logical cluster only', async () => {
    const on = await open();
    await on.serve(hat());
    const other = asLogicalClusterName('other');
    expect(on.resolver.resolve(other, 'example.com', 'v1', 'hats')).toBeUndefined();
    expect(on.resolver.resolve('*', 'example.com', 'v1', 'hats')?.verbs).toEqual(['list', 'watch']);
    expect(on.resolver.resolve('*', 'example.com', 'v1', 'caps')).toBeUndefined();
    expect(on.resolver.list(other).some(({ group }) => group === 'example.com')).toBe(false);
    expect(on.resolver.resolve(other, '', 'v1', 'configmaps')).toBe(
      on.resolver.resolve(on.cluster, '', 'v1', 'configmaps'),
    );
  });

  test('changes take effect for the next request; bookkeeping changes nothing', async () => {
    const on = await open();
    await on.serve(hat());
    const before = on.resolver.resolve(on.cluster, 'example.com', 'v1', 'hats');
    const hash = on.resolver.discoveryHash(on.cluster);
    await on.must(
      200,
      'PATCH',
      `${definitions}/hats.example.com`,
      { metadata: { annotations: { a: 'b' } } },
      mergePatch,
    );
    expect(on.resolver.resolve(on.cluster, 'example.com', 'v1', 'hats')).toBe(before);
    expect(on.resolver.discoveryHash(on.cluster)).toBe(hash);
    await on.must(
      200,
      'PATCH',
      `${definitions}/hats.example.com`,
      { spec: { names: { shortNames: ['ht'] } } },
      mergePatch,
    );
    expect(before?.retired?.aborted).toBe(true);
    expect(on.resolver.resolve(on.cluster, 'example.com', 'v1', 'hats')).not.toBe(before);
    expect(on.resolver.discoveryHash(on.cluster)).not.toBe(hash);
  });

  test('is prepared in time slices with many others; a few need no preparation', async () => {
    const on = await open();
    const { cluster, resolver } = on;
    expect(resolver.prepare(cluster)).toBeUndefined();
    for (let n = 0; n < 25; n++) {
      const plural = `caps${n}`;
      const { spec } = hat();
      const names = { plural, kind: `Cap${n}` };
      await on.serve({
        ...hat(),
        metadata: { name: `${plural}.example.com` },
        spec: { ...(spec as JsonObject), names },
      });
    }
    const preparation = resolver.prepare(cluster);
    expect(preparation).toBeInstanceOf(Promise);
    // A definition that is deleted before its time slice is skipped.
    await on.must(200, 'DELETE', `${definitions}/caps24.example.com`);
    await on.must(200, 'PATCH', `${definitions}/caps24.example.com`, { metadata: { finalizers: null } }, mergePatch);
    await preparation;
    const hash = resolver.discoveryHash(cluster);
    expect(resolver.list(cluster).filter(({ group }) => group === 'example.com')).toHaveLength(24);
    expect(resolver.prepare(cluster)).toBeUndefined();
    expect(resolver.discoveryHash(cluster)).toBe(hash);
  });

  test('logical clusters with equal definitions have equal discovery hashes', async () => {
    const on = await open();
    expect(on.resolver.discoveryHash(asLogicalClusterName('a'))).toBe(
      on.resolver.discoveryHash(asLogicalClusterName('b')),
    );
  });

  test('invalid resource names resolve to nothing', async () => {
    const on = await open();
    expect(on.resolver.resolve(on.cluster, 'example.com', 'v1', '../../secrets')).toBeUndefined();
  });
});

describe('versions', () => {
  test('return one object by their own schemas; storage keeps the fields of the storage version', async () => {
    const on = await open();
    const known = (...names: string[]): JsonObject => ({
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
    });
    await on.serve(
      hat([
        { name: 'v1', spec: known('old', 'both') },
        { name: 'v2', storage: true, spec: known('both', 'fresh') },
      ]),
    );
    const created = await on.must(201, 'POST', hats, aHat({ old: 'lost', both: 'kept' }));
    expect(created['spec']).toEqual({ both: 'kept' });
    expect(created['apiVersion']).toBe('example.com/v1');
    const v2 = '/apis/example.com/v2/namespaces/default/hats/a';
    expect((await on.must(200, 'PATCH', v2, { spec: { fresh: 'new' } }, mergePatch))['spec']).toEqual({
      both: 'kept',
      fresh: 'new',
    });
    expect((await on.must(200, 'GET', `${hats}/a`))['spec']).toEqual({ both: 'kept' });
    await on.must(200, 'PATCH', `${hats}/a`, { spec: { both: 'changed' } }, mergePatch);
    expect((await on.must(200, 'GET', v2))['spec']).toMatchObject({ both: 'changed' });
  });

  test('that are not served are not found', async () => {
    const on = await open();
    await on.serve(
      hat([
        { name: 'v1', storage: true },
        { name: 'v2', served: false },
      ]),
    );
    expect((await on.ask('GET', '/apis/example.com/v2/namespaces/default/hats')).text).toBe('404 page not found\n');
  });
});

describe('an object older than its schema', () => {
  test('is returned with current defaults and without removed fields, but not rewritten', async () => {
    const on = await open();
    await on.serve(
      hat([
        {
          name: 'v1',
          storage: true,
          spec: { type: 'object', properties: { size: { type: 'integer' }, gone: { type: 'string' } } },
        },
      ]),
    );
    const before = await on.must(201, 'POST', hats, aHat({ size: 1, gone: 'soon' }));
    const spec = {
      type: 'object',
      properties: { size: { type: 'integer' }, color: { type: 'string', default: 'black' } },
    };
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
    await on.must(
      200,
      'PATCH',
      `${definitions}/hats.example.com`,
      [{ op: 'replace', path: '/spec/versions/0/schema', value: schema }],
      { 'content-type': 'application/json-patch+json' },
    );
    const after = await on.must(200, 'GET', `${hats}/a`);
    expect(after['spec']).toEqual({ size: 1, color: 'black' });
    expect((after['metadata'] as JsonObject)['resourceVersion']).toBe(
      (before['metadata'] as JsonObject)['resourceVersion'],
    );
    expect((await on.must(200, 'GET', hats))['items']).toEqual([after]);
  });
});
