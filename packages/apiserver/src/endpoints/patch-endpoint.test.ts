import { afterEach, describe, expect, test } from '@jest/globals';
import type { Json } from '@multiplane/apimachinery';
import { Pipeline } from '../pipeline-fixture.ts';

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

describe('the three patches', () => {
  test('change what they say', async () => {
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

  test('others are refused', async () => {
    const on = await withMap();
    expect((await on.must(415, 'PATCH', `${maps}/a`, {}, type('json')))['message']).toBe('415: Unsupported Media Type');
  });
});

describe('a patch may not', () => {
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

  test('touch an object that is not there', async () => {
    const on = await withMap();
    const refused = await on.must(404, 'PATCH', `${maps}/none`, {}, type('merge-patch+json'));
    expect(refused['message']).toBe('configmaps "none" not found');
  });
});

describe('what does not fit', () => {
  test('is a 422 that names the patched document', async () => {
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
  ])('is told in the words of the converter when a strategic patch makes %s %j', async (field, value, message) => {
    const on = await withMap();
    const patch = { [field]: value };
    const refused = await on.must(422, 'PATCH', `${maps}/a`, patch, type('strategic-merge-patch+json'));
    expect(refused['message']).toMatch(new RegExp(`^ "" is invalid: patch: Invalid value: "map.*": ${message}$`));
  });

  test.each<[string, Json, string]>([
    ['json-patch+json', { a: 1 }, 'json: cannot unmarshal object into Go value of type jsonpatch.Patch'],
    ['json-patch+json', [true], 'json: cannot unmarshal bool into Go value of type jsonpatch.Operation'],
    ['strategic-merge-patch+json', [], 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
  ])('is a 400 when a %s is %j', async (contentType, patch, message) => {
    const on = await withMap();
    expect((await on.must(400, 'PATCH', `${maps}/a`, patch, type(contentType)))['message']).toBe(message);
  });

  test('is a 422 without a reason when an operation fails, and nothing is changed', async () => {
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

  test('unknown fields warn, or refuse, or pass in silence', async () => {
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
});

test('a dry run shows the result with the old version and keeps the old state', async () => {
  const on = await withMap();
  const { metadata } = await on.must(200, 'GET', `${maps}/a`);
  const shown = await on.must(200, 'PATCH', `${maps}/a?dryRun=All`, { data: { k: 'w' } }, type('merge-patch+json'));
  expect(shown).toMatchObject({ data: { k: 'w' }, metadata });
  expect((await on.must(200, 'GET', `${maps}/a`))['data']).toEqual({ k: 'v' });
});
