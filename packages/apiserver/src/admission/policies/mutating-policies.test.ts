import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Json, JsonObject } from '@multiplane/apimachinery';
import { configuredPipeline, type ConfiguredPipeline } from '../../../test/configured-admission-fixture.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const written: JsonObject = {
  resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['*'] }],
};

let admission: ConfiguredPipeline;
beforeEach(async () => {
  admission = await configuredPipeline();
});
afterEach(async () => {
  await admission.close();
});

const create = (data: JsonObject = {}, name = 'a') => admission.on.ask('POST', maps, { metadata: { name }, data });

describe('a mutating policy', () => {
  const mutating = (mutations: Json[], spec: JsonObject = {}, name = 'p'): Promise<void> =>
    admission.configure('mutatingadmissionpolicies', name, {
      spec: { matchConstraints: written, reinvocationPolicy: 'Never', mutations, ...spec },
    });
  const bound = (policyName = 'p', spec: JsonObject = {}): Promise<void> =>
    admission.configure('mutatingadmissionpolicybindings', `${policyName}-b`, { spec: { policyName, ...spec } });
  const apply = (expression: string): JsonObject => ({
    patchType: 'ApplyConfiguration',
    applyConfiguration: { expression },
  });
  const patch = (expression: string): JsonObject => ({ patchType: 'JSONPatch', jsonPatch: { expression } });
  const refusal = (why: string): string => `policy 'p' with binding 'p-b' denied request: ${why}`;

  test('merges apply configurations in order', async () => {
    await mutating([
      apply('Object{metadata: Object.metadata{labels: {"by": request.userInfo.username}}}'),
      apply('Object{data: {"label": object.metadata.labels.by}}'),
    ]);
    await bound();
    expect((await create({ k: '1' })).body).toMatchObject({
      metadata: { labels: { by: 'admin' } },
      data: { k: '1', label: 'admin' },
    });
  });

  test('applies JSON patches', async () => {
    await mutating([
      patch(
        '[JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("a/b").replace("~1", "."), value: "x"}, JSONPatch{op: "copy", from: "/data/k", path: "/data/copy"}]',
      ),
    ]);
    await bound();
    expect((await create({ k: '1' })).body['data']).toEqual({ k: '1', 'a.b': 'x', copy: '1' });
  });

  test('a JSON patch has integers beyond 2^53 as texts', async () => {
    await mutating([
      patch(
        '[JSONPatch{op: "add", path: "/data/x", value: 9007199254740993}, JSONPatch{op: "add", path: "/data/y", value: 18446744073709551615u}]',
      ),
    ]);
    await bound();
    expect((await create({ k: '1' })).body['data']).toEqual({
      k: '1',
      x: '9007199254740993',
      y: '18446744073709551615',
    });
  });

  test('a configuration has the names of types', async () => {
    await mutating([apply('Object{data: {"z": dyn(type(object.data))}}')]);
    await bound();
    expect((await create({ k: '1' })).body['data']).toEqual({ k: '1', z: 'map' });
  });

  test('does nothing when a test operation fails', async () => {
    await mutating([
      patch('[JSONPatch{op: "add", path: "/data/x", value: "1"}, JSONPatch{op: "test", path: "/data/k", value: "no"}]'),
    ]);
    await bound();
    expect((await create({ k: '1' })).body['data']).toEqual({ k: '1' });
  });

  test.each([
    [patch('[JSONPatch{op: "remove", path: "/nope"}]'), 'JSON Patch: '],
    [
      apply('Object{data: {"x": object.nope}}'),
      `expression 'Object{data: {"x": object.nope}}' resulted in error: no such key: nope`,
    ],
    [
      apply('Object{metadata: Object.meta{labels: {"x": "y"}}}'),
      'type mismatch: unexpected type name "Object.meta", expected "Object.metadata", which matches field name path from root Object type',
    ],
    [
      apply(
        'Object{metadata: Object.metadata{finalizers: ["x/y"], ownerReferences: [Object.metadata.ownerReferences{name: "x"}]}}',
      ),
      'error applying patch: ',
    ],
    [
      apply('Object{nope: 1}'),
      'error applying patch: failed to convert patch object to typed object: .nope: field not declared in schema',
    ],
    ...[
      ["quantity('1')", "type conversion error from 'Quantity' to '*structpb.Value'"],
      ["type('a')", "type conversion not supported for 'type'"],
      ['optional.none()', 'optional.none() dereference'],
      ["{1: 'a'}", "unsupported type conversion from 'int' to string"],
      [
        "[double('NaN')]",
        'json: error calling MarshalJSON for type *structpb.Value: proto: google.protobuf.Value.number_value: invalid NaN value',
      ],
    ].map(([value, why]): [JsonObject, string] => [
      patch(`[JSONPatch{op: "add", path: "/data/x", value: ${value}}]`),
      `JSONPath valueExpression evaluated to a type that could not marshal to JSON: ${why}`,
    ]),
    [patch('[JSONPatch{op: "add", path: "/nope", value: 1}]'), 'strict decoding error: unknown field "nope"'],
  ])('%j is rejected', async (mutation, why) => {
    await mutating([mutation]);
    await bound();
    const refused = await create({ k: '1' });
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({
      reason: 'Invalid',
      message: expect.stringContaining(refusal(why)) as unknown,
      details: { causes: [{ message: refused.body['message'] }] },
    });
  });

  const putMap = (name: string) => admission.on.ask('PUT', `${maps}/${name}`, { metadata: { name } });

  test('cannot change the name of an object, and an apply does not replace the object of another name', async () => {
    await mutating([apply('Object{metadata: Object.metadata{name: "other"}}')]);
    expect((await create()).status).toBe(201);
    await bound();
    expect((await create()).body).toMatchObject({ metadata: { name: 'other' } });
    expect((await putMap('a')).body['message']).toBe(
      'ConfigMap "other" is invalid: metadata.name: Invalid value: "other": field is immutable',
    );
    const text = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'b' } });
    const headers = { 'content-type': 'application/apply-patch+yaml' };
    expect((await admission.on.ask('PATCH', `${maps}/b?fieldManager=m`, text, headers)).status).toBe(409);
  });

  test('cannot move an object to another namespace', async () => {
    await mutating([apply('Object{metadata: Object.metadata{namespace: "elsewhere"}}')]);
    expect((await create()).status).toBe(201);
    await bound();
    const moved = 'the namespace of the provided object does not match the namespace sent on the request';
    for (const { status, body } of [await create({}, 'c'), await putMap('a')])
      expect([status, body['message']]).toEqual([400, moved]);
  });

  test('cannot set atomic fields', async () => {
    await mutating([apply('Object{rules: [Object.rules{verbs: ["get"]}]}')]);
    await bound();
    const refused = await admission.on.ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
      metadata: { name: 'a' },
      rules: [],
    });
    expect(refused.body['message']).toBe(
      refusal(
        'error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .rules, .rules[0].verbs',
      ),
    );
  });

  test('that fails with failure policy Ignore leaves what its other mutations changed', async () => {
    const fails = apply('Object{data: {"y": object.nope}}');
    await mutating([apply('Object{data: {"x": "1"}}'), fails, apply('Object{data: {"z": "2"}}')], {
      failurePolicy: 'Ignore',
    });
    await bound();
    expect((await create({ k: '1' })).body['data']).toEqual({ k: '1', x: '1', z: '2' });
  });

  test('every mutation that fails is a cause', async () => {
    await mutating([apply('Object{data: {"y": object.nope}}'), patch('[JSONPatch{op: "remove", path: "/nope/a"}]')]);
    await bound();
    expect((await create({ k: '1' })).body).toMatchObject({
      reason: 'Invalid',
      message: refusal(`expression 'Object{data: {"y": object.nope}}' resulted in error: no such key: nope`),
      details: {
        causes: [
          {},
          {
            message: refusal(
              'JSON Patch: remove operation does not apply: doc is missing path: "/nope/a": missing value',
            ),
          },
        ],
      },
    });
  });

  test('uses variables and parameters', async () => {
    await admission.on.must(201, 'POST', '/api/v1/namespaces/default/secrets', {
      metadata: { name: 's', labels: { colour: 'blue' } },
    });
    await mutating([apply('Object{data: {"colour": variables.colour}}')], {
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      },
      paramKind: { apiVersion: 'v1', kind: 'Secret' },
      variables: [{ name: 'colour', expression: 'params.metadata.labels.colour' }],
    });
    await bound('p', { paramRef: { name: 's', parameterNotFoundAction: 'Deny' } });
    expect((await create()).body['data']).toEqual({ colour: 'blue' });
  });

  test('is reinvoked after a later change if its policy is IfNeeded', async () => {
    const count = (key: string): JsonObject => apply(`Object{data: {"${key}": string(size(object.data) )}}`);
    await mutating([count('one')], { reinvocationPolicy: 'IfNeeded' }, 'p1');
    await mutating([count('two')], {}, 'p2');
    await bound('p1');
    await bound('p2');
    expect((await create({ k: '1' })).body['data']).toEqual({ k: '1', one: '3', two: '2' });
  });

  test('is reinvoked after a change of its own if its policy is IfNeeded', async () => {
    await mutating([patch('[JSONPatch{op: "add", path: "/data/n" + string(size(object.data)), value: "x"}]')], {
      reinvocationPolicy: 'IfNeeded',
    });
    await bound();
    expect((await create({ k: '1' })).body['data']).toEqual({ k: '1', n1: 'x', n2: 'x' });
  });

  test('has match conditions that are evaluated again for the changed object, whatever its reinvocation policy', async () => {
    await mutating([patch('[JSONPatch{op: "remove", path: "/data/k"}]')], {
      matchConditions: [{ name: 'c', expression: 'object.data.k == "1"' }],
    });
    await bound();
    const { status, body } = await create({ k: '1', other: '2' });
    expect(status).toBe(403);
    expect(body['message']).toBe(refusal(`expression 'object.data.k == "1"' resulted in error: no such key: k`));
  });

  test('is not selected by labels that another one adds in the same round', async () => {
    await mutating([apply('Object{metadata: Object.metadata{labels: {"a": "b"}}}')], {}, 'p1');
    await mutating(
      [apply('Object{data: {"two": "2"}}')],
      {
        matchConstraints: { ...written, objectSelector: { matchLabels: { a: 'b' } } },
      },
      'p2',
    );
    await bound('p1');
    await bound('p2');
    expect((await create({ k: '1' })).body['data']).toEqual({ k: '1' });
  });

  test('does not apply to deletions', async () => {
    await create();
    await mutating([apply('Object{data: {"x": object.nope}}')]);
    await bound();
    expect((await admission.on.ask('DELETE', `${maps}/a`)).status).toBe(200);
  });
});
