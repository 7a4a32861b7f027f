import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { builtInResources } from '@multiplane/apis';
import { RequestWork } from '@multiplane/component-base';
import { isStatusError } from '@multiplane/apimachinery';
import fc from 'fast-check';
import { type Answer, Pipeline } from '../../../test/pipeline.ts';
import { BodyDecoder } from './body-decoder.ts';
import { inlineYamlReader } from './yaml-reader.ts';

const mediaType = 'application/vnd.kubernetes.protobuf';
const maps = '/api/v1/namespaces/default/configmaps';

const bytes = (field: number, ...parts: readonly (Buffer | string)[]): Buffer => {
  const value = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  if (value.length > 127) throw new RangeError('one byte of length is all there is here');
  return Buffer.concat([Buffer.from([(field << 3) | 2, value.length]), value]);
};
const envelope = (apiVersion: string, kind: string, ...message: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.from('k8s\0'), bytes(1, bytes(1, apiVersion), bytes(2, kind)), bytes(2, ...message)]);
const meta = (name: string): Buffer => bytes(1, bytes(1, name), bytes(2), bytes(3));
const map = (name: string, ...fields: readonly Buffer[]): Buffer => envelope('v1', 'ConfigMap', meta(name), ...fields);
const entry = (field: number, key: string, value: string): Buffer => bytes(field, bytes(1, key), bytes(2, value));

let pipeline: Pipeline;
beforeEach(async () => {
  pipeline = await Pipeline.open();
});
afterEach(() => pipeline.close());

const send = (method: string, path: string, body: Buffer): Promise<Answer> =>
  pipeline.ask(method, path, body, { 'content-type': mediaType });

test('creates an object as from JSON', async () => {
  const fromProtobuf = await send('POST', maps, map('a', entry(2, 'k', 'v'), entry(3, 'b', '\x01')));
  const fromJson = await pipeline.ask('POST', maps, {
    metadata: { name: 'b' },
    data: { k: 'v' },
    binaryData: { b: 'AQ==' },
  });
  expect([fromProtobuf.status, fromJson.status]).toEqual([201, 201]);
  const comparable = ({ text }: Answer): string => text.replaceAll(/"(name|uid|resourceVersion)":"[^"]*"/g, '"$1":""');
  expect(comparable(fromProtobuf)).toBe(comparable(fromJson));
  expect(fromProtobuf.headers['content-type']).toBe('application/json');
});

test('replaces an object', async () => {
  await send('POST', maps, map('a', entry(2, 'k', 'v')));
  const { status, body } = await send('PUT', `${maps}/a`, map('a', entry(2, 'k', 'w')));
  expect(status).toBe(200);
  expect(body['data']).toEqual({ k: 'w' });
});

test('kind and version are optional', async () => {
  const { status } = await send('POST', maps, envelope('', '', meta('a')));
  expect(status).toBe(201);
});

test('unknown fields are ignored, also with strict validation', async () => {
  const { status, warnings } = await send('POST', `${maps}?fieldValidation=Strict`, map('a', bytes(15, 'new')));
  expect([status, warnings]).toEqual([201, []]);
});

test('decodes DeleteOptions', async () => {
  await send('POST', maps, map('a'));
  const refused = await send('DELETE', `${maps}/a`, envelope('v1', 'DeleteOptions', bytes(2, bytes(1, 'other'))));
  expect([refused.status, refused.body['reason']]).toEqual([409, 'Conflict']);
  const broken = await send('DELETE', `${maps}/a`, envelope('v1', 'DeleteOptions', Buffer.from([0x12, 9])));
  expect([broken.status, broken.body['message']]).toEqual([400, 'unexpected EOF']);
  const removed = await send(
    'DELETE',
    `${maps}/a`,
    envelope('meta.k8s.io/v1', 'DeleteOptions', bytes(4, 'Background')),
  );
  expect(removed.status).toBe(200);
});

describe('is rejected with 400', () => {
  test.each<[string, Buffer, string]>([
    [
      'no bytes',
      Buffer.alloc(0),
      'the object provided is unrecognized (must be of type ConfigMap): empty data (<empty>)',
    ],
    [
      'JSON',
      Buffer.from('{"kind":"ConfigMap"}'),
      'the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({"kind":"ConfigMap"})',
    ],
    [
      'half an envelope',
      Buffer.from('k8s\0\x0a\x05'),
      'the object provided is unrecognized (must be of type ConfigMap): unexpected EOF (6b3873000a05)',
    ],
    [
      'half an object',
      map('a', Buffer.from([0x12, 5])),
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: unexpected EOF',
    ],
    [
      'a number for a message',
      envelope('v1', 'ConfigMap', Buffer.from([0x08, 1])),
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: proto: wrong wireType = 0 for field Metadata',
    ],
    [
      'another kind',
      envelope('v1', 'Secret', meta('a')),
      'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
    ],
    [
      'a kind that does not exist',
      envelope('v1', 'Nope', meta('a')),
      'Nope in version "v1" cannot be handled as a ConfigMap: no kind "Nope" is registered for version "v1" in scheme "multiplane"',
    ],
  ])('%s', async (_, body, message) => {
    const answer = await send('POST', maps, body);
    expect(answer.status).toBe(400);
    expect(answer.body['message']).toBe(message);
  });
});

test('custom resources have no protobuf encoding', async () => {
  const decoder = new BodyDecoder({ isBuiltInKind: () => false, yaml: inlineYamlReader });
  const hat = {
    group: 'example.com',
    version: 'v1',
    kind: 'Hat',
    origin: 'custom' as const,
    schema: {
      decodeTyped: () => [],
      convertTyped: () => undefined,
      prune: () => ({ unknownFields: [] }),
      coerce: () => undefined,
      applyDefaults: () => undefined,
    },
  };
  const body = envelope('example.com/v1', 'Hat', meta('a'));
  const decoded = decoder.decodeBody(
    { bytes: body, format: 'protobuf' },
    { warn: () => undefined, work: new RequestWork() },
    hat,
    'Strict',
  );
  await expect(decoded).rejects.toThrow(
    expect.objectContaining({
      code: 400,
      reason: 'BadRequest',
      message:
        'Hat in version "v1" cannot be handled as a Hat: object *unstructured.Unstructured does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message',
    }),
  );
});

test('random bytes fail with 400 only', async () => {
  const kinds = builtInResources();
  const names = new Set(kinds.map(({ group, version, kind }) => `${group}/${version}/${kind}`));
  const decoder = new BodyDecoder({
    isBuiltInKind: (group, version, kind) => names.has(`${group}/${version}/${kind}`),
    yaml: inlineYamlReader,
  });
  /** Bytes that look like messages: fields of all kinds and numbers, nested, some cut. */
  const { message } = fc.letrec<{ message: Buffer; field: Buffer }>((tie) => ({
    message: fc.array(tie('field'), { maxLength: 4 }).map((parts) => Buffer.concat(parts)),
    field: fc
      .tuple(
        fc.integer({ min: 0, max: 31 }),
        fc.oneof(
          { depthSize: 'small' },
          fc.nat(127).map((value) => [0, Buffer.from([value])] as const),
          fc.uint8Array({ maxLength: 12 }).map((value) => [2, Buffer.from([value.length, ...value])] as const),
          fc
            .string({ maxLength: 12 })
            .map((value) => [2, Buffer.from(`${String.fromCharCode(value.length)}${value}`)] as const),
          tie('message').map((value) => [2, Buffer.concat([Buffer.from([value.length & 127]), value])] as const),
        ),
      )
      .map(([number, [wireType, value]]) =>
        Buffer.concat([
          Buffer.from(number < 16 ? [(number << 3) | wireType] : [((number << 3) & 127) | 128 | wireType, 1]),
          value,
        ]),
      ),
  }));
  await fc.assert(
    fc.asyncProperty(fc.nat(kinds.length - 1), message, async (index, raw) => {
      const kind = kinds[index] as (typeof kinds)[number];
      const length = raw.length;
      const body = Buffer.concat([Buffer.from('k8s\0'), Buffer.from([0x12, (length & 127) | 128, length >> 7]), raw]);
      try {
        await decoder.decodeBody(
          { bytes: body, format: 'protobuf' },
          { warn: () => undefined, work: new RequestWork() },
          kind,
          'Strict',
        );
      } catch (error) {
        expect(isStatusError(error, 'BadRequest') ? 400 : error).toBe(400);
      }
    }),
    { numRuns: 5000 },
  );
});
