import { describe, expect, test } from '@jest/globals';
import { inner, readMessage, texts, type Message } from '../../test/wire-message.ts';
import { encodeDefinition, encodeDocument, encodePath } from './protobuf-document.ts';
import { ProtobufWriter } from './protobuf-writer.ts';

describe('a schema', () => {
  const named = inner(
    readMessage(
      encodeDefinition('v1.Widget', {
        type: 'object',
        description: 'größer',
        required: ['spec', ''],
        properties: {
          spec: { $ref: '#/definitions/Spec' },
          n: { type: 'integer', format: 'int32', minimum: 0.5, maximum: 10, maxLength: 300 },
          e: { type: 'string', enum: ['a', 'b'] },
          m: { type: 'object', additionalProperties: { type: 'string' } },
          l: { type: 'array', items: { type: 'boolean' }, 'x-kubernetes-list-type': 'set' },
        },
        'x-kubernetes-group-version-kind': [{ group: 'g', version: 'v1', kind: 'Widget' }],
      }),
    ),
    1,
  );
  const schema = inner(named, 2);
  const properties: Record<string, Message> = Object.fromEntries(
    (inner(schema, 25)[1] ?? []).map((pair) => [
      String(texts(readMessage(pair as Buffer), 1)[0]),
      inner(readMessage(pair as Buffer), 2),
    ]),
  );

  test('encodes name, type, strings and required fields', () => {
    expect(texts(named, 1)).toEqual(['v1.Widget']);
    expect(texts(schema, 4)).toEqual(['größer']);
    expect(texts(schema, 19)).toEqual(['spec', '']);
    expect(texts(inner(schema, 22), 1)).toEqual(['object']);
  });

  test('encodes properties with references, bounds, values, maps and lists', () => {
    expect(texts(properties['spec'] as Message, 1)).toEqual(['#/definitions/Spec']);
    expect(properties['n']).toMatchObject({ 7: [10], 9: [0.5], 11: [300] });
    expect((properties['e']?.[20] ?? []).map((item) => texts(readMessage(item as Buffer), 2)[0])).toEqual([
      '"a"',
      '"b"',
    ]);
    expect(texts(inner(properties['m'] as Message, 21, 1, 22), 1)).toEqual(['string']);
    expect(texts(inner(properties['l'] as Message, 23, 1, 22), 1)).toEqual(['boolean']);
  });

  test('encodes extensions as YAML', () => {
    const extension = inner(schema, 31);
    expect(texts(extension, 1)).toEqual(['x-kubernetes-group-version-kind']);
    expect(JSON.parse(texts(inner(extension, 2), 2)[0] as string)).toEqual([
      { group: 'g', version: 'v1', kind: 'Widget' },
    ]);
  });
});

test('a path contains operations, parameters and responses', () => {
  const path = encodePath('/x/{name}', {
    patch: {
      operationId: 'patchX',
      consumes: ['a', 'b'],
      parameters: [
        { in: 'query', name: 'fieldValidation', type: 'string' },
        { in: 'path', name: 'name', type: 'string', required: true },
        { in: 'body', name: 'body', required: true, schema: { $ref: '#/definitions/Patch' } },
      ],
      responses: { 200: { description: 'OK', schema: { $ref: '#/definitions/X' } } },
      'x-kubernetes-action': 'patch',
    },
  });
  const named = inner(readMessage(path), 2);
  expect(texts(named, 1)).toEqual(['/x/{name}']);
  const patch = inner(named, 2, 8);
  expect([texts(patch, 5), texts(patch, 7)]).toEqual([['patchX'], ['a', 'b']]);
  const parameters = (patch[8] ?? []).map((item) => inner(readMessage(item as Buffer), 1));
  expect(texts(inner(parameters[0] as Message, 2, 3), 4)).toEqual(['fieldValidation']);
  expect(texts(inner(parameters[0] as Message, 2, 3), 6)).toEqual(['string']);
  expect(inner(parameters[1] as Message, 2, 4)).toMatchObject({ 1: [1] });
  expect(texts(inner(parameters[2] as Message, 1, 5), 1)).toEqual(['#/definitions/Patch']);
  const response = inner(patch, 9, 1);
  expect(texts(response, 1)).toEqual(['200']);
  expect(texts(inner(response, 2, 1, 2, 1), 1)).toEqual(['#/definitions/X']);
});

test('a document contains version, title, paths and definitions', () => {
  const document = readMessage(
    encodeDocument(
      { info: { title: 'T', version: 'v1' } },
      [encodePath('/a', {}), encodePath('/b', {})],
      [encodeDefinition('A', {})],
    ),
  );
  expect(texts(document, 1)).toEqual(['2.0']);
  expect(texts(inner(document, 2), 2)).toEqual(['v1']);
  expect((inner(document, 8)[2] ?? []).map((item) => texts(readMessage(item as Buffer), 1)[0])).toEqual(['/a', '/b']);
  expect((inner(document, 9)[1] ?? []).map((item) => texts(readMessage(item as Buffer), 1)[0])).toEqual(['A']);
});

test('a message longer than the initial buffer is complete', () => {
  const writer = new ProtobufWriter();
  const long = 'x'.repeat(100_000);
  writer.message(1, () => {
    writer.text(1, long);
    writer.varint(2, 5_000_000_000);
  });
  const message = inner(readMessage(writer.finish()), 1);
  expect([texts(message, 1)[0]?.length, message[2]]).toEqual([100_000, [5_000_000_000]]);
});
