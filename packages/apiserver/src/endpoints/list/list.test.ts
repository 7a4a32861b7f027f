import { afterEach, describe, expect, test } from '@jest/globals';
import { eventLoopIdle } from '@multiplane/testing';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { Pipeline, type PipelineOptions } from '../../../test/pipeline.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const names = (list: JsonObject): string[] =>
  (list['items'] as unknown as KubeObject[]).map((item) => item.metadata.name as string);
const metadata = (list: JsonObject): { resourceVersion: string; continue?: string; remainingItemCount?: number } =>
  list['metadata'] as never;

let pipeline: Pipeline | undefined;
async function withMaps(count: number, options?: PipelineOptions): Promise<Pipeline> {
  pipeline = await Pipeline.open(options);
  for (let index = 0; index < count; index++)
    await pipeline.must(201, 'POST', maps, {
      metadata: { name: `m${index}`, labels: { parity: index % 2 === 0 ? 'even' : 'odd' } },
    });
  return pipeline;
}
afterEach(async () => {
  await pipeline?.close();
});

describe('paging', () => {
  test('returns one state over all pages, whatever is written meanwhile', async () => {
    const on = await withMaps(5);
    const first = await on.must(200, 'GET', `${maps}?limit=2`);
    expect(names(first)).toEqual(['m0', 'm1']);
    expect(metadata(first).remainingItemCount).toBe(3);
    await on.must(200, 'DELETE', `${maps}/m3`);
    await on.must(201, 'POST', maps, { metadata: { name: 'm25' } });
    const rest = await on.must(200, 'GET', `${maps}?limit=10&continue=${metadata(first).continue}`);
    expect(names(rest)).toEqual(['m2', 'm3', 'm4']);
    expect(metadata(rest)).toEqual({ resourceVersion: metadata(first).resourceVersion });
    expect(names(await on.must(200, 'GET', maps))).toEqual(['m0', 'm1', 'm2', 'm25', 'm4']);
  });

  test('returns an inconsistent continue token once the state is compacted', async () => {
    const on = await withMaps(4);
    const first = await on.must(200, 'GET', `${maps}?limit=2`);
    await on.must(200, 'DELETE', `${maps}/m3`);
    await on.cache.compact(on.cache.revision);
    const expired = await on.must(410, 'GET', `${maps}?limit=2&continue=${metadata(first).continue}`);
    expect(expired).toMatchObject({
      reason: 'Expired',
      message: expect.stringContaining('too old to display a consistent list result'),
    });
    const rest = await on.must(
      200,
      'GET',
      `${maps}?limit=2&continue=${(expired['metadata'] as JsonObject)['continue'] as string}`,
    );
    expect(names(rest)).toEqual(['m2']);
  });

  test('with a selector continues while any object is left, as in Kubernetes', async () => {
    const on = await withMaps(6);
    const first = await on.must(200, 'GET', `${maps}?limit=2&labelSelector=parity%3Deven`);
    expect(names(first)).toEqual(['m0', 'm2']);
    expect(metadata(first)).not.toHaveProperty('remainingItemCount');
    const second = await on.must(
      200,
      'GET',
      `${maps}?limit=1&labelSelector=parity%3Deven&continue=${metadata(first).continue}`,
    );
    expect(names(second)).toEqual(['m4']);
    const last = await on.must(
      200,
      'GET',
      `${maps}?limit=1&labelSelector=parity%3Deven&continue=${metadata(second).continue}`,
    );
    expect(names(last)).toEqual([]);
    expect(metadata(last)).not.toHaveProperty('continue');
  });

  test('rejects a continue token of another namespace', async () => {
    const on = await withMaps(2);
    await on.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'other' } });
    await on.must(201, 'POST', '/api/v1/namespaces/other/configmaps', { metadata: { name: 'secret' } });
    const token = Buffer.from(
      JSON.stringify({ v: 'meta.k8s.io/v1', rv: on.cache.revision, start: '../other/a' }),
    ).toString('base64url');
    const refused = await on.must(400, 'GET', `${maps}?continue=${token}`);
    expect(refused['message']).toBe('invalid continue token: continue key is not valid: ../other/a');
  });
});

describe('a repeated large list', () => {
  const value = 'x'.repeat(900);
  const large = async (): Promise<Pipeline> => {
    pipeline = await Pipeline.open();
    for (let index = 100; index < 300; index++) await create(pipeline, `m${index}`);
    return pipeline;
  };
  const create = (on: Pipeline, name: string): Promise<JsonObject> =>
    on.must(201, 'POST', maps, { metadata: { name, labels: { tens: name.slice(0, 3) } }, data: { value } });
  /** Lists several times, because blocks are encoded for the second list. */
  const listed = async (on: Pipeline, query = ''): Promise<JsonObject[]> => {
    const answers: JsonObject[] = [];
    for (let i = 0; i < 4; i++) answers.push(await on.must(200, 'GET', maps + query));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    return (answers[0] as JsonObject)['items'] as JsonObject[];
  };
  const expected = async (on: Pipeline, items: JsonObject[]): Promise<void> => {
    for (const item of items) {
      const { kind, apiVersion, ...object } = await on.must(
        200,
        'GET',
        `${maps}/${(item as unknown as KubeObject).metadata.name}`,
      );
      expect([kind, apiVersion]).toEqual(['ConfigMap', 'v1']);
      expect(item).toEqual(object);
    }
  };

  test('returns all objects', async () => {
    const on = await large();
    const items = await listed(on);
    expect(items).toHaveLength(200);
    await expected(on, items);
  });

  test('returns changed and added objects, and no deleted ones', async () => {
    const on = await large();
    await listed(on);
    await on.must(200, 'PUT', `${maps}/m150`, { metadata: { name: 'm150' }, data: { value: 'changed' } });
    await on.must(200, 'DELETE', `${maps}/m100`);
    await on.must(200, 'DELETE', `${maps}/m299`);
    await create(on, 'm0');
    await create(on, 'm2000');
    const items = await listed(on);
    expect(items).toHaveLength(200);
    expect(items.map((item) => (item as unknown as KubeObject).metadata.name)).toEqual(
      ['m0', 'm2000', ...Array.from({ length: 198 }, (_, index) => `m${101 + index}`)].sort(),
    );
    await expected(on, items);
  });

  test('returns an older state unchanged', async () => {
    const on = await large();
    const before = await listed(on);
    const { revision } = on.cache;
    await on.must(200, 'DELETE', `${maps}/m170`);
    expect(await listed(on)).toHaveLength(199);
    expect(await listed(on, `?resourceVersion=${revision}&resourceVersionMatch=Exact`)).toEqual(before);
  });

  test('respects selectors and limits', async () => {
    const on = await large();
    await listed(on);
    expect(await listed(on, '?labelSelector=tens%3Dm15')).toHaveLength(10);
    const page = await listed(on, '?limit=120');
    expect(page).toHaveLength(120);
    await expected(on, page);
  });
});

describe('an exact resourceVersion', () => {
  test('is returned until it is compacted', async () => {
    const on = await withMaps(2);
    const { revision } = on.cache;
    await on.must(200, 'DELETE', `${maps}/m0`);
    const path = `${maps}?resourceVersion=${revision}&resourceVersionMatch=Exact`;
    expect(names(await on.must(200, 'GET', path))).toEqual(['m0', 'm1']);
    await on.cache.compact(on.cache.revision);
    expect((await on.must(410, 'GET', path))['message']).toBe('The resourceVersion for the provided list is too old.');
  });

  test('in the future is awaited, with a timeout', async () => {
    const on = await withMaps(1);
    const asked = on.start('GET', `${maps}?resourceVersion=${on.cache.revision + 1}`);
    await eventLoopIdle();
    expect(asked.exchange.status).toBe(0);
    await on.must(201, 'POST', maps, { metadata: { name: 'm9' } });
    await asked.done;
    expect(names(JSON.parse(asked.exchange.text) as JsonObject)).toEqual(['m0', 'm9']);

    const never = on.start('GET', `${maps}?resourceVersion=${on.cache.revision + 100}`);
    await on.clock.advance(3100);
    await never.done;
    expect(never.exchange.status).toBe(504);
  });
});

describe('forms', () => {
  const accept = (as: string): Record<string, string> => ({ accept: `application/json;as=${as};v=v1;g=meta.k8s.io` });

  test('PartialObjectMetadata is sliced from the stored bytes', async () => {
    const on = await withMaps(1);
    await on.must(
      200,
      'PATCH',
      `${maps}/m0`,
      { data: { k: '"metadata":{}' } },
      { 'content-type': 'application/merge-patch+json' },
    );
    const whole = (await on.must(200, 'GET', maps))['items'] as unknown as KubeObject[];
    const list = await on.must(200, 'GET', maps, undefined, accept('PartialObjectMetadataList'));
    expect(list['items']).toEqual([
      { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: whole[0]?.metadata },
    ]);
  });

  test('tables have rows with the requested part of the object', async () => {
    const on = await withMaps(1);
    const table = await on.must(200, 'GET', `${maps}?includeObject=None`, undefined, accept('Table'));
    expect(table['rows']).toEqual([{ cells: ['m0', 0, '0s'], object: null }]);
    expect((await on.must(200, 'GET', `${maps}?labelSelector=none`, undefined, accept('Table')))['rows']).toEqual([]);
  });

  test('YAML and indented JSON equal JSON', async () => {
    const on = await withMaps(2);
    const json = await on.must(200, 'GET', maps);
    const pretty = await on.ask('GET', `${maps}?pretty=true`);
    expect(pretty.body).toEqual(json);
    expect(pretty.text).toContain('\n    {\n      "metadata": {\n        "name": "m0",');
    expect((await on.ask('GET', `${maps}?pretty=true&labelSelector=none`)).text).toMatch(/"items": \[\]\n\}$/);
    const yaml = await on.ask('GET', maps, undefined, { accept: 'application/yaml' });
    expect(yaml.text).toMatch(/^apiVersion: v1\nitems:\n- metadata:\n {4}annotations:/);
    expect(yaml.text).toMatch(/kind: ConfigMapList\nmetadata:\n {2}resourceVersion: "\d+"\n$/);
    expect(
      (await on.ask('GET', `${maps}?labelSelector=none`, undefined, { accept: 'application/yaml' })).text,
    ).toContain('\nitems: []\n');
  });
});

describe('a long list', () => {
  test('waits for a client that does not read, and ends when it disconnects', async () => {
    const on = await withMaps(1);
    const big = 'x'.repeat(100_000);
    for (let index = 0; index < 5; index++)
      await on.must(201, 'POST', maps, { metadata: { name: `big${index}` }, data: { big } });
    const list = on.start('GET', maps);
    list.exchange.stall = true;
    await eventLoopIdle();
    const before = list.exchange.chunks.length;
    expect(list.exchange.ended).toBe(false);
    await eventLoopIdle();
    expect(list.exchange.chunks.length).toBe(before);
    list.exchange.resume();
    await list.done;
    expect((JSON.parse(list.exchange.text) as { items: unknown[] }).items).toHaveLength(6);

    const left = on.start('GET', maps);
    left.exchange.stall = true;
    await eventLoopIdle();
    left.exchange.leave();
    await left.done;
    expect(left.exchange.ended).toBe(false);
  });
});

describe('all logical clusters', () => {
  test('can be listed and watched only', async () => {
    const on = await withMaps(1);
    await on.client.create({ group: '', version: 'v1', resource: 'namespaces' }, 'other' as never, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'default' },
    });
    await on.client.create({ group: '', version: 'v1', resource: 'configmaps' }, 'other' as never, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'theirs', namespace: 'default' },
    });
    expect(names(await on.must(200, 'GET', '/api/v1/configmaps'))).toEqual(['m0']);
    const all = await on.must(200, 'GET', '/clusters/*/api/v1/configmaps');
    const places = (list: JsonObject): string[] =>
      (list['items'] as unknown as KubeObject[]).map(
        (item) => `${item.metadata.annotations?.['kcp.io/cluster']}/${item.metadata.name}`,
      );
    expect(places(all)).toEqual(['other/theirs', 'root/m0']);
    expect(places(await on.must(200, 'GET', '/clusters/*/api/v1/namespaces/default/configmaps?limit=1'))).toEqual([
      'other/theirs',
    ]);
    expect(places(await on.must(200, 'GET', '/clusters/*/api/v1/namespaces/other/configmaps'))).toEqual([]);
  });

  test('return only metadata of custom resources', async () => {
    const on = await withMaps(0);
    const path = '/clusters/*/apis/example.com/v1/hats';
    const partial = { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' };
    expect((await on.ask('GET', path, undefined, partial)).status).toBe(404);
    await on.serve({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'hats.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'hats', kind: 'Hat' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    });
    await on.must(201, 'POST', '/apis/example.com/v1/namespaces/default/hats', {
      apiVersion: 'example.com/v1',
      kind: 'Hat',
      metadata: { name: 'h' },
    });
    expect((await on.ask('GET', path)).text).toBe('404 page not found\n');
    const list = await on.must(200, 'GET', path, undefined, partial);
    expect(list['items']).toEqual([
      { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: expect.objectContaining({ name: 'h' }) },
    ]);
  });
});

describe('deletecollection', () => {
  test('deletes matching objects and returns them', async () => {
    const on = await withMaps(4);
    const removed = await on.must(200, 'DELETE', `${maps}?labelSelector=parity%3Dodd`);
    expect(names(removed)).toEqual(['m1', 'm3']);
    expect(names(await on.must(200, 'GET', maps))).toEqual(['m0', 'm2']);
  });
});
