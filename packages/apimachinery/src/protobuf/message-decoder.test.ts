import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runToCompletion } from '../async/run-to-completion.ts';
import { maxJsonMembers, maxJsonValues } from '../json/json-codec.ts';
import type { JsonObject } from '../json/json.ts';
import { readProtobufEnvelope } from './envelope.ts';
import { decodeMessage, decodeMessageIncrementally, maxMessageDepth } from './message-decoder.ts';
import { encodeMessage } from './message-encoder.ts';
import { MessageType, type MessageField } from './message-type.ts';
import { WireReader } from './wire-reader.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

const field = (number: number, name: string, type: MessageField['type'], more: Partial<MessageField> = {}) => ({
  number,
  name,
  type,
  shape: 'single' as const,
  dropZero: false,
  ...more,
});

const inner: MessageType = new MessageType('Inner', [
  field(1, 'text', 'string'),
  field(2, 'child', () => inner, { pointer: true }),
  field(3, 'count', 'int32', { dropZero: true }),
]);
const seconds = new MessageType('Seconds', [field(1, 'value', 'int64')], {
  fromMessage: ({ value }) => (value === undefined ? undefined : `${value as number}s`),
  toMessage: (value) => (typeof value === 'string' ? { value: Number.parseInt(value) } : undefined),
});
const outer = new MessageType('Outer', [
  field(1, 'text', 'string', { dropZero: true }),
  field(2, 'int32', 'int32'),
  field(3, 'int64', 'int64'),
  field(4, 'bool', 'bool'),
  field(5, 'double', 'double'),
  field(6, 'bytes', 'bytes'),
  field(7, 'json', 'json'),
  field(8, 'inner', () => inner),
  field(9, 'texts', 'string', { shape: 'repeated' }),
  field(10, 'numbers', 'int32', { shape: 'repeated' }),
  field(11, 'labels', 'string', { shape: 'map' }),
  field(12, 'inners', () => inner, { shape: 'map' }),
  field(13, '.', () => new MessageType('Flat', [field(1, 'flat', 'string')]), { shape: 'inlined' }),
  field(14, 'age', () => seconds),
  field(15, 'ages', () => seconds, { shape: 'map' }),
  field(16, 'counts', 'int64', { shape: 'map' }),
]);

const decode = (text: string): JsonObject => decodeMessage(outer, new WireReader(hex(text)));

describe('values', () => {
  test.each<[string, string, JsonObject]>([
    ['a text', '0a 03 616263', { text: 'abc' }],
    ['a text beyond ASCII', '0a 04 c3bcc3b6', { text: 'üö' }],
    ['bytes that are no UTF-8', '0a 02 61ff', { text: 'a\ufffd' }],
    ['a negative int32', '10 ffffffffffffffffff01', { int32: -1 }],
    ['an int32 of too many bits', '10 8180808010', { int32: 1 }],
    ['an int64 beyond 2^53', '18 ffffffffffffffff7f', { int64: 9223372036854775807n }],
    ['the least int64', '18 80808080808080808001', { int64: -9223372036854775808n }],
    ['a small int64', '18 80808080808020', { int64: 2 ** 47 }],
    ['a bool of many bits', '20 80808080808001', { bool: true }],
    ['false', '20 00', { bool: false }],
    ['a double', '29 000000000000f83f', { double: 1.5 }],
    ['bytes', '32 02 0102', { bytes: 'AQI=' }],
    ['embedded JSON', '3a 0b 7b2261223a5b312c325d7d', { json: { a: [1, 2] } }],
    ['no embedded JSON', '3a 00', {}],
    ['an empty message', '42 00', { inner: {} }],
    ['repeated texts', '4a 01 61 4a 00', { texts: ['a', ''] }],
    ['repeated numbers', '50 01 50 02', { numbers: [1, 2] }],
    ['packed numbers', '52 03 018102', { numbers: [1, 257] }],
    ['a map', '5a 06 0a0161 120162 5a 03 0a0163', { labels: { a: 'b', c: '' } }],
    ['a key that stands twice', '5a 06 0a0161 120162 5a 06 0a0161 120163', { labels: { a: 'c' } }],
    ['a map of messages', '62 08 0a0161 1203 0a0178 62 03 0a0162', { inners: { a: { text: 'x' }, b: {} } }],
    ['a map of converted messages', '7a 07 0a0161 1202 0805', { ages: { a: '5s' } }],
    ['a map of numbers', '820105 0a0161 1005 820103 0a0162', { counts: { a: 5, b: 0 } }],
    ['inlined fields', '6a 03 0a0161 0a 0162', { flat: 'a', text: 'b' }],
    ['a converted message', '72 02 0805', { age: '5s' }],
    ['a conversion to nothing', '72 02 0805 72 00', {}],
    ['a zero that JSON leaves out', '0a 00 42 02 1800', { inner: {} }],
    ['the last of two texts', '0a 01 61 0a 01 62', { text: 'b' }],
    ['a zero after a value', '0a 01 61 0a 00', {}],
    ['a message in two parts', '42 03 0a0161 42 02 1805', { inner: { text: 'a', count: 5 } }],
  ])('%s', (_, bytes, expected) => {
    expect(decode(bytes)).toEqual(expected);
  });

  test('a key named __proto__ is a key', () => {
    const { labels } = decode('5a 0e 0a09 5f5f70726f746f5f5f 1201 62');
    expect(Object.keys(labels as JsonObject)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(labels)).toBe(Object.prototype);
  });

  test('what the type does not know is passed over', () => {
    const unknown = 'a006 8001 a106 0000000000000000 a206 02 0102 a506 00000000 a306 a306 0801 a406 a406';
    expect(decode(`${unknown} 0a 01 61 ${unknown}`)).toEqual({ text: 'a' });
  });

  test('texts of every length and script', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 200 }), { maxLength: 60 }), (texts) => {
        const parts = texts.map((text) => {
          const bytes = Buffer.from(text);
          const length = bytes.length;
          return Buffer.concat([
            Buffer.from(length < 128 ? [0x4a, length] : [0x4a, (length & 127) | 128, length >> 7]),
            bytes,
          ]);
        });
        const object = decodeMessage(outer, new WireReader(Buffer.concat(parts)));
        expect(object['texts'] ?? []).toEqual(texts.map((text) => Buffer.from(text).toString()));
      }),
    );
  });
});

describe('refusals', () => {
  test.each([
    ['a text that ends early', '0a 05 61', 'unexpected EOF'],
    ['a nested text that goes beyond its message', '42 02 0a05 616161616161', 'unexpected EOF'],
    ['a length of 4 GiB', '0a ffffffff0f', 'unexpected EOF'],
    ['a length beyond 2^32', '0a 8080808010', 'unexpected EOF'],
    ['a negative length', '0a ffffffffffffffffff01', 'proto: negative length found during unmarshaling'],
    ['half a varint', '10 80', 'unexpected EOF'],
    ['a varint without end', '10 8080808080808080808001', 'proto: integer overflow'],
    ['half a double', '29 0000', 'unexpected EOF'],
    ['an unknown field that ends early', 'a206 05 00', 'unexpected EOF'],
    ['a group without end', 'a306 0801', 'unexpected EOF'],
    ['an end without group', 'a406', 'proto: Outer: wiretype end group for non-group'],
    ['field zero', '02 00', 'proto: Outer: illegal tag 0 (wire type 2)'],
    ['a wire type that does not exist', 'a706', 'proto: illegal wireType 7'],
    ['a number for a text', '08 01', 'proto: wrong wireType = 0 for field Text'],
    ['a text for a number', '12 01 61', 'proto: wrong wireType = 2 for field Int32'],
    ['a number for a message', '40 01', 'proto: wrong wireType = 0 for field Inner'],
    ['a number for a map', '58 01', 'proto: wrong wireType = 0 for field Labels'],
    ['a number for a key', '5a 02 0801', 'proto: wrong wireType = 0 for field Labels'],
    ['a number that JSON does not have', '29 000000000000f07f', 'json: unsupported value: +Inf'],
    ['embedded text that is no JSON', '3a 01 7b', 'unexpected end of JSON input'],
  ])('%s', (_, bytes, message) => {
    expect(() => decode(bytes)).toThrow(expect.objectContaining({ name: 'ProtobufError', message }));
  });

  test('messages that nest too deep', () => {
    const nested = (depth: number): Buffer => {
      let bytes = Buffer.alloc(0);
      for (let level = 1; level < depth; level++) {
        const head = bytes.length < 128 ? [0x12, bytes.length] : [0x12, (bytes.length & 127) | 128, bytes.length >> 7];
        bytes = Buffer.concat([Buffer.from(head), bytes]);
      }
      return bytes;
    };
    expect(() => decodeMessage(inner, new WireReader(nested(maxMessageDepth)))).not.toThrow();
    expect(() => decodeMessage(inner, new WireReader(nested(maxMessageDepth + 2)))).toThrow('exceeded max depth');
  });

  test('groups may nest as deep as a body allows', () => {
    const groups = Buffer.concat([Buffer.alloc(1_000_000, 0x7b), Buffer.alloc(1_000_000, 0x7c)]);
    expect(decodeMessage(inner, new WireReader(groups))).toEqual({});
    expect(() => decodeMessage(inner, new WireReader(groups.subarray(1)))).toThrow('end group');
  });

  test('no bytes make it fail in another way', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        try {
          decodeMessage(outer, new WireReader(Buffer.from(bytes)));
        } catch (error) {
          expect((error as Error).name).toBe('ProtobufError');
        }
      }),
      { numRuns: 5000 },
    );
  });
});

describe('envelope', () => {
  const prefix = '6b387300';

  test('kind and version, then the message', () => {
    const { apiVersion, kind, message } = readProtobufEnvelope(
      hex(`${prefix} 0a 07 0a02 7631 1201 4b 12 03 0a0161 1a00 2200`),
    );
    expect({ apiVersion, kind, message: decodeMessage(outer, message) }).toEqual({
      apiVersion: 'v1',
      kind: 'K',
      message: { text: 'a' },
    });
  });

  test('the message may come first', () => {
    const envelope = readProtobufEnvelope(hex(`${prefix} 12 03 0a0161 0a 07 0a02 7631 1201 4b`));
    expect([envelope.apiVersion, envelope.kind]).toEqual(['v1', 'K']);
    expect(decodeMessage(outer, envelope.message)).toEqual({ text: 'a' });
  });

  test('what was left out is empty', () => {
    const { apiVersion, kind, message } = readProtobufEnvelope(hex(`${prefix} 1a00`));
    expect([apiVersion, kind, decodeMessage(outer, message)]).toEqual(['', '', {}]);
  });

  test.each([
    ['no bytes', '', 'empty data'],
    ['no envelope', '7b7d', 'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]'],
    ['nothing in it', prefix, 'empty body'],
    ['a message that ends early', `${prefix} 12 05 0a`, 'unexpected EOF'],
    ['a number for the message', `${prefix} 10 05`, 'proto: wrong wireType = 0 for field Raw'],
    ['a number for the kind', `${prefix} 0a 02 1001`, 'proto: wrong wireType = 0 for field Kind'],
    ['field zero', `${prefix} 00 00`, 'proto: Unknown: illegal tag 0 (wire type 0)'],
  ])('%s', (_, bytes, message) => {
    expect(() => readProtobufEnvelope(hex(bytes))).toThrow(expect.objectContaining({ name: 'ProtobufError', message }));
  });
});

test('a large message has maps of at most as many entries as an object of JSON', () => {
  /** `labels: {k…: v}`, of 11 bytes an entry. */
  const labels = (count: number): string =>
    Array.from({ length: count }, (_, index) => {
      const key = Buffer.from(String(index).padStart(5, '0')).toString('hex');
      return `5a 0a 0a05 ${key} 1201 76`;
    }).join('');
  const read = (text: string): JsonObject =>
    runToCompletion(decodeMessageIncrementally(outer, new WireReader(hex(text))));
  expect(Object.keys(read(labels(maxJsonMembers))['labels'] as JsonObject)).toHaveLength(maxJsonMembers);
  expect(() => read(labels(maxJsonMembers + 1))).toThrow('proto: a map has more than 65536 entries');
});

test('a large message has at most as many values as a body', () => {
  const read = (texts: number): JsonObject =>
    runToCompletion(
      decodeMessageIncrementally(
        outer,
        new WireReader(encodeMessage(outer, { texts: Array.from({ length: texts }, () => '') })),
      ),
    );
  // Members with zero values count, too.
  expect(read(maxJsonValues - 20)['texts']).toHaveLength(maxJsonValues - 20);
  expect(() => read(maxJsonValues)).toThrow('proto: more than 210000 values');
});

test('values that are longer than a pass are read in passes, to the same end', () => {
  const long = 'x'.repeat(70_000);
  const value: JsonObject = {
    json: { a: [long, 1] },
    inner: { text: long, child: { text: long, count: 0 } },
    inners: { a: { text: long, count: 1 }, b: { text: '', count: 2 } },
    age: '5s',
    labels: { a: long },
    texts: [long, ''],
  };
  const bytes = encodeMessage(outer, value);
  const steps = decodeMessageIncrementally(outer, new WireReader(bytes));
  let pauses = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) pauses++;
  expect(step.value).toEqual(decodeMessage(outer, new WireReader(bytes)));
  expect(step.value).toMatchObject({ json: value['json'], inners: value['inners'] });
  expect(pauses).toBeGreaterThan(2);
});

test('JSON in a large message has objects of at most as many members as a body', () => {
  const json = Object.fromEntries(Array.from({ length: maxJsonMembers + 1 }, (_, index) => [`m${index}`, 0]));
  const bytes = encodeMessage(outer, { json });
  expect(() => runToCompletion(decodeMessageIncrementally(outer, new WireReader(bytes)))).toThrow(
    'an object has more than 65536 members',
  );
});
