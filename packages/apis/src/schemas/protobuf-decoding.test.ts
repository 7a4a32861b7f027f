import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { encodeJson, isJsonObject, WireWriter, type JsonObject } from '@multiplane/apimachinery';
import fc from 'fast-check';
import { component, componentNames } from './components.ts';
import { decodeProtobufObject } from './protobuf-decoding.ts';
import { encodeProtobufMessage, encodeProtobufObject, transcodeProtobufMessage } from './protobuf-encoding.ts';
import { protobufKinds, protobufMessages } from './protobuf-fields.data.ts';
import { fieldFactsOf } from './protobuf-messages.ts';
import { shapeOf } from './typed-shape.ts';

/** Every field of a kind set, as protobuf and as JSON. */
const golden = readFileSync(join(import.meta.dirname, 'testdata', 'protobuf-golden.txt'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => {
    const space = line.indexOf(' ');
    const object = JSON.parse(line.slice(space + 1)) as { apiVersion: string; kind: string };
    return {
      name: `${object.apiVersion}/${object.kind}`,
      body: Buffer.from(line.slice(0, space), 'base64'),
      object,
    };
  });

const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]);
const number = (field: number, value: number): Buffer => Buffer.from([...varint(field << 3), ...varint(value)]);
const bytes = (field: number, ...parts: readonly (Buffer | string)[]): Buffer => {
  const value = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  return Buffer.concat([Buffer.from([...varint((field << 3) | 2), ...varint(value.length)]), value]);
};
const body = (apiVersion: string, kind: string, ...parts: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.from('k8s\0'), bytes(1, bytes(1, apiVersion), bytes(2, kind)), bytes(2, ...parts)]);

test.each(golden)('$name with every field, there and back', ({ body, object }) => {
  expect(decodeProtobufObject(body)).toEqual(object);
  expect(encodeProtobufObject(object).toString('base64')).toBe(body.toString('base64'));
});

test.each(golden)('$name is transcoded from its JSON', ({ object }) => {
  const writer = new WireWriter(64);
  expect(transcodeProtobufMessage(writer, object.apiVersion, object.kind, Buffer.from(encodeJson(object)))).toBe(true);
  const expected = encodeProtobufMessage(object.apiVersion, object.kind, object);
  expect(writer.finish().toString('base64')).toBe(expected.toString('base64'));
});

describe('what kubectl sends', () => {
  test.each<[string, string, JsonObject]>([
    [
      'create configmap',
      'azhzAAoPCgJ2MRIJQ29uZmlnTWFwEh0KEwoCY20SABoBZCIAKgAyADgAQgASBgoBYRIBYhoAIgA=',
      { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'cm', namespace: 'd' }, data: { a: 'b' } },
    ],
    [
      'create secret',
      'azhzAAoMCgJ2MRIGU2VjcmV0Eh4KEgoBcxIAGgFkIgAqADIAOABCABIGCgFhEgFiGgAaACIA',
      { kind: 'Secret', apiVersion: 'v1', metadata: { name: 's', namespace: 'd' }, data: { a: 'Yg==' } },
    ],
    [
      'create namespace',
      'azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhkKEQoBbhIAGgAiACoAMgA4AEIAEgAaAgoAGgAiAA==',
      { kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'n' }, spec: {}, status: {} },
    ],
    [
      'create quota',
      'azhzAAoTCgJ2MRINUmVzb3VyY2VRdW90YRIlChIKAXESABoBZCIAKgAyADgAQgASDQoLCgRwb2RzEgMKATEaABoAIgA=',
      {
        kind: 'ResourceQuota',
        apiVersion: 'v1',
        metadata: { name: 'q', namespace: 'd' },
        spec: { hard: { pods: '1' } },
        status: {},
      },
    ],
    [
      'create token',
      'azhzAAooChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESDFRva2VuUmVxdWVzdBIdChAKABIAGgAiACoAMgA4AEIAEgMgkBwaBAoAEgAaACIA',
      {
        kind: 'TokenRequest',
        apiVersion: 'authentication.k8s.io/v1',
        metadata: {},
        spec: { expirationSeconds: 3600 },
        status: { token: '' },
      },
    ],
    [
      'create rolebinding',
      'azhzAAorChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgtSb2xlQmluZGluZxJnChMKAnJiEgAaAWQiACoAMgA4AEIAEioKBFVzZXISGXJiYWMuYXV0aG9yaXphdGlvbi5rOHMuaW8aBWFsaWNlIgAaJAoZcmJhYy5hdXRob3JpemF0aW9uLms4cy5pbxIEUm9sZRoBchoAIgA=',
      {
        kind: 'RoleBinding',
        apiVersion: 'rbac.authorization.k8s.io/v1',
        metadata: { name: 'rb', namespace: 'd' },
        subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'alice' }],
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
      },
    ],
  ])('%s', (_, base64, expected) => {
    expect(decodeProtobufObject(Buffer.from(base64, 'base64'))).toEqual(expected);
    expect(encodeProtobufObject(expected).toString('base64')).toBe(base64);
  });
});

describe('kinds without a golden vector', () => {
  const definition = (...schema: readonly Buffer[]): unknown => {
    const version = bytes(7, bytes(1, 'v1'), number(2, 1), number(3, 1), bytes(4, bytes(1, ...schema)));
    const object = decodeProtobufObject(
      body('apiextensions.k8s.io/v1', 'CustomResourceDefinition', bytes(2, bytes(1, 'g.example'), version)),
    );
    const { versions } = object['spec'] as { versions: [{ schema: { openAPIV3Schema: unknown } }] };
    return versions[0].schema.openAPIV3Schema;
  };

  test('schemas of a CustomResourceDefinition', () => {
    const double = Buffer.alloc(9, 0);
    double[0] = (9 << 3) | 1;
    double.writeDoubleLE(2.5, 1);
    expect(
      definition(
        bytes(2, 'https://example'),
        bytes(3, '#/x'),
        bytes(5, 'object'),
        bytes(8, bytes(1, '{"b":1,"a":[null]}')),
        double,
        bytes(20, bytes(1, '"x"')),
        bytes(20, bytes(1, '9007199254740993')),
        bytes(29, bytes(1, 'p'), bytes(2, bytes(5, 'string'))),
        number(38, 1),
        bytes(41, 'k'),
        bytes(42, 'map'),
      ),
    ).toEqual({
      $schema: 'https://example',
      $ref: '#/x',
      type: 'object',
      default: { b: 1, a: [null] },
      maximum: 2.5,
      enum: ['x', 9007199254740993n],
      properties: { p: { type: 'string' } },
      'x-kubernetes-preserve-unknown-fields': true,
      'x-kubernetes-list-map-keys': ['k'],
      'x-kubernetes-list-type': 'map',
    });
  });

  const text = bytes(5, 'string');
  test.each<[string, Buffer, JsonObject]>([
    ['one schema for items', bytes(24, bytes(1, text)), { items: { type: 'string' } }],
    ['schemas for items', bytes(24, bytes(2, text), bytes(2)), { items: [{ type: 'string' }, {}] }],
    [
      'a schema for more properties',
      bytes(30, number(1, 1), bytes(2, text)),
      { additionalProperties: { type: 'string' } },
    ],
    ['more properties', bytes(30, number(1, 1)), { additionalProperties: true }],
    ['no more properties', bytes(30, number(1, 0)), { additionalProperties: false }],
    [
      'dependencies',
      Buffer.concat([
        bytes(32, bytes(1, 'a'), bytes(2, bytes(2, 'b'))),
        bytes(32, bytes(1, 'c'), bytes(2, bytes(1, text))),
      ]),
      { dependencies: { a: ['b'], c: { type: 'string' } } },
    ],
  ])('%s', (_, field, expected) => {
    expect(definition(field)).toEqual(expected);
  });

  test('Scale', () => {
    expect(
      decodeProtobufObject(
        body(
          'autoscaling/v1',
          'Scale',
          bytes(1, bytes(1, 'n')),
          bytes(2, number(1, 3)),
          bytes(3, number(1, 0), bytes(2, 'a=b')),
        ),
      ),
    ).toEqual({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'n' },
      spec: { replicas: 3 },
      status: { replicas: 0, selector: 'a=b' },
    });
  });

  test('DeleteOptions: a zero that was sent is meant', () => {
    const object = decodeProtobufObject(
      body(
        'meta.k8s.io/v1',
        'DeleteOptions',
        number(1, 0),
        bytes(2, bytes(1, 'u')),
        number(3, 0),
        bytes(4, 'Foreground'),
      ),
    );
    expect(object).toEqual({
      kind: 'DeleteOptions',
      apiVersion: 'meta.k8s.io/v1',
      gracePeriodSeconds: 0,
      preconditions: { uid: 'u' },
      orphanDependents: false,
      propagationPolicy: 'Foreground',
    });
  });

  test('FlowSchema', () => {
    const object = decodeProtobufObject(
      body('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', bytes(2, bytes(1, bytes(1, 'p')), number(2, 7))),
    );
    expect(object['spec']).toEqual({ priorityLevelConfiguration: { name: 'p' }, matchingPrecedence: 7 });
  });
});

describe('times', () => {
  const lease = (...time: readonly Buffer[]): unknown =>
    (decodeProtobufObject(body('coordination.k8s.io/v1', 'Lease', bytes(2, bytes(4, ...time))))['spec'] as JsonObject)[
      'renewTime'
    ];

  test('microseconds', () => {
    expect(lease(number(1, 1_000_000_000), number(2, 1_999))).toBe('2001-09-09T01:46:40.000001Z');
    expect(lease(number(1, 1_000_000_000))).toBe('2001-09-09T01:46:40.000000Z');
  });

  test('no time is an absent field', () => {
    expect(lease()).toBeUndefined();
    expect(lease(Buffer.from('088092b8c398feffffff01', 'hex'))).toBeUndefined();
  });

  test('a year of five digits is refused', () => {
    expect(() => lease(Buffer.from('0880c0f0b1eb3b', 'hex'))).toThrow('year outside of range');
  });
});

test('a quantity without text is none at all', () => {
  const object = decodeProtobufObject(body('v1', 'ResourceQuota', bytes(2, bytes(1, bytes(1, 'pods'), bytes(2)))));
  expect(object['spec']).toEqual({ hard: { pods: '0' } });
});

test.each(['example.com/v1/Foo', 'v1/toString', 'v1/Binding'])('%s is not known in protobuf', (name) => {
  const slash = name.lastIndexOf('/');
  expect(() => decodeProtobufObject(body(name.slice(0, slash), name.slice(slash + 1), bytes(1)))).toThrow(
    'does not implement the protobuf marshalling interface',
  );
});

describe('the table of fields', () => {
  /** Messages that are no objects in JSON, and one field that is newer than the schemas. */
  const odd = /^(apiextensions\.v1\.JSON(SchemaPropsOr.*)?|meta\.v1\.(FieldsV1|Time|MicroTime)|resource\.Quantity)$/;
  const newer = new Set(['authentication.v1.TokenRequestSpec.attestations']);

  /** Read and written by code that knows them. */
  const ownCode = new Set([
    'autoscaling.v1.ScaleSpec',
    'meta.v1.DeleteOptions',
    'meta.v1.Status',
    'meta.v1.StatusDetails',
  ]);

  const propertiesOf = (message: string): ReadonlySet<string> | undefined => {
    const name = componentNames.find((each) => each.endsWith(`.${message}`));
    const properties = name === undefined ? undefined : component(name)?.['properties'];
    return properties !== undefined && isJsonObject(properties) ? new Set(Object.keys(properties)) : undefined;
  };
  const namesOf = (message: string): string[] =>
    (protobufMessages[message] as string).split(', ').flatMap((entry) => {
      const [, name, type] = entry.split(' ') as [string, string, string];
      return name === '.' ? namesOf(type) : name === undefined ? [] : [name];
    });

  test('names are those of the schemas, and none is missing', () => {
    for (const message of Object.keys(protobufMessages)) {
      const properties = odd.test(message) ? undefined : propertiesOf(message);
      if (properties === undefined) continue;
      const names = new Set(namesOf(message).filter((name) => !newer.has(`${message}.${name}`)));
      expect([message, [...names].sort()]).toEqual([
        message,
        [...properties].filter((name) => names.has(name) || (name !== 'kind' && name !== 'apiVersion')).sort(),
      ]);
    }
  });

  test('what JSON leaves out is what the schemas of built-in kinds leave out', () => {
    for (const name of componentNames) {
      const message = name.split('.').slice(-3).join('.');
      const shape = shapeOf(name);
      if (shape.type !== 'struct' || odd.test(message) || ownCode.has(message)) continue;
      for (const facts of fieldFactsOf(message)) {
        const field = shape.fields.get(facts.name);
        // Other tests cover structures and lists.
        if (
          field === undefined ||
          facts.shape !== 'single' ||
          !['text', 'number', 'boolean'].includes(field.shape().type)
        )
          continue;
        expect([message, facts.name, field.dropZero]).toEqual([message, facts.name, facts.omitted && !facts.pointer]);
      }
    }
  });

  test('every kind has a message', () => {
    for (const [kind, message] of Object.entries(protobufKinds)) {
      expect([kind, Object.hasOwn(protobufMessages, message)]).toEqual([kind, true]);
    }
  });
});

test('mutated objects are read or refused, and what is read can be written', () => {
  const mutation = fc.record({
    vector: fc.nat(golden.length - 1),
    cut: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    changes: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255)), { maxLength: 8 }),
  });
  fc.assert(
    fc.property(mutation, ({ vector, cut, changes }) => {
      const source = (golden[vector] as (typeof golden)[number]).body;
      const mutated = Buffer.from(cut === null ? source : source.subarray(0, Math.floor(cut * source.length)));
      for (const [place, value] of changes) {
        if (mutated.length > 4) mutated[4 + Math.floor(place * (mutated.length - 5))] = value;
      }
      let object: JsonObject;
      try {
        object = decodeProtobufObject(mutated);
      } catch (error) {
        expect((error as Error).name).toBe('ProtobufError');
        return;
      }
      expect(typeof encodeJson(object)).toBe('string');
      expect(decodeProtobufObject(encodeProtobufObject(object))['kind']).toBe(object['kind']);
    }),
    { numRuns: 5000 },
  );
});
