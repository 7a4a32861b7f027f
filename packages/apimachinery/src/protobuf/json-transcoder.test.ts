import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { encodeJson, parseJson } from '../json/json-codec.ts';
import { type JsonObject, setOwn } from '../json/json.ts';
import { JsonTranscoder } from './json-transcoder.ts';
import { encodeMessage } from './message-encoder.ts';
import { MessageType, type MessageConversion, type MessageField } from './message-type.ts';
import { field } from '../../test/message-field.ts';
import { WireWriter } from './wire-writer.ts';

const converted = (conversion: MessageConversion, first: MessageField) => new MessageType('C', [first], conversion);
const quantity = converted(
  {
    isText: true,
    fromMessage: () => undefined,
    toMessage: (value = '0') => ({ text: typeof value === 'string' ? value : encodeJson(value) }),
  },
  field(1, 'text', 'string'),
);
const time = converted(
  {
    fromMessage: () => undefined,
    toMessage: (value) => (typeof value === 'string' ? { length: value.length } : undefined),
  },
  field(1, 'length', 'int64', { pointer: false }),
);
const raw = converted(
  { isJson: true, fromMessage: () => undefined, toMessage: (value) => (value === undefined ? {} : { raw: value }) },
  field(1, 'raw', 'json'),
);
const node: MessageType = new MessageType('Node', [
  field(1, 'name', 'string', { pointer: false }),
  field(2, 'child', () => node),
  field(3, 'count', 'int64', { pointer: false }),
  field(4, 'ready', 'bool'),
  field(5, 'size', 'double'),
  field(6, 'data', 'bytes'),
  field(7, 'texts', 'string', { shape: 'repeated' }),
  field(8, 'numbers', 'int32', { shape: 'repeated' }),
  field(9, 'labels', 'string', { shape: 'map' }),
  field(10, 'children', () => node, { shape: 'repeated' }),
  field(11, 'byName', () => node, { shape: 'map' }),
  field(13, 'quantity', () => quantity),
  field(14, 'time', () => time, { pointer: false }),
  field(15, 'raw', () => raw),
  field(16, 'times', () => time, { shape: 'repeated' }),
  field(17, 'raws', () => raw, { shape: 'map' }),
  field(18, 'with', () => flat),
  field(20, 'any', 'json'),
  field(21, 'anyOf', 'json', { shape: 'repeated' }),
]);
const flat: MessageType = new MessageType('Flat', [
  field(1, 'inlined', () => new MessageType('Inlined', [field(1, 'flat', 'string'), field(2, 'child', () => node)]), {
    shape: 'inlined',
  }),
  field(2, 'name', 'string'),
]);

const transcoder = new JsonTranscoder();

/** Both ways; the first is undefined if the text was rejected. */
function both(text: string | Buffer, type = node): readonly [string | undefined, string] {
  const json = Buffer.from(text as string);
  const writer = new WireWriter(8);
  const isWritten = transcoder.write(writer, type, json);
  if (!isWritten) expect(writer.length).toBe(0);
  const expected = encodeMessage(type, parseJson(json) as JsonObject).toString('hex');
  return [isWritten ? writer.finish().toString('hex') : undefined, expected];
}

const texts = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ unit: 'grapheme', maxLength: 120 }),
  fc.constantFrom(
    '2026-11-23T18:00:00Z',
    '',
    'a\nb',
    '"',
    '\\',
    'é',
    '\u2028',
    '\u007f',
    '😀',
    '\ud800',
    'x'.repeat(300),
  ),
);
const names = fc.oneof(
  fc.constantFrom(
    'name',
    'child',
    'count',
    'labels',
    'children',
    '1',
    '10',
    '__proto__',
    'constructor',
    'f:a',
    '.',
    '',
  ),
  texts,
);
const { any } = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    texts,
    fc.integer(),
    fc.double(),
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
    fc.constantFrom(null, true, false, -0, 0, 1e21, 999_999_999_999_999, 2 ** 53),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.array(fc.tuple(names, tie('any')), { maxLength: 5 }).map(objectOf),
    objects(tie('any')),
  ),
}));
function objects(value: fc.Arbitrary<unknown>): fc.Arbitrary<JsonObject> {
  const usual: Record<string, fc.Arbitrary<unknown>> = {
    name: texts,
    count: fc.maxSafeInteger(),
    ready: fc.boolean(),
    data: fc.base64String({ maxLength: 100 }),
    texts: fc.array(texts, { maxLength: 4 }),
    numbers: fc.array(fc.integer(), { maxLength: 4 }),
    labels: fc.array(fc.tuple(names, texts), { maxLength: 80 }).map(objectOf),
    time: texts,
    with: fc.record({ flat: texts, name: texts, child: value }, { requiredKeys: [] }),
  };
  return fc
    .array(
      fc
        .constantFrom(...node.reversed.map(({ name }) => name))
        .chain((name) => fc.tuple(fc.constant(name), fc.oneof(usual[name] ?? value, value))),
      { maxLength: 8 },
    )
    .map(objectOf);
}
function objectOf(members: readonly (readonly [string, unknown])[]): JsonObject {
  const object: JsonObject = {};
  for (const [name, value] of members) setOwn(object, name, value as never);
  return object;
}

test('writes what the encoder writes of the parsed text, or nothing', () => {
  let written = 0;
  fc.assert(
    fc.property(fc.oneof(objects(any), any), (value) => {
      // As it is stored: encoded from what was parsed.
      const text = encodeJson(parseJson(encodeJson(value)));
      if (!text.startsWith('{')) return;
      const [actual, expected] = both(text);
      if (actual === undefined) return;
      expect(actual).toBe(expected);
      written++;
    }),
    { numRuns: 3_000 },
  );
  expect(written).toBeGreaterThan(500);
});

test('replaces the resourceVersion in metadata only', () => {
  const meta = new MessageType('ObjectMeta', [
    field(1, 'name', 'string'),
    field(6, 'resourceVersion', 'string', { pointer: false }),
  ]);
  const type = new MessageType('Object', [
    field(1, 'metadata', () => meta),
    field(2, 'other', () => meta),
    field(3, 'resourceVersion', 'string'),
  ]);
  const write = (object: JsonObject, resourceVersion?: string): string => {
    const writer = new WireWriter(8);
    expect(transcoder.write(writer, type, Buffer.from(encodeJson(object)), resourceVersion)).toBe(true);
    return writer.finish().toString('hex');
  };
  const other = { name: 'b', resourceVersion: '1' };
  for (const metadata of [{ name: 'a' }, { resourceVersion: '1', name: 'a' }, {}]) {
    const object = { metadata, other, resourceVersion: '2' };
    const expected = { ...object, metadata: { ...metadata, resourceVersion: '7' } };
    expect(write(object, '7')).toBe(encodeMessage(type, expected).toString('hex'));
    expect(write(object)).toBe(encodeMessage(type, object).toString('hex'));
  }
  expect(write({ other }, '7')).toBe(encodeMessage(type, { other }).toString('hex'));
});

test('reuses its memory after texts of any size and after rejected ones', () => {
  const wide = encodeJson({
    labels: Object.fromEntries(Array.from({ length: 1_500 }, (_, i) => [`k${9_999 - i}`, 'v'])),
  });
  const many = encodeJson({ texts: Array.from({ length: 5_000 }, String) });
  const deep = `${'{"child":'.repeat(99)}{}${'}'.repeat(99)}`;
  const tooDeep = `${'{"child":'.repeat(200)}{}${'}'.repeat(200)}`;
  for (const [text, isWritten] of [
    [wide, true],
    [many, false],
    ['{"name":"x","labels":{"b":"1","a":"2"}}', true],
    [deep, true],
    [tooDeep, false],
    ['{}', true],
  ] as const) {
    const [actual, expected] = both(text);
    expect(actual).toBe(isWritten ? expected : undefined);
  }
});

describe('texts with more than one reading', () => {
  test.each([
    ['equal names', '{"name":"a","name":"b","labels":{"a":"1","a":"2"},"child":{"count":1,"count":2}}'],
    ['the last of equal names has another type', '{"name":"a","name":null,"child":{"name":"x"},"child":7}'],
    ['escape sequences in names', '{"labels":{"a\\nb":"1","a":"2"},"n\\tame":"x"}'],
    ['escape sequences in values', '{"name":"a\\"b\\\\c\\n","labels":{"x":"\\t"},"data":"YQ=="}'],
    ['a long string with an escape sequence at its end', `{"name":"${'x'.repeat(100)}\\"","texts":["\\\\"]}`],
    ['names beyond ASCII', '{"labels":{"\uffff":"1","😀":"2","é":"3"}}'],
    [
      'null where a message or text is',
      '{"name":null,"child":null,"texts":[null,"a"],"children":[null,{}],"raw":null}',
    ],
    ['null in maps', '{"labels":{"a":null},"byName":{"a":null,"b":{}},"raws":{"a":null,"b":1},"times":[null,"x"]}'],
    ['values of another type', '{"name":1,"child":"x","labels":[],"texts":{},"ready":"true","count":"1","data":7}'],
  ])('%s', (_, text) => {
    const [actual, expected] = both(text);
    expect(actual).toBe(expected);
  });

  test.each([
    ['white space', '{"name": "a"}'],
    ['a fraction', '{"count":1.5}'],
    ['an exponent', '{"count":1e3}'],
    ['an integer of many digits', '{"count":9007199254740993}'],
    ['a negative zero', '{"size":-0}'],
    ['a unicode escape', '{"name":"\\u0041"}'],
    ['an escaped name', '{"n\\u0061me":"x"}'],
    ['an escaped slash', '{"name":"\\/"}'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0x6e, 0x61, 0x6d, 0x65, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d])],
  ])('are not read: %s', (_, text) => {
    expect(both(text)[0]).toBeUndefined();
  });

  test.each([
    '',
    '[]',
    '{"a":1',
    '{"a"}',
    '{"a":}',
    '{"name":"x',
    '{"a":tru}',
    '{}x',
    '{"raw":{"a":[}',
    '{"a":01}',
    'null',
  ])('are not read: %s', (text) => {
    const writer = new WireWriter(8);
    expect(transcoder.write(writer, node, Buffer.from(text))).toBe(false);
    expect(writer.length).toBe(0);
  });
});
