import { afterEach, describe, expect, test } from '@jest/globals';
import type { Json } from '@multiplane/apimachinery';
import { Pipeline } from '../../test/pipeline.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const accounts = '/api/v1/namespaces/default/serviceaccounts';
const type = (name: string): Record<string, string> => ({ 'content-type': `application/${name}` });

let pipeline: Pipeline | undefined;
async function withMap(): Promise<Pipeline> {
  pipeline = await Pipeline.open();
  await pipeline.must(201, 'POST', maps, { metadata: { name: 'a' }, data: { k: 'v' } });
  return pipeline;
}
afterEach(async () => {
  await pipeline?.close();
});

describe('JSON, merge and strategic merge patches', () => {
  test('are applied', async () => {
    const on = await withMap();
    expect(
      (await on.must(200, 'PATCH', `${maps}/a`, { data: { k: null, l: 'w' } }, type('merge-patch+json')))['data'],
    ).toEqual({ l: 'w' });
    expect(
      (await on.must(200, 'PATCH', `${maps}/a`, [{ op: 'add', path: '/data/m', value: 'x' }], type('json-patch+json')))[
        'data'
      ],
    ).toEqual({ l: 'w', m: 'x' });
    await on.must(201, 'POST', accounts, { metadata: { name: 's' }, secrets: [{ name: 'a' }] });
    const merged = await on.must(
      200,
      'PATCH',
      `${accounts}/s`,
      { secrets: [{ name: 'b' }] },
      type('strategic-merge-patch+json'),
    );
    expect(merged['secrets']).toEqual([{ name: 'b' }, { name: 'a' }]);
  });

  test('other content types are rejected', async () => {
    const on = await withMap();
    expect((await on.must(415, 'PATCH', `${maps}/a`, {}, type('json')))['message']).toBe('415: Unsupported Media Type');
  });
});

describe('a patch cannot', () => {
  test.each([
    [
      'change the name',
      { metadata: { name: 'b' } },
      400,
      'the name of the object (b) does not match the name on the URL (a)',
    ],
    [
      'take the name away',
      { metadata: null },
      400,
      'the name of the object (a based on URL) was undeterminable: name must be provided',
    ],
    [
      'move to another namespace',
      { metadata: { namespace: 'b' } },
      400,
      'the namespace of the provided object does not match the namespace sent on the request',
    ],
    [
      'change the uid',
      { metadata: { uid: 'b' } },
      422,
      'ConfigMap "a" is invalid: metadata.uid: Invalid value: "b": field is immutable',
    ],
    [
      'rest on a version that is gone',
      { metadata: { resourceVersion: '1' } },
      409,
      'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    ],
  ])('%s', async (_what, patch, status, message) => {
    const on = await withMap();
    expect((await on.must(status, 'PATCH', `${maps}/a`, patch, type('merge-patch+json')))['message']).toBe(message);
  });

  test('change a missing object', async () => {
    const on = await withMap();
    const refused = await on.must(404, 'PATCH', `${maps}/none`, {}, type('merge-patch+json'));
    expect(refused['message']).toBe('configmaps "none" not found');
  });
});

describe('an invalid result', () => {
  test('is a 422 that quotes the patched document', async () => {
    const on = await withMap();
    const refused = await on.must(422, 'PATCH', `${maps}/a`, { data: { k: 5 } }, type('merge-patch+json'));
    expect(refused['message']).toMatch(
      /^ "" is invalid: patch: Invalid value: "\{.*\\"data\\":\{\\"k\\":5\}.*\}": json: cannot unmarshal number/,
    );
    expect(refused['details']).toEqual({ causes: [expect.objectContaining({ field: 'patch' })] });
  });

  test.each<[string, Json, string]>([
    ['metadata', 5, 'cannot restore struct from: int64'],
    ['data', 1.5, 'cannot restore map from float64'],
    ['data', ['v'], 'cannot restore map from slice'],
    ['immutable', 'yes', 'unrecognized type: bool'],
    ['data', { k: 1 }, 'cannot convert int64 to string'],
    ['data', { k: 1.5 }, 'unrecognized type: string'],
    ['binaryData', { k: 'x' }, 'error decoding from json: illegal base64 data at input byte 0'],
  ])('has the message of the Go converter when a strategic patch sets %s to %j', async (field, value, message) => {
    const on = await withMap();
    const patch = { [field]: value };
    const refused = await on.must(422, 'PATCH', `${maps}/a`, patch, type('strategic-merge-patch+json'));
    expect(refused['message']).toMatch(new RegExp(`^ "" is invalid: patch: Invalid value: "map.*": ${message}$`));
  });

  test('names the Go type of a text in the outermost struct', async () => {
    const on = await withMap();
    const secrets = maps.replace('configmaps', 'secrets');
    await on.must(201, 'POST', secrets, { metadata: { name: 'a' } });
    const refused = await on.must(422, 'PATCH', `${secrets}/a`, { type: 7 }, type('strategic-merge-patch+json'));
    expect(refused['message']).toMatch(/: cannot convert int64 to v1\.SecretType$/);
  });

  test.each([
    ['{"data":{"k":1.0}}', 'map[data:map[k:1]]', 'unrecognized type: string'],
    ['{"metadata":1e3}', 'map[metadata:1000]', 'cannot restore struct from: float64'],
    ['{"metadata":{"finalizers":[-0.0]}}', 'map[metadata:map[finalizers:[-0]]]', 'unrecognized type: string'],
  ])('a number with a point or an exponent is a float in a strategic patch: %s', async (patch, quoted, message) => {
    const on = await withMap();
    const refused = await on.ask('PATCH', `${maps}/a`, patch, type('strategic-merge-patch+json'));
    expect(refused.body['message']).toBe(` "" is invalid: patch: Invalid value: "${quoted}": ${message}`);
  });

  test.each<[string, Json, string]>([
    [
      'json-patch+json',
      { a: 1 },
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    ],
    [
      'json-patch+json',
      [true],
      'error decoding patch: json: cannot unmarshal bool into Go value of type handlers.jsonPatchOp',
    ],
    ['strategic-merge-patch+json', [], 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
  ])('is a 400 when a %s is %j', async (contentType, patch, message) => {
    const on = await withMap();
    expect((await on.must(400, 'PATCH', `${maps}/a`, patch, type(contentType)))['message']).toBe(message);
  });

  test('is a 422 without a reason if an operation fails, and nothing is changed', async () => {
    const on = await withMap();
    const refused = await on.must(
      422,
      'PATCH',
      `${maps}/a`,
      [
        { op: 'remove', path: '/data/k' },
        { op: 'test', path: '/data/x', value: 1 },
      ],
      type('json-patch+json'),
    );
    expect(refused).toMatchObject({
      message: 'the server rejected our request due to an error in our request',
      details: {},
    });
    expect((await on.must(200, 'GET', `${maps}/a`))['data']).toEqual({ k: 'v' });
  });

  test('unknown fields are warnings, errors or ignored', async () => {
    const on = await withMap();
    const patch = '{"none":1,"data":{"x":"1","x":"2"}}';
    const warned = await on.ask('PATCH', `${maps}/a`, patch, type('merge-patch+json'));
    expect(warned.warnings).toEqual(['duplicate field "data.x"', 'unknown field "none"']);
    expect(
      (await on.ask('PATCH', `${maps}/a?fieldValidation=Ignore`, patch, type('merge-patch+json'))).warnings,
    ).toEqual([]);
    expect(
      (await on.must(422, 'PATCH', `${maps}/a?fieldValidation=Strict`, patch, type('merge-patch+json')))['message'],
    ).toContain('strict decoding error: duplicate field');
  });

  test('an object without a version has unknown fields only', async () => {
    const on = await withMap();
    const patch = [{ op: 'replace', path: '', value: { none: 1, metadata: { name: 'a' } } }];
    const names = 'unknown field "metadata", unknown field "none"';
    const ask = (validation: string) =>
      on.ask('PATCH', `${maps}/a?fieldValidation=${validation}`, patch, type('json-patch+json'));
    expect(await ask('Strict')).toMatchObject({
      status: 422,
      warnings: [],
      body: { message: expect.stringContaining(`strict decoding error: ${names}`) },
    });
    expect(await ask('Warn')).toMatchObject({ status: 400, warnings: names.split(', ') });
    expect(await ask('Ignore')).toMatchObject({ status: 400, warnings: [] });
  });
});

describe('a patch of kind or apiVersion', () => {
  const notRegistered = (version: string, kind: string): string =>
    `no kind "${kind}" is registered for version "${version}" in scheme "multiplane"`;
  test.each<[string, Json, string]>([
    ['merge-patch+json', { kind: 'Secret' }, 'converting (v1.Secret) to (core.ConfigMap): unknown conversion'],
    ['merge-patch+json', { kind: 'None' }, notRegistered('v1', 'None')],
    ['merge-patch+json', { apiVersion: 'none/v1' }, notRegistered('none/v1', 'ConfigMap')],
    ['merge-patch+json', { apiVersion: 'a/b/c' }, 'unexpected GroupVersion string: a/b/c'],
    ['json-patch+json', [{ op: 'replace', path: '/kind', value: 'None' }], notRegistered('v1', 'None')],
    [
      'merge-patch+json',
      { kind: 5 },
      "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
    ],
  ])('by %s %j is a 422', async (contentType, patch, message) => {
    const on = await withMap();
    const refused = await on.must(422, 'PATCH', `${maps}/a`, patch, type(contentType));
    expect(refused['message']).toMatch(/^ "" is invalid: patch: Invalid value: "/);
    expect((refused['message'] as string).endsWith(`": ${message}`)).toBe(true);
    expect(await on.must(200, 'GET', `${maps}/a`)).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' });
  });

  test('has no effect in a strategic patch, nor without a kind in a merge patch', async () => {
    const on = await withMap();
    for (const [contentType, patch] of [
      ['strategic-merge-patch+json', { kind: 'None', apiVersion: 'none/v1', data: { l: 'w' } }],
      ['strategic-merge-patch+json', 'null'],
      ['merge-patch+json', { kind: null }],
      ['json-patch+json', 'null'],
    ] as const) {
      const patched = await on.must(200, 'PATCH', `${maps}/a`, patch, type(contentType));
      expect(patched).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1', data: { k: 'v', l: 'w' } });
    }
  });
});

describe('a malformed patch', () => {
  test.each<[string, Json | string, string]>([
    [
      'merge-patch+json',
      [],
      'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
    ],
    ['merge-patch+json', 'null', 'Invalid JSON Patch'],
    ['merge-patch+json', '{', 'error decoding patch: unexpected end of JSON input'],
    ['json-patch+json', '{', 'error decoding patch: unexpected end of JSON input'],
    ['strategic-merge-patch+json', '{', 'unexpected end of JSON input'],
    [
      'json-patch+json',
      [{ op: 5, path: '/data' }],
      'error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string',
    ],
  ])('%s %j is a 400, after the object is found', async (contentType, patch, message) => {
    const on = await withMap();
    expect((await on.must(400, 'PATCH', `${maps}/a`, patch, type(contentType)))['message']).toBe(message);
    await on.must(404, 'PATCH', `${maps}/none`, patch, type(contentType));
  });

  test('has the error of the patch library without field validation', async () => {
    const on = await withMap();
    const url = `${maps}/a?fieldValidation=Ignore`;
    expect((await on.must(400, 'PATCH', url, '{', type('merge-patch+json')))['message']).toBe('Invalid JSON Patch');
    expect((await on.must(400, 'PATCH', url, {}, type('json-patch+json')))['message']).toBe(
      'json: cannot unmarshal object into Go value of type jsonpatch.Patch',
    );
    expect((await on.must(422, 'PATCH', url, [1], type('merge-patch+json')))['message']).toContain(
      '"[1]": couldn\'t get version/kind; json parse error: json: cannot unmarshal array',
    );
  });

  test('a null operation is a 422', async () => {
    const on = await withMap();
    expect(await on.must(422, 'PATCH', `${maps}/a`, [null], type('json-patch+json'))).toMatchObject({ code: 422 });
  });
});

test('a dry run returns the result with the current resourceVersion and stores nothing', async () => {
  const on = await withMap();
  const { metadata } = await on.must(200, 'GET', `${maps}/a`);
  const shown = await on.must(200, 'PATCH', `${maps}/a?dryRun=All`, { data: { k: 'w' } }, type('merge-patch+json'));
  expect(shown).toMatchObject({ data: { k: 'w' }, metadata });
  expect((await on.must(200, 'GET', `${maps}/a`))['data']).toEqual({ k: 'v' });
});
