import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { definitionOf } from '../../../test/definitions.ts';
import { Pipeline } from '../../../test/pipeline.ts';

/** Field validation for all kinds of bodies and all verbs with a body. */

const maps = '/api/v1/namespaces/default/configmaps';
const foos = '/apis/example.com/v1/namespaces/default/foos';
const json = { 'content-type': 'application/json' };
const yaml = { 'content-type': 'application/yaml' };
const merge = { 'content-type': 'application/merge-patch+json' };
const jsonPatch = { 'content-type': 'application/json-patch+json' };
const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
const apply = { 'content-type': 'application/apply-patch+yaml' };

const definition = definitionOf(
  'example.com',
  'v1',
  'foos',
  'Foo',
  {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          n: { type: 'integer' },
          free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          template: {
            type: 'object',
            'x-kubernetes-embedded-resource': true,
            properties: { spec: { type: 'object', properties: { a: { type: 'string' } } } },
          },
          list: { type: 'array', items: { type: 'object', properties: { a: { type: 'string' } } } },
        },
      },
      status: { type: 'object', properties: { n: { type: 'integer' } } },
    },
  },
  { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
);

let pipeline: Pipeline;
let names = 0;
const fresh = (): string => `n${++names}`;

beforeAll(async () => {
  const createHandlers = new Map([
    [
      'authorization.k8s.io/subjectaccessreviews',
      ({ object }: { readonly object: KubeObject }) => Promise.resolve({ ...object, status: { allowed: true } }),
    ],
  ]);
  pipeline = await Pipeline.open({ createHandlers });
  await pipeline.serve(definition);
});
afterAll(() => pipeline.close());

interface Attempt {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly headers: Record<string, string>;
  /** The status of a successful response. */
  readonly good: number;
}

/** Sends the request at each validation level: the warnings, and the error of Strict. */
async function underEachLevel(attempt: () => Promise<Attempt> | Attempt): Promise<{
  readonly warnings: readonly string[];
  readonly status: number;
  readonly message: string;
}> {
  const send = async (level: string): ReturnType<Pipeline['ask']> => {
    const { method, path, body, headers } = await attempt();
    return pipeline.ask(method, `${path}${path.includes('?') ? '&' : '?'}fieldValidation=${level}`, body, headers);
  };
  const { good } = await attempt();
  const ignored = await send('Ignore');
  expect([ignored.status, ignored.warnings, ignored.status === good ? '' : ignored.text]).toEqual([good, [], '']);
  const warned = await send('Warn');
  expect(warned.status).toBe(good);
  const plain = await attempt();
  expect((await pipeline.ask(plain.method, plain.path, plain.body, plain.headers)).warnings).toEqual(warned.warnings);
  const refused = await send('Strict');
  return { warnings: warned.warnings, status: refused.status, message: refused.body['message'] as string };
}

async function stored(path: string, object: JsonObject): Promise<string> {
  const name = fresh();
  await pipeline.must(201, 'POST', path, { ...object, metadata: { name } });
  return name;
}
const storedMap = (): Promise<string> => stored(maps, { data: { a: '1' } });
const storedFoo = (): Promise<string> =>
  stored(foos, { apiVersion: 'example.com/v1', kind: 'Foo', spec: { n: 1 }, status: {} });

describe('a built-in kind', () => {
  const unknownAndDouble = ['unknown field "nobody"', 'duplicate field "data.a"'];
  const strict = `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: ${unknownAndDouble.join(', ')}`;

  test.each(['POST', 'PUT'])('%s in JSON', async (method) => {
    const outcome = await underEachLevel(async () => {
      const name = method === 'PUT' ? await storedMap() : fresh();
      const body = `{"metadata":{"name":"${name}"},"nobody":1,"data":{"a":"1","a":"2"}}`;
      return {
        method,
        path: method === 'PUT' ? `${maps}/${name}` : maps,
        body,
        headers: json,
        good: method === 'PUT' ? 200 : 201,
      };
    });
    expect(outcome).toEqual({ warnings: unknownAndDouble, status: 400, message: strict });
  });

  test('POST in YAML reports the line of a duplicate key', async () => {
    const outcome = await underEachLevel(() => ({
      method: 'POST',
      path: maps,
      body: `metadata: {name: ${fresh()}}\nnobody: 1\ndata:\n  a: "1"\n  a: "2"\n`,
      headers: yaml,
      good: 201,
    }));
    expect(outcome.warnings).toEqual(['line 5: key "a" already set in map', 'unknown field "nobody"']);
    expect([outcome.status, outcome.message]).toEqual([
      400,
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n  line 5: key "a" already set in map, unknown field "nobody"',
    ]);
  });

  test.each([
    ['merge', merge, '{"nobody":1,"data":{"a":"1","a":"2"}}', ['duplicate field "data.a"', 'unknown field "nobody"']],
    [
      'strategic merge',
      strategic,
      '{"nobody":1,"data":{"a":"1","a":"2"}}',
      ['duplicate field "data.a"', 'unknown field "nobody"'],
    ],
    [
      'JSON',
      jsonPatch,
      '[{"op":"add","path":"/nobody","value":1,"extra":2,"extra":3}]',
      ['json patch duplicate field "[0].extra"', 'json patch unknown field "[0].extra"', 'unknown field "nobody"'],
    ],
  ])('a %s patch', async (_name, headers, body, warnings) => {
    const outcome = await underEachLevel(async () => ({
      method: 'PATCH',
      path: `${maps}/${await storedMap()}`,
      body,
      headers,
      good: 200,
    }));
    expect(outcome.warnings).toEqual(warnings);
    expect(outcome.status).toBe(422);
    expect(outcome.message).toContain(`strict decoding error: ${warnings.join(', ')}`);
  });

  test('a custom resource of another version reports duplicate fields first', async () => {
    const body = '{"apiVersion":"example.com/v9","kind":"Foo","metadata":{"name":"x"},"spec":{},"spec":{}}';
    const mismatch =
      'the API version in the data (example.com/v9) does not match the expected API version (example.com/v1)';
    const warned = await pipeline.ask('POST', foos, body, json);
    expect([warned.status, warned.body['message'], warned.warnings]).toEqual([
      400,
      mismatch,
      ['duplicate field "spec"'],
    ]);
    const strict = await pipeline.ask('POST', `${foos}?fieldValidation=Strict`, body, json);
    expect(strict.body['message']).toMatch(/strict decoding error: duplicate field "spec"$/);
    const misfit = await pipeline.ask('POST', foos, '{"apiVersion":"v9","kind":"Foo","metadata":{"name":[1]}}', json);
    expect(misfit.body['message']).toBe(
      'Foo in version "v9" cannot be handled as a Foo: json: cannot unmarshal array into Go struct field ObjectMeta.name of type string',
    );
    const versionless = await pipeline.ask('POST', foos, '{"kind":"Foo","metadata":1}', json);
    expect(versionless.body['message']).toBe(
      'Foo in version "" cannot be handled as a Foo: json: cannot unmarshal number into Go value of type v1.ObjectMeta',
    );
    const ignored = await pipeline.ask('POST', `${foos}?fieldValidation=Ignore`, body, json);
    expect([ignored.body['message'], ignored.warnings]).toEqual([mismatch, []]);
  });

  test('an apply reports duplicate keys by level, unknown fields as a schema error', async () => {
    const path = (name: string): string => `${maps}/${name}?fieldManager=me`;
    const outcome = await underEachLevel(() => {
      const name = fresh();
      const body = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata:\n  a: "1"\n  a: "2"\n`;
      return { method: 'PATCH', path: path(name), body, headers: apply, good: 201 };
    });
    expect(outcome).toEqual({
      warnings: ['line 6: key "a" already set in map'],
      status: 400,
      message:
        'error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 6: key "a" already set in map',
    });
    const name = fresh();
    const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"nobody":1}`;
    const refused = await pipeline.ask('PATCH', `${path(name)}&fieldValidation=Ignore`, body, apply);
    expect([refused.status, refused.body['message']]).toEqual([
      500,
      `failed to create typed patch object (/${name}; /v1, Kind=ConfigMap): .nobody: field not declared in schema`,
    ]);
  });

  test('field names are case-sensitive', async () => {
    const outcome = await underEachLevel(() => ({
      method: 'POST',
      path: maps,
      body: `{"metadata":{"name":"${fresh()}"},"Data":{"a":"1"}}`,
      headers: json,
      good: 201,
    }));
    expect(outcome.warnings).toEqual(['unknown field "Data"']);
  });

  test('a review, which is never stored', async () => {
    const outcome = await underEachLevel(() => ({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      body: '{"spec":{"user":"a","nobody":1,"user":"b","nonResourceAttributes":{"path":"/","verb":"get"}}}',
      headers: json,
      good: 201,
    }));
    expect(outcome.warnings).toEqual(['duplicate field "spec.user"', 'unknown field "spec.nobody"']);
    expect([outcome.status, outcome.message]).toEqual([
      400,
      expect.stringContaining(
        'SubjectAccessReview in version "v1" cannot be handled as a SubjectAccessReview: strict decoding error: ',
      ),
    ]);
  });

  test.each([
    ['small', 0],
    ['large', 100_000],
  ])('an error names the kind of the URL when a %s body has a null kind and a repeated field', async (_size, bytes) => {
    const notes = JSON.stringify({ a: 'x'.repeat(bytes) });
    const body = `{"kind":null,"metadata":{"name":"a","annotations":${notes},"finalizers":[null]},"data":null,"data":null}`;
    const answer = await pipeline.ask('POST', maps, body, json);
    expect([answer.status, answer.body['message']]).toEqual([
      422,
      expect.stringMatching(/^ConfigMap "a" is invalid: /),
    ]);
  });

  test('at most a hundred errors are reported', async () => {
    const fields = Array.from({ length: 150 }, (_, n) => `"x${n}":1`).join(',');
    const answer = await pipeline.ask('POST', maps, `{"metadata":{"name":"${fresh()}"},${fields}}`, json);
    expect(answer.warnings).toHaveLength(100);
  });
});

describe('a custom resource', () => {
  const spec =
    '{"n":1,"n":2,"nobody":1,"free":{"x":1,"x":2},"list":[{"a":"1","b":1},{"c":1}],"template":{"apiVersion":"v1","kind":"K","metadata":{"name":"t","nope":1},"top":1,"spec":{"a":"1","z":1}}}';
  const double = ['duplicate field "spec.n"', 'duplicate field "spec.free.x"'];
  const unknown = [
    'unknown field "spec.list[0].b"',
    'unknown field "spec.list[1].c"',
    'unknown field "spec.nobody"',
    'unknown field "spec.template.spec.z"',
    'unknown field "spec.template.top"',
    // Kubernetes decodes the metadata of embedded resources after it has pruned the object.
    'unknown field "spec.template.metadata.nope"',
  ];

  test.each(['POST', 'PUT'])('%s in JSON, embedded resources included', async (method) => {
    const outcome = await underEachLevel(async () => {
      const name = method === 'PUT' ? await storedFoo() : fresh();
      const current = method === 'PUT' ? await pipeline.must(200, 'GET', `${foos}/${name}`) : undefined;
      const version = (current?.['metadata'] as JsonObject | undefined)?.['resourceVersion'];
      const metadata = JSON.stringify({ name, ...(version === undefined ? {} : { resourceVersion: version }) });
      const body = `{"apiVersion":"example.com/v1","kind":"Foo","metadata":${metadata},"spec":${spec}}`;
      return {
        method,
        path: method === 'PUT' ? `${foos}/${name}` : foos,
        body,
        headers: json,
        good: method === 'PUT' ? 200 : 201,
      };
    });
    expect(outcome).toEqual({
      warnings: [...double, ...unknown],
      status: 400,
      message: `Foo in version "v1" cannot be handled as a Foo: strict decoding error: ${[...double, ...unknown].join(', ')}`,
    });
  });

  test('POST in YAML', async () => {
    const outcome = await underEachLevel(() => ({
      method: 'POST',
      path: foos,
      body: `apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: ${fresh()}, nope: 1}\nspec:\n  "n": 1\n  "n": 2\n  free:\n    x: 1\n    x: 2\n`,
      headers: yaml,
      good: 201,
    }));
    expect(outcome.warnings).toEqual([
      'line 6: key "n" already set in map',
      'line 9: key "x" already set in map',
      'unknown field "metadata.nope"',
    ]);
    expect(outcome.status).toBe(400);
  });

  test.each([
    ['merge', merge, '{"spec":{"n":1,"n":2,"nobody":1}}', ['duplicate field "spec.n"', 'unknown field "spec.nobody"']],
    ['JSON', jsonPatch, '[{"op":"add","path":"/spec/nobody","value":1}]', ['unknown field "spec.nobody"']],
  ])('a %s patch of it and of its status', async (_name, headers, body, warnings) => {
    for (const part of ['', '/status']) {
      const outcome = await underEachLevel(async () => ({
        method: 'PATCH',
        path: `${foos}/${await storedFoo()}${part}`,
        body,
        headers,
        good: 200,
      }));
      expect([part, outcome.warnings, outcome.status]).toEqual([part, warnings, 422]);
    }
  });

  test('with a number beyond the limits of float64 is reported with the kind of the body', async () => {
    const body = '{"apiVersion":"example.com/v1","kind":"Other","metadata":{"name":"a"},"spec":{"n":1e400}}';
    const answer = await pipeline.ask('POST', foos, body, json);
    expect([answer.status, answer.body['message']]).toEqual([
      400,
      'Other in version "v1" cannot be handled as a Foo: json: cannot unmarshal number 1e400 into Go value of type float64',
    ]);
    const broken = await pipeline.ask('POST', foos, body.slice(0, -1), json);
    expect([broken.status, broken.body['message']]).toEqual([
      400,
      expect.stringContaining("couldn't get version/kind; json parse error: "),
    ]);
  });

  test('its scale', async () => {
    const body = (name: string): string =>
      `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"${name}"},"spec":{"replicas":1,"replicas":2,"nobody":1}}`;
    const put = await underEachLevel(async () => {
      const name = await storedFoo();
      return { method: 'PUT', path: `${foos}/${name}/scale`, body: body(name), headers: json, good: 200 };
    });
    expect(put.warnings).toEqual(['duplicate field "spec.replicas"', 'unknown field "spec.nobody"']);
    expect([put.status, put.message]).toEqual([
      400,
      'Scale in version "v1" cannot be handled as a Scale: strict decoding error: duplicate field "spec.replicas", unknown field "spec.nobody"',
    ]);
    const patched = await underEachLevel(async () => ({
      method: 'PATCH',
      path: `${foos}/${await storedFoo()}/scale`,
      body: '{"spec":{"replicas":3,"nobody":1}}',
      headers: merge,
      good: 200,
    }));
    expect([patched.warnings, patched.status]).toEqual([['unknown field "spec.nobody"'], 422]);
  });

  test('preserved unknown fields are not an error', async () => {
    const body = `{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"${fresh()}"},"spec":{"free":{"any":{"thing":[{"x":1}]}}}}`;
    const answer = await pipeline.ask('POST', `${foos}?fieldValidation=Strict`, body, json);
    expect([answer.status, answer.warnings]).toEqual([201, []]);
  });
});
