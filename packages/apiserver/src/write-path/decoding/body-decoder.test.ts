import { afterEach, describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { definitionOf } from '../../../test/definitions.ts';
import { type Answer, Pipeline } from '../../../test/pipeline.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const hats = '/apis/example.com/v1/namespaces/default/hats';

let pipeline: Pipeline | undefined;
afterEach(async () => {
  await pipeline?.close();
});

async function post(body: string, path = maps, headers: Record<string, string> = {}): Promise<Answer> {
  pipeline ??= await Pipeline.open();
  return pipeline.ask('POST', path, body, headers);
}

describe('a body that is not an object of the kind', () => {
  test.each([
    ['{', "couldn't get version/kind; json parse error: unexpected end of JSON input", '{'],
    ['', "couldn't get version/kind; json parse error: unexpected end of JSON input", '<empty>'],
    [
      '{"apiVersion":"a/b/c","kind":"ConfigMap"}',
      'unexpected GroupVersion string: a/b/c',
      '{"apiVersion":"a/b/c","kind":" ...',
    ],
  ])('%s', async (body, why, shown) => {
    pipeline = await Pipeline.open();
    const { status, body: answer } = await post(body);
    expect(status).toBe(400);
    expect(answer['message']).toBe(
      `the object provided is unrecognized (must be of type ConfigMap): ${why} (${shown})`,
    );
  });

  test.each([
    [
      '{"kind":"Nope"}',
      'Nope in version "v1" cannot be handled as a ConfigMap: no kind "Nope" is registered for version "v1"',
    ],
    [
      '{"kind":"Secret"}',
      'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
    ],
    ['{"data":{"k":5}}', 'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number'],
    [
      '{"metadata":{"labels":["x"]}}',
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal array',
    ],
  ])('%s', async (body, message) => {
    pipeline = await Pipeline.open();
    const answer = await post(body);
    expect(answer.status).toBe(400);
    expect(answer.body['message']).toContain(message);
  });

  test('an unsupported media type is rejected with the supported ones', async () => {
    pipeline = await Pipeline.open();
    expect((await post('{}', maps, { 'content-type': 'text/plain' })).status).toBe(415);
  });
});

describe('unknown and duplicate fields', () => {
  const body = '{"metadata":{"name":"a","no":1},"data":{"k":"1","k":"2"},"none":1}';
  const texts = ['unknown field "metadata.no"', 'duplicate field "data.k"', 'unknown field "none"'];

  test('are reported in document order', async () => {
    pipeline = await Pipeline.open();
    expect((await post(body)).warnings).toEqual(texts);
    expect((await post(body, `${maps}?fieldValidation=Strict`)).body['message']).toBe(
      `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: ${texts.join(', ')}`,
    );
  });

  test('are reported with their line for YAML', async () => {
    pipeline = await Pipeline.open();
    const answer = await post('metadata: {name: yml}\ndata:\n  k: "1"\n  k: "2"\n', maps, {
      'content-type': 'application/yaml',
    });
    expect(answer.status).toBe(201);
    expect(answer.warnings).toEqual(['line 4: key "k" already set in map']);
    expect(answer.body['data']).toEqual({ k: '2' });
  });
});

describe('hostile names', () => {
  test('a key named __proto__ is an ordinary key', async () => {
    pipeline = await Pipeline.open();
    const answer = await post('{"metadata":{"name":"p","labels":{"constructor":"x"}},"data":{"__proto__":"v"}}');
    expect(answer.status).toBe(201);
    expect(answer.text).toContain('"data":{"__proto__":"v"}');
    expect((await pipeline.ask('GET', `${maps}?labelSelector=constructor%3Dx`)).text).toContain('"name":"p"');
    expect((await pipeline.ask('GET', `${maps}?labelSelector=toString`)).body['items']).toEqual([]);
  });
});

/** `hats` with a schema of the test. */
const hatDefinition = (properties: JsonObject, subresources: JsonObject = {}): KubeObject =>
  definitionOf('example.com', 'v1', 'hats', 'Hat', { type: 'object', properties }, subresources);

describe('a custom resource', () => {
  test.each([
    [
      '{"apiVersion":1,"apiVersion":"example.com/v1","kind":"Hat"}',
      `the object provided is unrecognized (must be of type Hat): couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .apiVersion of type string ({"apiVersion":1,"apiVersion":" ...)`,
    ],
    [
      '{"apiVersion":null,"kind":"Hat"}',
      'Hat in version "" cannot be handled as a Hat: .apiVersion accessor error: <nil> is of the type <nil>, expected string',
    ],
  ])('a kind or version of another type: %s', async (body, message) => {
    pipeline = await Pipeline.open();
    await pipeline.serve(hatDefinition({ spec: { type: 'object' } }));
    expect(await post(body, hats)).toMatchObject({ status: 400, body: { message } });
  });

  test('requires kind and apiVersion, and keeps integers beyond 2^53', async () => {
    pipeline = await Pipeline.open();
    await pipeline.serve(
      hatDefinition({ spec: { type: 'object', properties: { big: { type: 'integer', format: 'int64' } } } }),
    );
    expect((await post('{}', hats)).body['message']).toBe(
      "the object provided is unrecognized (must be of type Hat): Object 'Kind' is missing in '{}' ({})",
    );
    expect(
      (await post('{"kind":"Hat","apiVersion":"example.com/v2","metadata":{"name":"a"}}', hats)).body['message'],
    ).toBe('the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)');
    expect((await post('{"kind":"Hat","apiVersion":"/v2","metadata":{"name":"a"}}', hats)).body['message']).toBe(
      'the API version in the data (v2) does not match the expected API version (example.com/v1)',
    );
    expect((await post('{"kind":"Hat","apiVersion":null,"metadata":{"name":"a"}}', hats)).body['message']).toBe(
      'Hat in version "" cannot be handled as a Hat: .apiVersion accessor error: <nil> is of the type <nil>, expected string',
    );
    expect(
      (await post('{"kind":"Cap","apiVersion":"example.com/v1","metadata":{"name":"a"}}', hats)).body['message'],
    ).toBe('Cap.example.com "a" is invalid: kind: Invalid value: "Cap": must be Hat');
    const big = await post(
      '{"kind":"Hat","apiVersion":"example.com/v1","metadata":{"name":"a"},"spec":{"big":9007199254740993}}',
      hats,
    );
    expect(big.text).toContain('"big":9007199254740993');
    expect((await pipeline.ask('GET', `${hats}/a`)).text).toContain('"big":9007199254740993');
  });

  test('ignores status on create, and returns its default', async () => {
    pipeline = await Pipeline.open();
    const phase = { type: 'string', default: 'New' };
    const status = { type: 'object', default: {}, properties: { phase } };
    await pipeline.serve(hatDefinition({ status }, { status: {} }));
    const hat = '{"kind":"Hat","apiVersion":"example.com/v1","metadata":{"name":"a"},"status":{"phase":"Mine"}}';
    expect((await post(hat, hats)).body['status']).toEqual({ phase: 'New' });
    expect((await pipeline.ask('GET', `${hats}/a`)).body['status']).toEqual({ phase: 'New' });
  });
});

test.each([
  ['{"metadata":{"name":"a"}}', 'application/json', 'v1', '{"metadata":{"name":"a"}}'],
  [' {"apiVersion":"x/v9"}', 'application/json', 'v9', '{"apiVersion":"x/v9"}'],
  ['metadata: {name: a}', 'application/yaml', 'v1', '{"metadata":{"name":"a"}}'],
])('a custom resource without a kind, fields unchecked: %s', async (body, type, version, quoted) => {
  pipeline = await Pipeline.open();
  await pipeline.serve(hatDefinition({ spec: { type: 'object' } }));
  expect((await post(body, `${hats}?fieldValidation=Ignore`, { 'content-type': type })).body['message']).toBe(
    `Hat in version "${version}" cannot be handled as a Hat: Object 'Kind' is missing in '${quoted}'`,
  );
});
