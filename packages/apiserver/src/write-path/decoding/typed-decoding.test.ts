import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { definitionOf } from '../../../test/definitions.ts';
import { Pipeline } from '../../../test/pipeline.ts';

/** What Go's decoder makes of texts whose parsed value does not tell everything: repeated members and literals of numbers. */

let pipeline: Pipeline;
beforeAll(async () => {
  pipeline = await Pipeline.open();
});
afterAll(() => pipeline.close());

const maps = '/api/v1/namespaces/default/configmaps';
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const hooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const limits = '/api/v1/namespaces/default/limitranges';
const json = { 'content-type': 'application/json' };

const cannotBe = (kind: string, why: string): string =>
  `${kind} in version "v1" cannot be handled as a ${kind}: json: cannot unmarshal ${why}`;

test.each([
  ['a member whose name repeats', maps, '{"data":{"a":1,"a":"x"}}', 'string', 'ConfigMap'],
  ['a field that repeats', maps, '{"data":7,"data":{}}', 'map[string]string', 'ConfigMap'],
])('the first value of %s has the wrong type', async (_, path, body, type, kind) => {
  for (const level of ['Ignore', 'Strict']) {
    const answer = await pipeline.ask('POST', `${path}?fieldValidation=${level}`, body, json);
    expect(answer.body['message']).toBe(cannotBe(kind, `number into Go struct field ConfigMap.data of type ${type}`));
  }
});

test.each(['1.0', '1e2', '1e400', '9223372036854775808', '1.5'])('an integer is not written %s', async (literal) => {
  const body = `{"metadata":{"generation":${literal},"name":"x"}}`;
  const answer = await pipeline.ask('POST', maps, body, json);
  expect(answer.body['message']).toBe(
    cannotBe('ConfigMap', `number ${literal} into Go struct field ObjectMeta.metadata.generation of type int64`),
  );
  const lease = await pipeline.ask('POST', leases, `{"spec":{"leaseDurationSeconds":${literal}}}`, json);
  expect(lease.body['message']).toBe(
    cannotBe('Lease', `number ${literal} into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32`),
  );
});

test('a number of any form is no text, and is not read where no field is', async () => {
  const answer = await pipeline.ask('POST', maps, '{"data":{"a":1.5}}', json);
  expect(answer.body['message']).toBe(
    cannotBe('ConfigMap', 'number into Go struct field ConfigMap.data of type string'),
  );
  const unknown = await pipeline.ask('POST', maps, '{"metadata":{"name":"big"},"x":1e400}', json);
  expect(unknown.status).toBe(201);
});

test('a quantity keeps the literal of its number', async () => {
  const body = '{"metadata":{"name":"q"},"spec":{"limits":[{"type":"Container","max":{"cpu":1e3}}]}}';
  const answer = await pipeline.ask('POST', limits, body, json);
  expect(answer.text).toContain('"max":{"cpu":"1e3"}');
});

test('members with the same name are merged as into one struct', async () => {
  const body = '{"metadata":{"name":"two"},"metadata":{"labels":{"a":"1"}},"data":{"a":"1"},"data":{"b":"2"}}';
  const answer = await pipeline.ask('POST', maps, body, json);
  expect([answer.status, answer.text]).toEqual([201, expect.stringContaining('"data":{"a":"1","b":"2"}')]);
  expect(answer.body['metadata']).toMatchObject({ name: 'two', labels: { a: '1' } });
  expect(answer.warnings).toEqual(['duplicate field "metadata"', 'duplicate field "data"']);
});

test('an unknown field that repeats is unknown only', async () => {
  const answer = await pipeline.ask('POST', maps, '{"metadata":{"name":"u"},"x":1,"x":2}', json);
  expect(answer.warnings).toEqual(['unknown field "x"']);
});

test('paths of fields name the structs that are embedded', async () => {
  const body = '{"webhooks":[{"rules":[{"operations":1,"apiGroups":1}]}]}';
  const answer = await pipeline.ask('POST', hooks, body.replace('"operations":1,', ''), json);
  expect(answer.body['message']).toBe(
    cannotBe(
      'ValidatingWebhookConfiguration',
      'number into Go struct field RuleWithOperations.webhooks.rules.Rule.apiGroups of type []string',
    ),
  );
});

test('bytes are a list of numbers, too', async () => {
  const answer = await pipeline.ask('POST', maps, '{"metadata":{"name":"by"},"binaryData":{"a":[1,2],"b":[]}}', json);
  expect(answer.text).toContain('"binaryData":{"a":"AQI=","b":""}');
});

test.each([
  [
    'a rule below items',
    { items: { 'x-kubernetes-validations': [{ rule: 1 }] } },
    'number',
    'items.x-kubernetes-validations.rule',
    'string',
  ],
  ['an earlier misfit outside', { pattern: 1, items: { minLength: 'x' } }, 'string', 'items.minLength', 'int64'],
  ['a name of a dependency', { dependencies: { a: [1] } }, 'number', 'dependencies', 'string'],
])('a schema in place of something else is decoded by itself: %s', async (_, schema, found, field, type) => {
  const answer = await pipeline.ask('POST', definitions, JSON.stringify(widgets(schema)), json);
  expect(answer.body['message']).toBe(
    cannotBe(
      'CustomResourceDefinition',
      `${found} into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.${field} of type ${type}`,
    ),
  );
});

test('a schema in place of something else may repeat fields, and a later one replaces it', async () => {
  const body = JSON.stringify(widgets({ mark: 1 })).replace(
    '"mark":1',
    '"type":"object","additionalProperties":{"minLength":1},"additionalProperties":{"type":"object","type":"string"}',
  );
  const answer = await pipeline.ask('POST', `${definitions}?fieldValidation=Strict&dryRun=All`, body, json);
  expect(answer.body['message']).toMatch(
    /strict decoding error: duplicate field "spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties\.a\.additionalProperties"$/,
  );
  const lenient = await pipeline.ask('POST', `${definitions}?fieldValidation=Ignore&dryRun=All`, body, json);
  expect(lenient.text).toContain('"additionalProperties":{"type":"string"}');
});

test('lists and maps of a schema that are sent empty are quoted', async () => {
  const empty = { type: 'object', properties: {}, required: [], 'x-kubernetes-validations': [], dependencies: {} };
  const body = widgets(empty, { status: {} }, { minProperties: 1 });
  const answer = await pipeline.ask('POST', definitions, JSON.stringify(body), json);
  const { message } = answer.body;
  expect(message).toContain('properties[a].dependencies: Forbidden: dependencies is not supported');
  expect(message).toContain('"Required":[]');
  expect(message).toContain('"XValidations":[]');
  expect(message).toContain('"Properties":{}');
});

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const widgets = (a: JsonObject, subresources: JsonObject = {}, root: JsonObject = {}): KubeObject =>
  definitionOf('example.com', 'v1', 'widgets', 'Widget', { type: 'object', properties: { a }, ...root }, subresources);
