import { describe, expect, test } from '@jest/globals';
import { type JsonObject, type KubeObject, apiVersionOf } from '@multiplane/apimachinery';
import { type Answer, Pipeline } from '../../../test/pipeline.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const widgets = '/apis/example.com/v1/namespaces/default/widgets';
const apply = { 'content-type': 'application/apply-patch+yaml' };
const merge = { 'content-type': 'application/merge-patch+json' };
const configMaps = { group: '', version: 'v1', resource: 'configmaps' };

const map = (data: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', ...metadata },
  data,
});
const widget = (spec: JsonObject, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'w' },
  spec,
  ...more,
});

/** Entries as `manager Operation[/part] fields`. */
function entriesOf(object: JsonObject): string[] {
  const { managedFields } = object['metadata'] as { managedFields?: JsonObject[] };
  return (managedFields ?? []).map(({ manager, operation, subresource, fieldsV1 }) => {
    const part = typeof subresource === 'string' ? `/${subresource}` : '';
    return `${manager as string} ${operation as string}${part} ${JSON.stringify(fieldsV1)}`;
  });
}

async function withWidgets(versions: readonly string[] = ['v1']): Promise<Pipeline> {
  const on = await Pipeline.open();
  await on.serve({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  n: { type: 'integer' },
                  size: { type: 'string' },
                  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                },
              },
              status: { type: 'object', properties: { n: { type: 'integer' }, phase: { type: 'string' } } },
            },
          },
        },
        subresources: { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
      })),
    },
  });
  return on;
}

describe('an update', () => {
  test('is owned by the manager in the options or the User-Agent', async () => {
    const on = await Pipeline.open();
    const made = await on.must(201, 'POST', maps, map({ k: '1' }), { 'user-agent': 'tool/1.2 (linux)' });
    expect(entriesOf(made)).toEqual(['tool Update {"f:data":{".":{},"f:k":{}}}']);
    const changed = await on.must(200, 'PUT', `${maps}/a?fieldManager=me`, map({ k: '2' }));
    expect(entriesOf(changed)).toEqual(['me Update {"f:data":{"f:k":{}}}', 'tool Update {"f:data":{}}']);
  });

  test('of a new object sets ownership of its own fields, whatever was created before', async () => {
    const on = await Pipeline.open();
    const create = async (name: string, more: JsonObject): Promise<string[]> =>
      entriesOf(await on.must(201, 'POST', `${maps}?fieldManager=${name}`, map({}, { name, ...more })));
    const labels = { labels: { one: '1' } };
    const owned = 'Update {"f:metadata":{"f:labels":{".":{},"f:one":{}}}}';
    expect(await create('a', labels)).toEqual([`a ${owned}`]);
    // The same fields of another object, then others.
    expect(await create('b', { labels: { one: '2' } })).toEqual([`b ${owned}`]);
    expect(await create('c', { labels: { one: '1', two: '2' } })).toEqual([
      'c Update {"f:metadata":{"f:labels":{".":{},"f:one":{},"f:two":{}}}}',
    ]);
    expect(await create('d', {})).toEqual([]);
    expect(await create('e', labels)).toEqual([`e ${owned}`]);
    // A change of one object does not change the others.
    await on.must(200, 'PATCH', `${maps}/b?fieldManager=x`, { metadata: { labels: { one: '3' } } }, merge);
    expect(entriesOf(await on.must(200, 'GET', `${maps}/a`))).toEqual([`a ${owned}`]);
    expect(entriesOf(await on.must(200, 'GET', `${maps}/b`))).toEqual([
      'b Update {"f:metadata":{"f:labels":{}}}',
      'x Update {"f:metadata":{"f:labels":{"f:one":{}}}}',
    ]);
  });

  test('of a new object sets its own time and manager, even if others have the same fields', async () => {
    const on = await Pipeline.open();
    const create = async (name: string, manager: string): Promise<JsonObject> => {
      const object = map({ k: 'v' }, { name });
      const created = await on.must(201, 'POST', `${maps}?fieldManager=${manager}`, object);
      return ((created['metadata'] as JsonObject)['managedFields'] as JsonObject[])[0] as JsonObject;
    };
    const first = await create('a', 'me');
    expect(await create('b', 'me')).toEqual(first);
    expect(await create('c', 'you')).toEqual({ ...first, manager: 'you' });
    await on.clock.advance(1000);
    const later = await create('d', 'me');
    expect(later).toEqual({ ...first, time: later['time'] as string });
    expect(Date.parse(later['time'] as string)).toBe(Date.parse(first['time'] as string) + 1000);
  });

  test('of a large new object sets the same entries as for a small one', async () => {
    const on = await Pipeline.open();
    const entries = async (size: number): Promise<string[]> =>
      entriesOf(
        await on.must(201, 'POST', `${maps}?fieldManager=me`, map({ k: 'x'.repeat(size) }, { name: `s${size}` })),
      );
    const small = await entries(1);
    expect(small).toEqual(['me Update {"f:data":{".":{},"f:k":{}}}']);
    expect(await entries(100_000)).toEqual(small);
  });

  test('by the loopback client is owned by the server, or by the named controller', async () => {
    const on = await Pipeline.open();
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'default' },
      data: { k: '1' },
    };
    const made = await on.client.create(configMaps, on.cluster, object);
    expect(entriesOf(made as unknown as JsonObject)).toEqual(['multiplane Update {"f:data":{".":{},"f:k":{}}}']);
    const reference = { cluster: on.cluster, namespace: 'default', name: 'a' };
    const applied = await on.client.patch(configMaps, reference, 'application/apply-patch+yaml', map({ l: '1' }), {
      fieldManager: 'controller',
    });
    expect(entriesOf(applied as unknown as JsonObject)[0]).toBe('controller Apply {"f:data":{"f:l":{}}}');
    await expect(
      on.client.patch(configMaps, reference, 'application/apply-patch+yaml', map({ k: '2' }), {
        fieldManager: 'controller',
      }),
    ).rejects.toThrow('Apply failed with 1 conflict: conflict with "multiplane" using v1: .data.k');
  });

  test('that changes nothing writes nothing, also a second later', async () => {
    const on = await Pipeline.open();
    const { metadata } = (await on.must(201, 'POST', `${maps}?fieldManager=me`, map({ k: '1' }))) as {
      metadata: JsonObject;
    };
    await on.clock.advance(5000);
    const again = await on.must(200, 'PUT', `${maps}/a?fieldManager=me`, map({ k: '1' }));
    expect(again['metadata']).toEqual(metadata);
  });

  test('with the managedFields that were read changes nothing', async () => {
    const on = await Pipeline.open();
    await on.must(201, 'POST', `${maps}?fieldManager=me`, map({ k: '1' }, { labels: { a: 'b' } }));
    const read = await on.must(200, 'GET', `${maps}/a`);
    await on.clock.advance(5000);
    expect(await on.must(200, 'PUT', `${maps}/a?fieldManager=other`, read)).toEqual(read);
  });

  test('gives no manager ownership of the cluster annotation', async () => {
    const on = await Pipeline.open();
    await on.must(201, 'POST', `${maps}?fieldManager=me`, map({ k: '1' }, { annotations: { 'kcp.io/cluster': 'x' } }));
    const read = await on.must(200, 'GET', `${maps}/a`);
    expect((read['metadata'] as KubeObject['metadata']).annotations).toEqual({ 'kcp.io/cluster': 'root' });
    const applied = await on.must(
      200,
      'PATCH',
      `${maps}/a?fieldManager=two`,
      map({}, { annotations: { 'kcp.io/cluster': 'y', mine: 'z' } }),
      apply,
    );
    expect((applied['metadata'] as KubeObject['metadata']).annotations).toEqual({
      'kcp.io/cluster': 'root',
      mine: 'z',
    });
    expect(entriesOf(applied)).toEqual([
      'two Apply {"f:data":{},"f:metadata":{"f:annotations":{"f:mine":{}}}}',
      'me Update {"f:data":{".":{},"f:k":{}}}',
    ]);
  });

  test('with empty managedFields clears them until the next apply', async () => {
    const on = await Pipeline.open();
    await on.must(201, 'POST', `${maps}?fieldManager=me`, map({ k: '1' }));
    const bare = await on.must(200, 'PATCH', `${maps}/a`, { metadata: { managedFields: [] } }, merge);
    expect(entriesOf(bare)).toEqual([]);
    expect(entriesOf(await on.must(200, 'PUT', `${maps}/a`, map({ k: '2' })))).toEqual([]);
    expect(entriesOf(await on.must(200, 'PATCH', `${maps}/a?fieldManager=one`, map({ l: '1' }), apply))).toEqual([
      'one Apply {"f:data":{"f:l":{}}}',
      'before-first-apply Update {"f:data":{".":{},"f:k":{}}}',
    ]);
  });

  test('drops managedFields that make the object too large; an apply does not', async () => {
    const on = await Pipeline.open();
    const data = Object.fromEntries(Array.from({ length: 4500 }, (_, n) => [`k${String(n).padStart(199, '0')}`, 'v']));
    const made = await on.must(201, 'POST', maps, map(data));
    expect(Object.keys(made['metadata'] as object)).not.toContain('managedFields');
    const refused = await on.must(
      500,
      'PATCH',
      `${maps}/b?fieldManager=one`,
      { ...map(data), metadata: { name: 'b' } },
      apply,
    );
    expect(refused['message']).toBe('etcdserver: request is too large');
  });

  test('keeps the live entries if the client sends invalid ones', async () => {
    const on = await Pipeline.open();
    await on.must(201, 'POST', `${maps}?fieldManager=me`, map({ k: '1' }));
    const sent = [{ manager: 'x', operation: 'Nope', apiVersion: 'v1' }];
    const after = await on.must(200, 'PUT', `${maps}/a?fieldManager=me`, map({ k: '1' }, { managedFields: sent }));
    expect(entriesOf(after)).toEqual(['me Update {"f:data":{".":{},"f:k":{}}}']);
  });
});

describe('an apply', () => {
  test('reads YAML, creates missing objects, supports dry run', async () => {
    const on = await Pipeline.open();
    const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: "1"\n';
    await on.must(201, 'PATCH', `${maps}/a?fieldManager=one&dryRun=All`, yaml, apply);
    await on.must(404, 'GET', `${maps}/a`);
    const made = await on.must(201, 'PATCH', `${maps}/a?fieldManager=one`, yaml, apply);
    expect(made['data']).toEqual({ k: '1' });
    expect(entriesOf(made)).toEqual(['one Apply {"f:data":{"f:k":{}}}']);
  });

  test.each([
    ['[', 400, 'error decoding YAML: '],
    ['- a', 400, 'error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array'],
    ['{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}', 400, 'invalid object type: /v1, Kind=Secret'],
    [JSON.stringify(map({}, { managedFields: [{}] })), 400, 'metadata.managedFields must be nil'],
    [
      JSON.stringify(map({ k: 5 })),
      500,
      'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data.k: expected string, got &value.valueUnstructured{Value:5}',
    ],
  ])('of %s is refused', async (body, status, message) => {
    const on = await Pipeline.open();
    const answer = await on.must(status, 'PATCH', `${maps}/a?fieldManager=one`, body, apply);
    expect(answer['message']).toMatch(new RegExp(`^${message.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}`));
  });

  test('reports an object without managers that does not fit its schema before the configuration', async () => {
    const on = await Pipeline.open();
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    await on.must(201, 'POST', accounts, { metadata: { name: 'a' }, secrets: [{}] });
    const text = JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'a' }, nobody: 1 });
    const answer = await on.must(500, 'PATCH', `${accounts}/a?fieldManager=one`, text, apply);
    expect(answer['message']).toBe(
      'failed to create manager for existing fields: failed to convert new object (default/a; /v1, Kind=ServiceAccount) to smd typed: ' +
        '.secrets: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn\'t have default values for any key fields)',
    );
  });

  test('reports duplicate keys only if there is no other error', async () => {
    const on = await Pipeline.open();
    const twice = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: "1"\n  k: "2"\n';
    const text = 'line 6: key "k" already set in map';
    expect(
      (await on.must(400, 'PATCH', `${maps}/a?fieldManager=one&fieldValidation=Strict`, twice, apply))['message'],
    ).toBe(`error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${text}`);
    const warned: Answer = await on.ask('PATCH', `${maps}/a?fieldManager=one`, twice, apply);
    expect([warned.status, warned.warnings]).toEqual([201, [text]]);
  });

  test('of a missing object requires the verb create', async () => {
    const denied = await Pipeline.open();
    await denied.close();
    const on = await Pipeline.open({
      user: { name: 'u', uid: '', groups: ['system:authenticated'], extra: {} },
      authorizer: {
        authorize: ({ verb }) => Promise.resolve({ decision: verb === 'create' ? 'noOpinion' : 'allow', reason: '' }),
      },
    });
    const answer = await on.must(403, 'PATCH', `${maps}/a?fieldManager=one`, map({}), apply);
    expect(answer['message']).toContain('User "u" cannot create resource "configmaps"');
  });

  test('by kubectl takes over fields of its client-side apply', async () => {
    const on = await Pipeline.open();
    const last = (data: JsonObject): JsonObject => ({
      'kubectl.kubernetes.io/last-applied-configuration': `${JSON.stringify(map(data))}\n`,
    });
    await on.must(
      201,
      'POST',
      `${maps}?fieldManager=kubectl-client-side-apply`,
      map({ k: '1', l: '1' }, { annotations: last({ k: '1', l: '1' }) }),
    );
    await on.must(200, 'PATCH', `${maps}/a?fieldManager=other`, { data: { l: '2' } }, merge);
    const refused = await on.must(409, 'PATCH', `${maps}/a?fieldManager=kubectl`, map({ k: '3', l: '3' }), apply);
    expect(refused['message']).toBe('Apply failed with 1 conflict: conflict with "other" using v1: .data.l');
    await on.must(409, 'PATCH', `${maps}/a?fieldManager=else`, map({ k: '3' }), apply);
    const taken = await on.must(200, 'PATCH', `${maps}/a?fieldManager=kubectl`, map({ k: '3' }), apply);
    expect(taken['data']).toEqual({ k: '3', l: '2' });
    expect((taken['metadata'] as KubeObject['metadata']).annotations).toMatchObject({
      'kubectl.kubernetes.io/last-applied-configuration': `${JSON.stringify(JSON.parse('{"apiVersion":"v1","data":{"k":"3"},"kind":"ConfigMap","metadata":{"name":"a"}}'))}\n`,
    });
  });

  test('in another version conflicts on the same fields', async () => {
    const on = await withWidgets(['v1', 'v2']);
    await on.must(201, 'PATCH', `${widgets}/w?fieldManager=one`, widget({ n: 1, size: 's' }), apply);
    const second = widgets.replace('v1', 'v2');
    const config = (spec: JsonObject): JsonObject => ({ ...widget(spec), apiVersion: 'example.com/v2' });
    expect((await on.must(409, 'PATCH', `${second}/w?fieldManager=two`, config({ n: 2 }), apply))['message']).toBe(
      'Apply failed with 1 conflict: conflict with "one": .spec.n',
    );
    const moved = await on.must(200, 'PATCH', `${second}/w?fieldManager=one`, config({ n: 1 }), apply);
    expect(moved['spec']).toEqual({ n: 1 });
    expect(entriesOf(moved)).toEqual(['one Apply {"f:spec":{"f:n":{}}}']);
  });
});

describe('subresources', () => {
  test('status has its own entries, and no ownership of fields that it resets', async () => {
    const on = await withWidgets();
    await on.must(201, 'POST', `${widgets}?fieldManager=user`, widget({ n: 1 }, { status: { phase: 'no' } }));
    const after = await on.must(
      200,
      'PATCH',
      `${widgets}/w/status?fieldManager=ctl`,
      { spec: { n: 5 }, status: { phase: 'Ready' } },
      merge,
    );
    expect(entriesOf(after)).toEqual([
      'ctl Update/status {"f:status":{".":{},"f:phase":{}}}',
      'user Update {"f:spec":{".":{},"f:n":{}}}',
    ]);
  });

  test('scale maps ownership of the replicas', async () => {
    const on = await withWidgets();
    await on.must(201, 'PATCH', `${widgets}/w?fieldManager=one`, widget({ n: 1, size: 's' }), apply);
    await on.must(200, 'PATCH', `${widgets}/w/scale?fieldManager=scaler`, { spec: { replicas: 3 } }, merge);
    expect(entriesOf(await on.must(200, 'GET', `${widgets}/w`))).toEqual([
      'one Apply {"f:spec":{"f:size":{}}}',
      'scaler Update/scale {"f:spec":{"f:n":{}}}',
    ]);
    const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'w' }, spec: { replicas: 5 } };
    expect((await on.must(409, 'PATCH', `${widgets}/w/scale?fieldManager=hpa`, scale, apply))['message']).toBe(
      'Apply failed with 1 conflict: conflict with "scaler" with subresource "scale" using autoscaling/v1: .spec.replicas',
    );
    await on.must(200, 'PATCH', `${widgets}/w/scale?fieldManager=hpa&force=true`, scale, apply);
    const after = await on.must(200, 'GET', `${widgets}/w`);
    expect(after['spec']).toEqual({ n: 5, size: 's' });
    expect(entriesOf(after)).toEqual(['hpa Apply/scale {"f:spec":{"f:n":{}}}', 'one Apply {"f:spec":{"f:size":{}}}']);
    expect((await on.must(409, 'PATCH', `${widgets}/w?fieldManager=one`, widget({ n: 9 }), apply))['message']).toBe(
      'Apply failed with 1 conflict: conflict with "hpa" with subresource "scale": .spec.n',
    );
  });
});

test('an update of a scale with the same replicas changes no ownership', async () => {
  const on = await withWidgets();
  const made = await on.must(201, 'POST', `${widgets}?fieldManager=user`, widget({ n: 1 }));
  expect(made['apiVersion']).toBe(apiVersionOf({ group: 'example.com', version: 'v1' }));
  await on.must(200, 'PATCH', `${widgets}/w/scale?fieldManager=scaler`, { spec: { replicas: 1 } }, merge);
  expect(entriesOf(await on.must(200, 'GET', `${widgets}/w`))).toEqual(['user Update {"f:spec":{".":{},"f:n":{}}}']);
});
