import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { configMap, gadget } from '../fixtures/gadgets.ts';
import { HostileServer } from '../harness/hostile-server.ts';
import type { Response, SentRequest } from '../harness/requests.ts';

let server: HostileServer;

beforeAll(async () => {
  server = await HostileServer.start();
}, 240_000);
afterAll(() => server?.[Symbol.asyncDispose]());
afterEach(() => server.mustBeWell());

const configMaps = '/api/v1/namespaces/e2e/configmaps';
const gadgets = '/apis/e2e.example.com/v1/namespaces/e2e/gadgets';
const yaml = { 'content-type': 'application/yaml' };
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const jsonPatch = { 'content-type': 'application/json-patch+json' };

const post = (path: string, rest: Omit<SentRequest, 'path'>): Promise<Response> =>
  server.workspace.send({ method: 'POST', path, ...rest });
const status = ({ status, json }: Response): unknown[] => [status, json['reason'], json['message']];
const dataOf = async (name: string): Promise<unknown> =>
  (await server.workspace.must({ path: `${configMaps}/${name}` })).json['data'];

describe('malformed bodies', () => {
  test.each([
    '{',
    '',
    '[]',
    '"x"',
    '5',
    '{"kind":"ConfigMap"',
    '{"a":1}}',
    '{"a":01}',
    "{'a':1}",
    '{"a":"\u0001"}',
    '\u0000',
    '{"a":1e}',
    'nul',
    '{"kind":5}',
  ])('JSON %j', async (text) => {
    expect(status(await post(configMaps, { text, headers: { 'content-type': 'application/json' } }))).toEqual([
      400,
      'BadRequest',
      expect.stringMatching(
        /^(the object provided is unrecognized \(must be of type ConfigMap\): |ConfigMap in version "v1" cannot be handled as a ConfigMap: )/,
      ),
    ]);
  });

  test.each(['a: [', 'a: *nope', '\ta: 1', 'a: 1\n b: 2\n', '{a: 1', '? {[x]: y}: z', '&a [*a]', 'a: "\\q"', '\u0000'])(
    'YAML %j',
    async (text) => {
      expect((await post(configMaps, { text, headers: yaml })).status).toBe(400);
    },
  );

  test('an object of another kind or version, or not an object at all', async () => {
    expect(
      status(await post(configMaps, { body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } } })),
    ).toEqual([400, 'BadRequest', expect.stringContaining('Secret in version "v1" cannot be handled as a ConfigMap')]);
    expect(status(await post(gadgets, { body: { ...gadget('x'), apiVersion: 'e2e.example.com/v9' } }))).toEqual([
      400,
      'BadRequest',
      'the API version in the data (e2e.example.com/v9) does not match the expected API version (e2e.example.com/v1)',
    ]);
    expect(status(await post(configMaps, { body: { ...configMap('x'), metadata: [] } }))).toEqual([
      400,
      'BadRequest',
      expect.stringContaining('cannot be handled as a ConfigMap'),
    ]);
    expect(status(await post(configMaps, { body: null, text: 'null' }))).toEqual([
      422,
      'Invalid',
      'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    ]);
  });

  test('values of wrong types', async () => {
    for (const data of [{ a: 1 }, { a: null }, [], 'x', { a: { b: 'c' } }]) {
      const answer = await post(configMaps, { body: { ...configMap('typed'), data } });
      // A null value is the one that Go turns into something: the empty string.
      expect([400, ...(JSON.stringify(data) === '{"a":null}' ? [201] : [])]).toContain(answer.status);
    }
    expect(status(await post(gadgets, { body: gadget('typed', { replicas: 'many' }) }))).toEqual([
      422,
      'Invalid',
      expect.stringContaining('spec.replicas in body must be of type integer: "string"'),
    ]);
  });

  test('invalid UTF-8, lone surrogates and a byte order mark', async () => {
    const lone = await post(configMaps, {
      text: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"lone"},"data":{"k":"a\\ud800b"}}',
    });
    expect(lone.status).toBe(201);
    expect(await dataOf('lone')).toEqual({ k: 'a\ufffdb' });
    expect(
      (await post(configMaps, { text: '\ufeff{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bom"}}' }))
        .status,
    ).toBe(400);
  });
});

describe('unknown and duplicate fields', () => {
  const doubtful =
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME","nope":1},"data":{"a":"1","a":"2"},"top":1}';
  const send = (name: string, fieldValidation: string): Promise<Response> =>
    post(`${configMaps}?fieldValidation=${fieldValidation}`, { text: doubtful.replace('NAME', name) });

  test('are refused with Strict, reported with Warn, dropped silently with Ignore', async () => {
    expect(status(await send('strict', 'Strict'))).toEqual([
      400,
      'BadRequest',
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.nope", duplicate field "data.a", unknown field "top"',
    ]);
    const warned = await send('warned', 'Warn');
    expect(warned.status).toBe(201);
    for (const text of ['duplicate field \\"data.a\\"', 'unknown field \\"metadata.nope\\"', 'unknown field \\"top\\"'])
      expect(String(warned.headers['warning'])).toContain(`299 - "${text}"`);
    const ignored = await send('ignored', 'Ignore');
    expect([ignored.status, ignored.headers['warning'], await dataOf('ignored')]).toEqual([201, undefined, { a: '2' }]);
  });
});

describe('sizes', () => {
  test('a body of 3 MiB is too large, whatever the method and the user', async () => {
    const text = JSON.stringify(configMap('big', { k: 'x'.repeat(3 * 1024 * 1024) }));
    const tooLarge = [413, 'RequestEntityTooLarge', 'Request entity too large: limit is 3145728'];
    expect(status(await post(configMaps, { text }))).toEqual(tooLarge);
    expect(status(await server.workspace.send({ method: 'PUT', path: `${configMaps}/big`, text }))).toEqual(tooLarge);
    expect(
      status(await server.workspace.send({ method: 'PATCH', path: `${configMaps}/big`, headers: mergePatch, text })),
    ).toEqual(tooLarge);
    // A user without the right to write gets 403 before the body is read.
    expect((await post(configMaps, { text, as: 'user-1' })).status).toBe(403);
  });

  test('data beyond its own limit', async () => {
    expect(status(await post(configMaps, { body: configMap('big', { k: 'x'.repeat(1024 * 1024 + 1) }) }))).toEqual([
      422,
      'Invalid',
      expect.stringContaining('Too long: may not be more than 1048576 bytes'),
    ]);
    const annotations = { k: 'x'.repeat(262_144) };
    expect(status(await post(configMaps, { body: configMap('big', {}, { annotations }) }))).toEqual([
      422,
      'Invalid',
      expect.stringContaining('metadata.annotations: Too long: may not be more than 262144 bytes'),
    ]);
  });

  test.each([10_001, 100_000, 1_000_000])('JSON %i levels deep is refused while others are served', async (depth) => {
    const [open, close] = ['{"a":'.repeat(depth / 2), '}'.repeat(depth / 2)];
    for (const text of [
      `${'['.repeat(depth)}${']'.repeat(depth)}`,
      `${open}1${close}`,
      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"data":${'['.repeat(depth)}${']'.repeat(depth)}}`,
    ]) {
      const answer = await server.whileServing(() => post(configMaps, { text }));
      expect(answer.status).toBe(400);
    }
    const deep = JSON.stringify(gadget('deep', { free: {} })).replace(
      '"free":{}',
      () => `"free":{"x":${open}1${close}}`,
    );
    expect((await server.whileServing(() => post(gadgets, { text: deep }))).status).toBe(400);
    expect(
      (
        await server.whileServing(() =>
          server.workspace.send({
            method: 'PATCH',
            path: `${configMaps}/deep`,
            headers: mergePatch,
            text: `${open}1${close}`,
          }),
        )
      ).status,
    ).toBeGreaterThanOrEqual(400);
    const deepYaml = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: deep}\ndata: ${'['.repeat(Math.min(depth, 100_000))}`;
    expect((await server.whileServing(() => post(configMaps, { text: deepYaml, headers: yaml }))).status).toBe(400);
  });

  test('aliases of YAML cannot be used to blow a document up', async () => {
    const levels = Array.from(
      { length: 12 },
      (_, level) =>
        `l${level}: &l${level} [${Array(9)
          .fill(level === 0 ? 'lol' : `*l${level - 1}`)
          .join(',')}]`,
    );
    const bomb = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\n${levels.join('\n')}\n`;
    expect((await server.whileServing(() => post(configMaps, { text: bomb, headers: yaml }))).status).toBe(400);
    const wide = `a: &a [${Array(50_000).fill('x').join(',')}]\nb: [${Array(5_000).fill('*a').join(',')}]\n`;
    expect((await server.whileServing(() => post(configMaps, { text: wide, headers: yaml }))).status).toBe(400);
  });

  test('scalars and keys that are slow to parse', async () => {
    for (const text of [
      `a: ${'"'.repeat(200_000)}`,
      `a: ${'!'.repeat(200_000)}`,
      '? '.repeat(50_000),
      `a: ${'- '.repeat(50_000)}`,
      `${'a: &x '.repeat(1)}${'1'.repeat(500_000)}`,
    ]) {
      const answer = await server.whileServing(() => post(configMaps, { text, headers: yaml }));
      expect(answer.status).toBeGreaterThanOrEqual(400);
    }
  });

  test('a JSON patch of 10,001 operations, and one that copies itself large', async () => {
    await post(configMaps, { body: configMap('patched', { a: '1' }) });
    const many = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/data/a', value: '1' }));
    expect(
      status(
        await server.workspace.send({ method: 'PATCH', path: `${configMaps}/patched`, headers: jsonPatch, body: many }),
      ),
    ).toEqual([
      413,
      'RequestEntityTooLarge',
      'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    ]);
    await post(gadgets, { body: gadget('patched', { free: { a: ['x'] } }) });
    const doubling = [
      { op: 'add', path: '/spec/free/b', value: [] },
      ...Array.from({ length: 60 }, (_, i) => ({ op: 'copy', from: '/spec/free', path: `/spec/free/c${i}` })),
    ];
    const answer = await server.whileServing(() =>
      server.workspace.send({ method: 'PATCH', path: `${gadgets}/patched`, headers: jsonPatch, body: doubling }),
    );
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
  });
});

describe('names that JavaScript knows', () => {
  const keys = [
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'valueOf',
    '__defineGetter__',
    'length',
  ];

  test('are ordinary keys of data', async () => {
    const text = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"keys"},"data":{${keys.map((key) => `"${key}":"v-${key}"`).join(',')}}}`;
    expect((await post(configMaps, { text })).status).toBe(201);
    const stored = (await server.workspace.must({ path: `${configMaps}/keys` })).text;
    for (const key of keys) expect(stored).toContain(`"${key}":"v-${key}"`);
    const patched = await server.workspace.must({
      method: 'PATCH',
      path: `${configMaps}/keys`,
      headers: mergePatch,
      text: '{"data":{"__proto__":"merged","constructor":null}}',
    });
    expect(patched.text).toContain('"__proto__":"merged"');
    expect(patched.text).not.toContain('"constructor"');
    const pointed = await server.workspace.must({
      method: 'PATCH',
      path: `${configMaps}/keys`,
      headers: jsonPatch,
      text: '[{"op":"replace","path":"/data/__proto__","value":"pointed"},{"op":"add","path":"/data/constructor","value":"back"}]',
    });
    expect(pointed.text).toContain('"__proto__":"pointed"');
    const strategic = await server.workspace.must({
      method: 'PATCH',
      path: `${configMaps}/keys`,
      headers: { 'content-type': 'application/strategic-merge-patch+json' },
      text: '{"data":{"__proto__":"strategic","toString":null}}',
    });
    expect(strategic.text).toContain('"__proto__":"strategic"');
    expect(strategic.text).not.toContain('"toString"');
  });

  test('are ordinary fields of a custom resource, at any depth', async () => {
    const free =
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"list":[{"__proto__":{"x":1}}]}';
    const text = `{"apiVersion":"e2e.example.com/v1","kind":"Gadget","metadata":{"name":"keys"},"spec":{"free":${free}}}`;
    expect((await post(gadgets, { text })).status).toBe(201);
    expect((await server.workspace.must({ path: `${gadgets}/keys` })).text).toContain(`"__proto__":{"polluted":true}`);
    const merged = await server.workspace.must({
      method: 'PATCH',
      path: `${gadgets}/keys`,
      headers: mergePatch,
      text: '{"spec":{"free":{"__proto__":{"more":1}}}}',
    });
    expect(merged.text).toMatch(/"__proto__":\{"more":1,"polluted":true\}|"__proto__":\{"polluted":true,"more":1\}/);
    // Objects of other users inherit nothing.
    const other = await post(gadgets, { body: gadget('clean', { free: {} }) });
    expect([other.status, other.text.includes('polluted')]).toEqual([201, false]);
  });

  test('are unknown fields where the schema has none of them', async () => {
    const answer = await post(`${configMaps}?fieldValidation=Strict`, {
      text: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"no","__proto__":{"name":"yes"}},"__proto__":{"data":{}},"constructor":1}',
    });
    expect(status(answer)).toEqual([
      400,
      'BadRequest',
      expect.stringMatching(
        /unknown field "metadata.__proto__", unknown field "__proto__", unknown field "constructor"/,
      ),
    ]);
  });

  test('as labels and annotations obey the rules of qualified names', async () => {
    const labels = '{"constructor":"a","toString":"b","hasOwnProperty":"c"}';
    const good = await post(configMaps, {
      text: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"labels","labels":${labels},"annotations":${labels}}}`,
    });
    expect([good.status, (good.json['metadata'] as { labels: unknown }).labels]).toEqual([201, JSON.parse(labels)]);
    for (const [selector, found] of [
      ['constructor=a', 1],
      ['toString', 1],
      ['valueOf', 0],
      ['!hasOwnProperty,toString', 0],
      ['constructor in (a,b)', 1],
    ] as const) {
      const list = await server.workspace.must({ path: `${configMaps}?labelSelector=${encodeURIComponent(selector)}` });
      expect([selector, (list.json['items'] as unknown[]).length]).toEqual([selector, found]);
    }
    for (const place of ['labels', 'annotations']) {
      const bad = await post(configMaps, {
        text: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad","${place}":{"__proto__":"x"}}}`,
      });
      expect([bad.status, bad.json['reason'], bad.text.includes('__proto__')]).toEqual([422, 'Invalid', true]);
    }
  });

  test('as names of objects, namespaces, resources, versions and parameters', async () => {
    expect((await post(configMaps, { body: configMap('constructor', { a: 'b' }) })).status).toBe(201);
    expect(await dataOf('constructor')).toEqual({ a: 'b' });
    for (const path of [
      '/api/v1/namespaces/constructor/configmaps/toString',
      `${configMaps}/hasownproperty`,
      '/api/v1/constructor',
      '/apis/constructor/prototype/toString',
      '/apis/__proto__/v1',
      '/__proto__',
      `${gadgets}/valueof`,
    ]) {
      expect([path, (await server.workspace.send({ path })).status]).toEqual([path, 404]);
    }
    expect(
      (await server.workspace.send({ path: `${configMaps}?__proto__=1&constructor=2&fieldSelector=__proto__%3Dx` }))
        .status,
    ).toBe(400);
  });
});

describe('numbers', () => {
  test('integers beyond 2^53 are kept exactly', async () => {
    const text =
      '{"apiVersion":"e2e.example.com/v1","kind":"Gadget","metadata":{"name":"big"},"spec":{"big":9223372036854775807,"free":{"a":9007199254740993,"b":-9223372036854775808,"c":[1234567890123456789],"f":0.1,"e":1e3}}}';
    expect((await post(gadgets, { text })).status).toBe(201);
    const expectExact = (answer: Response): void => {
      for (const part of [
        '"big":9223372036854775807',
        '"a":9007199254740993',
        '"b":-9223372036854775808',
        '"c":[1234567890123456789]',
      ])
        expect(answer.text).toContain(part);
    };
    expectExact(await server.workspace.must({ path: `${gadgets}/big` }));
    expectExact(await server.workspace.must({ path: gadgets }));
    expectExact(
      await server.workspace.must({
        method: 'PATCH',
        path: `${gadgets}/big`,
        headers: mergePatch,
        text: '{"spec":{"color":"blue"}}',
      }),
    );
    expectExact(
      await server.workspace.must({
        method: 'PATCH',
        path: `${gadgets}/big`,
        headers: jsonPatch,
        text: '[{"op":"test","path":"/spec/free/a","value":9007199254740993},{"op":"add","path":"/spec/replicas","value":1}]',
      }),
    );
    const neighbour = await server.workspace.send({
      method: 'PATCH',
      path: `${gadgets}/big`,
      headers: jsonPatch,
      text: '[{"op":"test","path":"/spec/free/a","value":9007199254740992}]',
    });
    expect(neighbour.status).toBe(422);
    const inYaml = await server.workspace.must({ path: `${gadgets}/big`, headers: { accept: 'application/yaml' } });
    for (const part of ['big: 9223372036854775807', 'a: 9007199254740993']) expect(inYaml.text).toContain(part);
    const fromYaml = await post(gadgets, {
      headers: yaml,
      text: 'apiVersion: e2e.example.com/v1\nkind: Gadget\nmetadata: {name: yaml-big}\nspec: {big: 9223372036854775807}\n',
    });
    expect(fromYaml.text).toContain('"big":9223372036854775807');
  });

  test('what fits no integer is refused', async () => {
    for (const value of ['9223372036854775808', '1e400', '1.5', '1e30']) {
      const answer = await post(gadgets, {
        text: `{"apiVersion":"e2e.example.com/v1","kind":"Gadget","metadata":{"name":"too-big"},"spec":{"big":${value}}}`,
      });
      expect([value, answer.status >= 400 && answer.status < 500]).toEqual([value, true]);
    }
    expect(
      (
        await post(gadgets, {
          text: '{"apiVersion":"e2e.example.com/v1","kind":"Gadget","metadata":{"name":"int32"},"spec":{"replicas":2147483648}}',
        })
      ).status,
    ).toBe(422);
  });
});

describe('media types, methods and versions', () => {
  test('a body of unknown type, and an answer of an unsupported type', async () => {
    for (const type of [
      'text/plain',
      'application/xml',
      'application/x-yaml',
      'text/yaml',
      '*/*',
      'application/merge-patch+json',
    ]) {
      expect(status(await post(configMaps, { body: configMap('typed'), headers: { 'content-type': type } }))).toEqual([
        415,
        'UnsupportedMediaType',
        'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf',
      ]);
    }
    expect(status(await server.workspace.send({ path: gadgets, headers: { accept: 'text/html' } }))).toEqual([
      406,
      'NotAcceptable',
      'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf',
    ]);
    expect((await server.workspace.send({ path: configMaps, headers: { accept: 'image/png' } })).status).toBe(406);
    expect(
      (
        await server.workspace.send({
          method: 'PATCH',
          path: `${gadgets}/big`,
          headers: { 'content-type': 'application/strategic-merge-patch+json' },
          text: '{}',
        })
      ).status,
    ).toBe(415);
  });

  test('a method that a path does not offer', async () => {
    const notAllowed = [405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource'];
    for (const [method, path] of [
      ['POST', '/api/v1/configmaps'],
      ['PUT', configMaps],
      ['DELETE', '/api/v1/namespaces'],
      ['PATCH', configMaps],
      ['TRACE', configMaps],
      ['OPTIONS', configMaps],
      ['POST', '/api'],
    ] as const) {
      expect([
        path,
        ...status(
          await server.workspace.send({ method, path, ...(method === 'PUT' || method === 'POST' ? { body: {} } : {}) }),
        ),
      ]).toEqual([path, ...notAllowed]);
    }
    expect(status(await server.workspace.send({ method: 'OPTIONS', path: gadgets }))).toEqual([
      405,
      'MethodNotAllowed',
      expect.any(String),
    ]);
  });

  test('a stale resourceVersion', async () => {
    const first = await post(configMaps, { body: configMap('stale', { a: '1' }) });
    await server.workspace.must({
      method: 'PATCH',
      path: `${configMaps}/stale`,
      headers: mergePatch,
      body: { data: { a: '2' } },
    });
    const conflict = [
      409,
      'Conflict',
      'Operation cannot be fulfilled on configmaps "stale": the object has been modified; please apply your changes to the latest version and try again',
    ];
    expect(
      status(await server.workspace.send({ method: 'PUT', path: `${configMaps}/stale`, text: first.text })),
    ).toEqual(conflict);
    const { resourceVersion } = first.json['metadata'] as { resourceVersion: string };
    expect(
      status(
        await server.workspace.send({
          method: 'PATCH',
          path: `${configMaps}/stale`,
          headers: mergePatch,
          body: { metadata: { resourceVersion } },
        }),
      ),
    ).toEqual(conflict);
    expect(
      (
        await server.workspace.send({
          method: 'DELETE',
          path: `${configMaps}/stale`,
          body: { preconditions: { resourceVersion } },
        })
      ).status,
    ).toBe(409);
    for (const bad of ['-1', 'abc', '99999999999999999999']) {
      const answer = await server.workspace.send({ path: `${configMaps}?watch=1&resourceVersion=${bad}` });
      expect([answer.status, answer.json['message']]).toEqual([
        500,
        expect.stringContaining(`resourceVersion: Invalid value: "${bad}"`),
      ]);
    }
    expect(
      (
        await server.workspace.send({
          path: `${configMaps}?resourceVersion=${Number(resourceVersion) + 1_000_000}&resourceVersionMatch=NotOlderThan&timeoutSeconds=1`,
        })
      ).status,
    ).toBe(504);
    expect(await dataOf('stale')).toEqual({ a: '2' });
  });
});

describe('selectors and query parameters', () => {
  test.each([
    [
      'a label selector of 1 MB',
      () => `labelSelector=${encodeURIComponent(`a in (${Array(160_000).fill('value').join(',')})`)}`,
    ],
    [
      'a field selector of 1 MB',
      () => `fieldSelector=${encodeURIComponent(Array(50_000).fill('metadata.name!=x').join(','))}`,
    ],
    ['a hundred thousand parameters', () => Array(100_000).fill('a=b').join('&')],
    ['a continue token of 1 MB', () => `continue=${'A'.repeat(1_000_000)}`],
  ])('%s is refused and delays no other request', async (_name, query) => {
    const answer = await server.whileServing(() =>
      server.workspace.send({ path: `${configMaps}?${query()}` }).catch((error: Error) => error),
    );
    // Node's client may see the connection close before it has sent everything.
    if (answer instanceof Error) expect(answer.message).toMatch(/EPIPE|ECONNRESET|socket hang up/);
    else expect([400, 414, 431]).toContain(answer.status);
  });

  test('selectors just below the limit of a request line', async () => {
    const values = Array.from({ length: 5_000 }, (_, i) => `v${i}`);
    const label = await server.whileServing(() =>
      server.workspace.send({
        path: `${configMaps}?labelSelector=${encodeURIComponent(`constructor in (${values.join(',')})`)}`,
      }),
    );
    expect([label.status, label.json['items']]).toEqual([200, []]);
    const nested = await server.whileServing(() =>
      server.workspace.send({ path: `${configMaps}?labelSelector=${encodeURIComponent('('.repeat(20_000))}` }),
    );
    expect(nested.status).toBe(400);
    const commas = await server.whileServing(() =>
      server.workspace.send({ path: `${configMaps}?labelSelector=${encodeURIComponent(','.repeat(20_000))}` }),
    );
    expect(commas.status).toBe(400);
  });

  test('parameters that are repeated, cut or encoded twice mean one thing only', async () => {
    for (const query of [
      'limit=abc',
      'limit=-1&limit=5',
      'timeout=x',
      'resourceVersionMatch=Exact',
      'sendInitialEvents=true',
      'fieldSelector=metadata.name%253Dx',
      'labelSelector=%00',
      'labelSelector=a%20b',
    ]) {
      expect([
        query,
        [400, 422].includes((await server.workspace.send({ path: `${configMaps}?${query}` })).status) ||
          query.startsWith('limit=-1'),
      ]).toEqual([query, true]);
    }
    // The first of two values counts, for the judge and for the handler alike.
    const both = await server.workspace.must({
      path: `${configMaps}?fieldSelector=metadata.name%3Dconstructor&fieldSelector=metadata.name%3Dkeys`,
    });
    expect((both.json['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)).toEqual([
      'constructor',
    ]);
  });
});
