import { describe, expect, test } from '@jest/globals';
import { inner, readMessage, texts, type Message } from '../../test/wire-message.ts';
import { encodeDocumentV3, encodePathV3, encodeSchemaV3 } from './protobuf-document-v3.ts';

describe('a schema', () => {
  const named = inner(
    readMessage(
      encodeSchemaV3('v1.Widget', {
        type: 'object',
        description: 'größer',
        required: ['spec', ''],
        properties: {
          spec: { description: 'what', allOf: [{ $ref: '#/components/schemas/Spec' }], default: {} },
          other: { $ref: '#/components/schemas/Spec', description: 'described' },
          n: { type: 'integer', format: 'int32', minimum: 0.5, maximum: 10, nullable: true, default: 0 },
          e: { type: 'string', enum: ['a', 'b'], default: '' },
          f: { type: 'boolean', default: false },
          m: { type: 'object', additionalProperties: { type: 'string', maxLength: 300 } },
          l: { type: 'array', items: { not: { type: 'boolean' } }, 'x-kubernetes-list-type': 'set' },
        },
        'x-kubernetes-group-version-kind': [{ group: 'g', version: 'v1', kind: 'Widget' }],
      }),
    ),
    1,
  );
  const schema = inner(named, 2, 1);
  const properties: Record<string, Message> = Object.fromEntries(
    (inner(schema, 31)[1] ?? []).map((pair) => {
      const message = readMessage(pair as Buffer);
      return [String(texts(message, 1)[0]), inner(message, 2)];
    }),
  );
  const property = (name: string): Message => inner(properties[name] as Message, 1);

  test('encodes name, type, strings and required fields', () => {
    expect(texts(named, 1)).toEqual(['v1.Widget']);
    expect([texts(schema, 25), texts(schema, 34), texts(schema, 23)]).toEqual([['object'], ['größer'], ['spec', '']]);
  });

  test('encodes references, without siblings', () => {
    expect(texts(inner(properties['other'] as Message, 2), 1)).toEqual(['#/components/schemas/Spec']);
    expect(texts(inner(properties['other'] as Message, 2), 3)).toEqual(['described']);
    expect(texts(inner(property('spec'), 26, 2), 1)).toEqual(['#/components/schemas/Spec']);
  });

  test('encodes bounds, values, maps and lists', () => {
    expect(property('n')).toMatchObject({ 1: [1], 11: [10], 13: [0.5] });
    expect(texts(property('n'), 35)).toEqual(['int32']);
    expect((property('e')[24] ?? []).map((item) => texts(readMessage(item as Buffer), 2)[0])).toEqual(['"a"', '"b"']);
    expect(inner(property('m'), 32, 1, 1)).toMatchObject({ 15: [300] });
    expect(texts(inner(property('l'), 30, 1, 1, 29), 25)).toEqual(['boolean']);
  });

  test('encodes defaults, including zero values', () => {
    expect(inner(property('n'), 33)).toEqual({ 1: [0] });
    expect(inner(property('f'), 33)).toEqual({ 2: [0] });
    expect(texts(inner(property('e'), 33), 3)).toEqual(['']);
    expect(inner(property('spec'), 33)).toEqual({});
  });

  test('encodes extensions as YAML', () => {
    const extension = inner(schema, 36);
    expect(texts(extension, 1)).toEqual(['x-kubernetes-group-version-kind']);
    expect(JSON.parse(texts(inner(extension, 2), 2)[0] as string)).toEqual([
      { group: 'g', version: 'v1', kind: 'Widget' },
    ]);
  });
});

test('a path contains operations, parameters, body and responses', () => {
  const reference = { $ref: '#/components/schemas/X' };
  const path = encodePathV3('/x/{name}', {
    parameters: [{ in: 'path', name: 'name', required: true, schema: { type: 'string', uniqueItems: true } }],
    put: {
      operationId: 'replaceX',
      tags: ['x'],
      parameters: [{ in: 'query', name: 'dryRun', schema: { type: 'string' } }],
      requestBody: { required: true, content: { '*/*': { schema: reference } } },
      responses: { 200: { description: 'OK', content: { 'application/json': { schema: reference } } } },
      'x-kubernetes-action': 'put',
    },
  });
  const named = inner(readMessage(path), 1);
  expect(texts(named, 1)).toEqual(['/x/{name}']);
  const item = inner(named, 2);
  expect(texts(inner(item, 13, 1), 1)).toEqual(['name']);
  expect(inner(item, 13, 1)).toMatchObject({ 4: [1] });
  expect(inner(item, 13, 1, 10, 1)).toMatchObject({ 20: [1] });
  const put = inner(item, 5);
  expect([texts(put, 1), texts(put, 5), texts(inner(put, 6, 1), 1)]).toEqual([['x'], ['replaceX'], ['dryRun']]);
  expect(inner(put, 7, 1)).toMatchObject({ 3: [1] });
  expect(texts(inner(put, 7, 1, 2, 1), 1)).toEqual(['*/*']);
  expect(texts(inner(put, 7, 1, 2, 1, 2, 1, 2), 1)).toEqual(['#/components/schemas/X']);
  const response = inner(put, 8, 2);
  expect(texts(response, 1)).toEqual(['200']);
  expect(texts(inner(response, 2, 1, 3, 1), 1)).toEqual(['application/json']);
  expect(texts(inner(put, 13), 1)).toEqual(['x-kubernetes-action']);
});

test('a document contains version, title, paths, schemas and security schemes', () => {
  const document = readMessage(
    encodeDocumentV3(
      {
        openapi: '3.0.0',
        info: { title: 'T', version: 'v1' },
        components: { securitySchemes: { BearerToken: { type: 'apiKey', name: 'authorization', in: 'header' } } },
      },
      [encodePathV3('/a', {}), encodePathV3('/b', {})],
      [encodeSchemaV3('A', {}), encodeSchemaV3('B', {})],
    ),
  );
  const namesAt = (message: Message): unknown[] =>
    (message[1] ?? []).map((item) => texts(readMessage(item as Buffer), 1)[0]);
  expect(texts(document, 1)).toEqual(['3.0.0']);
  expect([texts(inner(document, 2), 1), texts(inner(document, 2), 6)]).toEqual([['T'], ['v1']]);
  expect(namesAt(inner(document, 4))).toEqual(['/a', '/b']);
  expect(namesAt(inner(document, 5, 1))).toEqual(['A', 'B']);
  expect(namesAt(inner(document, 5, 7))).toEqual(['BearerToken']);
  expect(texts(inner(document, 5, 7, 1, 2, 1), 4)).toEqual(['header']);
});
