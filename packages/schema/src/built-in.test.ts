import { describe, expect, test } from '@jest/globals';
import { deepCopy, isStatusError, type JsonObject } from '@multiplane/apimachinery';
import { createSchemaCompiler } from './compile-schema.ts';

const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
const components: Record<string, JsonObject> = {
  'x.v1.Thing': {
    type: 'object',
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { allOf: [reference('meta.v1.ObjectMeta')], default: {} },
      spec: { allOf: [reference('x.v1.ThingSpec')], default: {} },
    },
  },
  'meta.v1.ObjectMeta': {
    type: 'object',
    properties: { name: { type: 'string' }, labels: { type: 'object', additionalProperties: { type: 'string' } } },
  },
  'x.v1.ThingSpec': {
    type: 'object',
    properties: {
      replicas: { type: 'integer', format: 'int32' },
      name: { type: 'string', default: '' },
      on: { type: 'boolean' },
      data: { type: 'object', additionalProperties: { type: 'string', format: 'byte' } },
      ports: {
        type: 'array',
        items: { allOf: [reference('x.v1.Port')], default: {} },
        'x-kubernetes-patch-strategy': 'merge,retainKeys',
        'x-kubernetes-patch-merge-key': 'port',
      },
      since: { allOf: [reference('meta.v1.Time')], default: {} },
      limits: { type: 'object', additionalProperties: reference('resource.Quantity') },
      target: { type: 'string', format: 'int-or-string' },
      raw: reference('runtime.RawExtension'),
      child: reference('x.v1.ThingSpec'),
    },
  },
  'x.v1.Port': { type: 'object', properties: { port: { type: 'integer', format: 'int32' }, name: { type: 'string' } } },
  'meta.v1.Time': { type: 'string', format: 'date-time' },
  'resource.Quantity': { oneOf: [{ type: 'string' }, { type: 'number' }] },
  'runtime.RawExtension': { type: 'object' },
};
const resolve = (text: string): JsonObject | undefined => components[text.replace('#/components/schemas/', '')];
const compile = createSchemaCompiler({ origin: 'built-in', resolve });
const schema = compile(components['x.v1.Thing'] as JsonObject);
const thing = (spec: JsonObject): JsonObject => ({ apiVersion: 'x/v1', kind: 'Thing', metadata: { name: 'a' }, spec });

const quantityMessage = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

describe('typed decoding', () => {
  const decode = (spec: unknown): string => {
    const outcomeOf = (decoding: (object: JsonObject) => unknown): readonly [string, JsonObject] => {
      const object = thing(deepCopy(spec as JsonObject));
      try {
        decoding(object);
        return ['', object];
      } catch (error) {
        expect(isStatusError(error, 'BadRequest')).toBe(true);
        return [(error as Error).message, object];
      }
    };
    const outcome = outcomeOf((object) => schema.decodeTyped(object));
    return outcome[0];
  };
  test.each<[unknown, string]>([
    ['x', 'json: cannot unmarshal string into Go struct field Thing.spec of type v1.ThingSpec'],
    [{ name: 5 }, 'json: cannot unmarshal number into Go struct field ThingSpec.spec.name of type string'],
    [{ replicas: 'x' }, 'json: cannot unmarshal string into Go struct field ThingSpec.spec.replicas of type int32'],
    [{ replicas: 1.5 }, 'json: cannot unmarshal number 1.5 into Go struct field ThingSpec.spec.replicas of type int32'],
    [
      { replicas: 3000000000 },
      'json: cannot unmarshal number 3000000000 into Go struct field ThingSpec.spec.replicas of type int32',
    ],
    [{ on: 'true' }, 'json: cannot unmarshal string into Go struct field ThingSpec.spec.on of type bool'],
    [{ ports: {} }, 'json: cannot unmarshal object into Go struct field ThingSpec.spec.ports of type []v1.Port'],
    [
      { ports: [{ port: true }] },
      'json: cannot unmarshal bool into Go struct field Port.spec.ports.port of type int32',
    ],
    [{ limits: { cpu: 'x' } }, quantityMessage],
    [{ limits: { cpu: [] } }, quantityMessage],
    // A value that its type decodes itself ends decoding; other misfits wait for the end.
    [{ name: 5, limits: { cpu: 'x' } }, quantityMessage],
    [{ name: 5, on: 'x' }, 'json: cannot unmarshal number into Go struct field ThingSpec.spec.name of type string'],
    [{ data: { a: '!' } }, 'illegal base64 data at input byte 0'],
    [{ data: { a: 'YQ=' } }, 'illegal base64 data at input byte 3'],
    [{ data: { a: 'YQ==' } }, ''],
    [{ since: 'today' }, 'parsing time "today" as "2006-01-02T15:04:05Z07:00": cannot parse "today" as "2006"'],
    [{ target: 5 }, ''],
    [{ target: 'http' }, ''],
    [
      { target: [] },
      'json: cannot unmarshal array into Go struct field ThingSpec.spec.target of type intstr.IntOrString',
    ],
    [{ raw: { any: [1] } }, ''],
    [
      { child: { child: { name: 1 } } },
      'json: cannot unmarshal number into Go struct field ThingSpec.spec.child.child.name of type string',
    ],
  ])('%j', (spec, expected) => expect(decode(spec)).toBe(expected));

  test('null is absence; items and values of maps become zero', () => {
    const object = thing({
      name: null,
      replicas: null,
      ports: [null],
      data: { a: null },
      limits: { cpu: 1, memory: '1Gi' },
    });
    schema.decodeTyped(object);
    expect(object['spec']).toEqual({ ports: [{}], data: { a: '' }, limits: { cpu: '1', memory: '1Gi' } });
  });
});

test('unknown fields are pruned with their case, free objects are left alone', () => {
  const object = thing({
    name: 'a',
    Name: 'b',
    raw: { x: { y: 1 } },
    ports: [{ port: 1, nope: 2 }],
    child: { nope: 1 },
  });
  expect(schema.prune(object).unknownFields).toEqual(['spec.Name', 'spec.child.nope', 'spec.ports[0].nope']);
  expect(object['spec']).toEqual({ name: 'a', raw: { x: { y: 1 } }, ports: [{ port: 1 }], child: {} });
});

test('defaults fit the type they stand at', () => {
  const object = thing({ child: {} });
  delete object['metadata'];
  schema.applyDefaults(object);
  expect(object).toEqual({ apiVersion: 'x/v1', kind: 'Thing', spec: { name: '', child: { name: '' } } });
});

test('values are the business of the kind', () => {
  expect(schema.validate(thing({ name: 5 }))).toEqual([]);
});

test('patch rules are found by field, through lists and recursion', () => {
  const spec = schema.patchMeta.field('spec');
  const ports = spec?.field('child')?.field('ports');
  expect(ports?.strategies).toEqual(['merge', 'retainKeys']);
  expect(ports?.mergeKey).toBe('port');
  expect(ports?.field('name')?.strategies).toEqual([]);
  expect(ports?.field('none')).toBeUndefined();
  expect(spec?.field('data')?.field('any key')?.mergeKey).toBeUndefined();
});

test('a reference to nothing is an error of the document', () => {
  const schema = compile({ type: 'object', properties: { a: reference('none') } });
  expect(() => schema.prepare()).toThrow('#/components/schemas/none');
});
