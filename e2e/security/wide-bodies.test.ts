import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { configMap, gadget } from '../fixtures/gadgets.ts';
import { members, times } from '../fixtures/hostile-steps.ts';
import { HostileServer } from '../harness/hostile-server.ts';
import type { Response, SentRequest } from '../harness/requests.ts';

/** A request body has at most 210,000 values, and 65,536 members of one object, whatever the format and the request. */

let server: HostileServer;
beforeAll(async () => {
  server = await HostileServer.start();
  await server.workspace.must({ method: 'POST', path: configMaps, body: configMap('small', { a: 'b' }) });
  await server.workspace.must({ method: 'POST', path: gadgets, body: gadget('small', { free: {} }) });
}, 240_000);
afterAll(() => server?.[Symbol.asyncDispose]());
afterEach(() => server.mustBeWell());

const configMaps = '/api/v1/namespaces/e2e/configmaps';
const gadgets = '/apis/e2e.example.com/v1/namespaces/e2e/gadgets';
const protobuf = { 'content-type': 'application/vnd.kubernetes.protobuf' };
const type = (name: string): Record<string, string> => ({ 'content-type': `application/${name}` });
const tooMany = 'an object has more than 65536 members';

const most = members(65_536) as Record<string, string>;
const wide = members(65_537) as Record<string, string>;
/** Not JSON, so that the YAML library reads it. */
const wideYaml = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: wide}\ndata:\n${times(65_537, (index) => `  m${index}: ''\n`).join('')}`;
const managed = {
  manager: 'm',
  operation: 'Update',
  apiVersion: 'v1',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:data': Object.fromEntries(times(65_537, (index) => [`f:m${index}`, {}])) },
};
const merge = { data: wide };

const send = (request: SentRequest): Promise<Response> => server.whileServing(() => server.workspace.send(request));
const unrecognized = 'the object provided is unrecognized (must be of type';
const unreadable = `couldn't get version/kind; json parse error: ${tooMany}`;

describe('an object of 65,537 members is refused with 400', () => {
  test.each<[string, Omit<SentRequest, 'path'> & { readonly path?: string }, string]>([
    ['JSON', { body: configMap('wide', wide) }, `${unrecognized} ConfigMap): ${unreadable} ({"apiVersion"`],
    [
      'JSON of a custom resource',
      { path: gadgets, body: gadget('wide', { free: wide }) },
      `${unrecognized} Gadget): ${unreadable}`,
    ],
    [
      'JSON without field validation',
      { path: `${gadgets}?fieldValidation=Ignore`, body: gadget('wide', { free: wide }) },
      `${unrecognized} Gadget): ${unreadable}`,
    ],
    [
      'JSON with a number beyond float64 before it',
      {
        path: gadgets,
        text: JSON.stringify(gadget('wide', { free: { a: 0, ...wide } })).replace('"a":0', '"a":1e400'),
      },
      unreadable,
    ],
    [
      'JSON in YAML',
      { headers: type('yaml'), text: JSON.stringify(configMap('wide', wide)) },
      `${unrecognized} ConfigMap): yaml: ${tooMany}`,
    ],
    ['YAML', { headers: type('yaml'), text: wideYaml }, `${unrecognized} ConfigMap): yaml: ${tooMany}`],
    [
      'protobuf',
      { headers: protobuf, body: configMap('wide', wide), protobuf: true },
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: proto: a map has more than 65536 entries',
    ],
    [
      'protobuf, labels in the nested message',
      { headers: protobuf, body: configMap('wide', {}, { labels: wide }), protobuf: true },
      'proto: a map has more than 65536 entries',
    ],
    [
      'JSON in protobuf',
      { headers: protobuf, body: configMap('wide', {}, { managedFields: [managed] }), protobuf: true },
      `ConfigMap in version "v1" cannot be handled as a ConfigMap: ${tooMany}`,
    ],
    ['PUT', { method: 'PUT', path: `${configMaps}/small`, body: configMap('small', wide) }, unreadable],
    [
      'a merge patch',
      { method: 'PATCH', path: `${configMaps}/small`, headers: type('merge-patch+json'), body: merge },
      `error decoding patch: ${tooMany}`,
    ],
    [
      'a merge patch without field validation',
      {
        method: 'PATCH',
        path: `${configMaps}/small?fieldValidation=Ignore`,
        headers: type('merge-patch+json'),
        body: merge,
      },
      'Invalid JSON Patch',
    ],
    [
      'a JSON patch',
      {
        method: 'PATCH',
        path: `${configMaps}/small`,
        headers: type('json-patch+json'),
        body: [{ op: 'add', path: '/data', value: wide }],
      },
      `error decoding patch: ${tooMany}`,
    ],
    [
      'a strategic merge patch',
      { method: 'PATCH', path: `${configMaps}/small`, headers: type('strategic-merge-patch+json'), body: merge },
      tooMany,
    ],
    [
      'an apply',
      {
        method: 'PATCH',
        path: `${configMaps}/small?fieldManager=m`,
        headers: type('apply-patch+yaml'),
        body: configMap('small', wide),
      },
      `error decoding YAML: error converting YAML to JSON: yaml: ${tooMany}`,
    ],
    [
      'DeleteOptions',
      { method: 'DELETE', path: `${configMaps}/small`, body: { kind: 'DeleteOptions', apiVersion: 'v1', ...wide } },
      unreadable,
    ],
    [
      'a review',
      {
        path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          spec: { user: 'u', extra: Object.fromEntries(Object.keys(wide).map((key) => [key, []])) },
        },
      },
      `${unrecognized} SubjectAccessReview): ${unreadable}`,
    ],
    [
      'a token request',
      {
        path: '/api/v1/namespaces/e2e/serviceaccounts/default/token',
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: wide },
      },
      `${unrecognized} TokenRequest): ${unreadable}`,
    ],
  ])('%s', async (_, { method = 'POST', path = configMaps, ...rest }, message) => {
    const answer = await send({ method, path, ...rest });
    expect([answer.status, answer.json['reason'], answer.json['message']]).toEqual([
      400,
      'BadRequest',
      expect.stringContaining(message),
    ]);
  });

  test('one of 65,536 is accepted, and the same name twice counts twice', async () => {
    expect((await send({ method: 'POST', path: configMaps, body: configMap('most', most) })).status).toBe(201);
    const text = JSON.stringify(configMap('twice', most)).replace('"m0":""', '"m0":"","m0":""');
    expect((await send({ method: 'POST', path: configMaps, text })).status).toBe(400);
  });

  test.each([
    ['merge patch', 'merge-patch+json', { data: { more: '' } }],
    ['strategic merge patch', 'strategic-merge-patch+json', { data: { more: '' } }],
    ['JSON patch', 'json-patch+json', [{ op: 'add', path: '/data/more', value: '' }]],
    ['apply', 'apply-patch+yaml', { apiVersion: 'v1', kind: 'ConfigMap', data: { more: '' } }],
  ])('no %s makes an object wider', async (_kind, mediaType, body) => {
    const name = `full-${mediaType.split('-')[0]}`;
    const path = `${configMaps}/${name}`;
    await send({ method: 'POST', path: configMaps, body: configMap(name, most) });
    const answer = await send({ method: 'PATCH', path: `${path}?fieldManager=me`, headers: type(mediaType), body });
    expect([answer.status, answer.json['message']]).toEqual([
      413,
      expect.stringContaining('an object would have more than 65536 members'),
    ]);
    // What was read can be written.
    const stored = (await server.workspace.must({ path })).json;
    expect(Object.keys(stored['data'] as object)).toHaveLength(65_536);
    expect((await send({ method: 'PUT', path, body: stored })).status).toBe(200);
    await server.workspace.must({ method: 'DELETE', path });
  });
});

describe('a body of more than 210,000 values is refused with 400', () => {
  const list = (count: number): unknown[] => times(count, () => 0);
  const tooManyValues = 'more than 210000 values';
  test.each<[string, SentRequest, string]>([
    [
      'JSON',
      { method: 'POST', path: gadgets, body: gadget('many', { free: { list: list(210_000) } }) },
      unreadable('Gadget'),
    ],
    [
      'JSON of empty objects',
      { method: 'POST', path: gadgets, body: gadget('many', { free: { list: times(210_000, () => ({})) } }) },
      unreadable('Gadget'),
    ],
    [
      'JSON in YAML',
      {
        method: 'POST',
        path: gadgets,
        headers: type('yaml'),
        text: JSON.stringify(gadget('many', { free: { list: list(210_000) } })),
      },
      `${unrecognized} Gadget): yaml: ${tooManyValues}`,
    ],
    [
      'protobuf',
      {
        method: 'POST',
        path: configMaps,
        headers: protobuf,
        body: configMap('many', {}, { finalizers: times(210_000, () => 'x') }),
        protobuf: true,
      },
      `cannot be handled as a ConfigMap: proto: ${tooManyValues}`,
    ],
    [
      'a merge patch',
      {
        method: 'PATCH',
        path: `${gadgets}/small`,
        headers: type('merge-patch+json'),
        body: { spec: { free: { list: list(210_000) } } },
      },
      `error decoding patch: ${tooManyValues}`,
    ],
  ])('%s', async (_, request, message) => {
    const answer = await send(request);
    expect([answer.status, answer.json['message']]).toEqual([400, expect.stringContaining(message)]);
  });

  function unreadable(kind: string): string {
    return `${unrecognized} ${kind}): couldn't get version/kind; json parse error: ${tooManyValues}`;
  }

  test('no patch makes more of them than a client can write again', async () => {
    const path = `${gadgets}/patched`;
    const half = list(150_000);
    await send({ method: 'POST', path: gadgets, body: gadget('patched', { free: { list: half } }) });
    const answer = await send({
      method: 'PATCH',
      path,
      headers: type('merge-patch+json'),
      body: { spec: { free: { more: half } } },
    });
    expect([answer.status, answer.json['reason']]).toEqual([413, 'RequestEntityTooLarge']);
    const stored = (await server.workspace.must({ path })).json;
    expect((await send({ method: 'PUT', path, body: stored })).status).toBe(200);
    await server.workspace.must({ method: 'DELETE', path });
  });
});
