import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runToCompletion } from '../async/run-to-completion.ts';
import type { JsonObject } from '../json/json.ts';
import { protobufEnvelopeHead, protobufEnvelopeTail, readProtobufEnvelope } from './envelope.ts';
import { decodeMessage, decodeMessageIncrementally } from './message-decoder.ts';
import { encodeMessage, encodeMessageIncrementally } from './message-encoder.ts';
import { MessageType } from './message-type.ts';
import { field } from '../../test/message-field.ts';
import { WireReader } from './wire-reader.ts';

const node: MessageType = new MessageType('Node', [
  field(1, 'name', 'string', { pointer: false }),
  field(2, 'child', () => node),
  field(3, 'count', 'int64', { dropZero: false }),
  field(4, 'ready', 'bool', { dropZero: false }),
  field(5, 'size', 'double', { dropZero: false }),
  field(6, 'data', 'bytes', { dropZero: false }),
  field(7, 'texts', 'string', { shape: 'repeated' }),
  field(8, 'numbers', 'int32', { shape: 'repeated' }),
  field(9, 'labels', 'string', { shape: 'map' }),
  field(10, 'children', () => node, { shape: 'repeated' }),
  field(11, 'byName', () => node, { shape: 'map' }),
  field(12, '.', () => new MessageType('Flat', [field(1, 'flat', 'string')]), { shape: 'inlined' }),
  field(20, 'any', 'json', { dropZero: false }),
]);
const encode = (object: JsonObject): string => encodeMessage(node, object, 8).toString('hex');
const decode = (bytes: Buffer): JsonObject => decodeMessage(node, new WireReader(bytes));
/** What is always there: the name, and the inlined part. */
const flat = '6200';

describe('what is written', () => {
  test.each<[string, JsonObject, string]>([
    ['nothing but what is no pointer', {}, `0a00${flat}`],
    ['a text beyond ASCII', { name: 'aü' }, `0a0361c3bc${flat}`],
    ['a negative number in ten bytes', { count: -1 }, `0a0018ffffffffffffffffff01${flat}`],
    ['a number beyond 2^53', { count: 9223372036854775807n }, `0a0018ffffffffffffffff7f${flat}`],
    ['a pointer to zero', { count: 0, ready: false }, `0a0018002000${flat}`],
    ['a fraction', { size: 0.5 }, `0a0029000000000000e03f${flat}`],
    ['bytes', { data: 'YWI=' }, `0a0032026162${flat}`],
    ['no bytes', { data: '' }, `0a003200${flat}`],
    ['lists in their order', { texts: ['b', 'a'], numbers: [2, 1] }, `0a003a01623a016140024001${flat}`],
    ['maps by their keys', { labels: { b: '2', a: '' } }, `0a004a050a016112004a060a0162120132${flat}`],
    ['a nested message', { child: { name: 'x' } }, `0a0012050a0178${flat}${flat}`],
    ['an inlined message', { flat: 'y' }, '0a0062030a0179'],
    ['JSON', { any: { b: [1] } }, `0a00${flat}a201097b2262223a5b315d7d`],
  ])('%s', (_, object, hex) => expect(encode(object)).toBe(hex));

  test('what a message cannot say is left out', () => {
    const odd: JsonObject = {
      name: 5,
      count: 'many',
      ready: 'yes',
      data: {},
      texts: 'x',
      labels: [],
      child: [],
      other: 1,
    };
    expect(encode(odd)).toBe(encode({}));
    expect(encode({ texts: [1, 'a'], labels: { a: 1 } })).toBe(encode({ texts: ['', 'a'], labels: { a: '' } }));
  });

  test('in an envelope', () => {
    const message = encodeMessage(node, { name: 'n' });
    const body = Buffer.concat([protobufEnvelopeHead('g/v1', 'Node', message.length), message, protobufEnvelopeTail]);
    expect(body.toString('latin1', 0, 4)).toBe('k8s\0');
    const read = readProtobufEnvelope(body);
    expect([read.apiVersion, read.kind]).toEqual(['g/v1', 'Node']);
    expect(decodeMessage(node, read.message)['name']).toBe('n');
  });
});

test('what is written is read as it was', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme', maxLength: 200 }));
  const { tree } = fc.letrec<{ tree: JsonObject }>((tie) => ({
    tree: fc.record(
      {
        name: text.filter((name) => name !== ''),
        child: fc.option(tie('tree'), { nil: undefined, maxDepth: 4 }),
        count: fc.oneof(fc.maxSafeInteger(), fc.constant(-(2n ** 63n)), fc.constant(2n ** 63n - 1n)),
        ready: fc.boolean(),
        size: fc.double({ noNaN: true, noDefaultInfinity: true }),
        data: fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64')),
        texts: fc.array(text, { minLength: 1 }),
        numbers: fc.array(fc.integer(), { minLength: 1 }),
        labels: fc.dictionary(text, text, { minKeys: 1 }),
        flat: text,
        any: fc.oneof(fc.array(text), fc.dictionary(text, fc.integer()), fc.boolean()),
      },
      { requiredKeys: ['name'] },
    ) as unknown as fc.Arbitrary<JsonObject>,
  }));
  fc.assert(
    fc.property(tree, (object) => {
      // Absent members and members that are undefined are the same, as for an empty text behind a pointer.
      const wanted = JSON.stringify(object, plain);
      const bytes = encodeMessage(node, object);
      expect(JSON.parse(JSON.stringify(decode(bytes), plain))).toEqual(JSON.parse(wanted));
      // In passes all is the same.
      expect(runToCompletion(encodeMessageIncrementally(node, object))).toEqual(bytes);
      expect(runToCompletion(decodeMessageIncrementally(node, new WireReader(bytes)))).toEqual(decode(bytes));
    }),
    { numRuns: 500 },
  );
});

describe('large messages in passes', () => {
  const many = Array.from({ length: 40_000 }, (_, index) => index);
  const labels = Object.fromEntries(many.map((index) => [`l${index}`, `value ${index}`]));
  const children = many.map((index) => ({ name: `child ${index}`, numbers: [index] }));
  test.each<[string, JsonObject]>([
    ['a map', { name: 'a', labels }],
    ['a list of texts', { name: 'a', texts: many.map(String) }],
    ['a list of messages', { name: 'a', children }],
    ['a map in a message in a list', { name: 'a', child: { name: 'b', children: [{ name: 'c', labels }] } }],
    ['a list between others', { name: 'a', child: { name: 'b', children }, labels: { x: 'y' }, any: { a: 1 } }],
  ])('%s', (_what, object) => {
    const bytes = encodeMessage(node, object);
    const steps = decodeMessageIncrementally(node, new WireReader(bytes));
    let passes = 0;
    let next = steps.next();
    for (; next.done !== true; next = steps.next()) passes++;
    expect(passes).toBeGreaterThanOrEqual(Math.floor(bytes.length / 80_000));
    expect(next.value).toEqual(decode(bytes));
    expect(runToCompletion(encodeMessageIncrementally(node, object)).equals(bytes)).toBe(true);
  });

  test('a list of messages is written in several passes', () => {
    const steps = encodeMessageIncrementally(node, { name: 'a', children });
    let passes = 0;
    while (steps.next().done !== true) passes++;
    expect(passes).toBeGreaterThan(10);
  });
});

function plain(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return key === 'flat' && value === '' ? undefined : value;
}
