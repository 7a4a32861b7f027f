import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  compareBytewise,
  encodeJson,
  encodeJsonGo,
  indentedJsonParts,
  encodeJsonGoIncrementally,
  encodeJsonIncrementally,
  maxJsonDepth,
  parseJson,
  parseJsonIncrementally,
  parseJsonStrict,
} from './json-codec.ts';
import { runToCompletion } from '../async/run-to-completion.ts';
import { readJson } from './json-reader.ts';
import { getOwn, type Json, type JsonObject } from './json.ts';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

describe('parseJson', () => {
  test('keeps integers of 64 bits exact', () => {
    const text = '{"a":9007199254740993,"b":-9223372036854775808,"c":18446744073709551615,"d":1.5,"e":7}';
    expect(parseJson(text)).toEqual({ a: 9007199254740993n, b: -(2n ** 63n), c: 2n ** 64n - 1n, d: 1.5, e: 7 });
    expect(encodeJson(parseJson(text))).toBe(text);
  });

  test('rounds what has more than 64 bits, as Go does, and refuses what no float can hold', () => {
    expect(parseJson('[99999999999999999999999]')).toEqual([1e23]);
    expect(parseJson('[1e3, 1E+2, 12.5e-1]')).toEqual([1000, 100, 1.25]);
    expect(() => parseJson('[1e400]')).toThrow('json: cannot unmarshal number 1e400');
    expect(() => parseJson(`[${'9'.repeat(400)}]`)).toThrow('json: cannot unmarshal number');
  });

  test('makes every name an own property', () => {
    const value = parseJson('{"__proto__":{"polluted":true},"constructor":1,"big":12345678901234567890}') as JsonObject;
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor', 'big']);
    expect(getOwn(value, '__proto__')).toEqual({ polluted: true });
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(encodeJson(value)).toBe('{"__proto__":{"polluted":true},"constructor":1,"big":12345678901234567890}');
  });

  test('bounds the depth, and what passes can be written', () => {
    expect(encodeJson(parseJson(nested(maxJsonDepth)))).toBe(nested(maxJsonDepth));
    expect(() => parseJson(nested(maxJsonDepth + 1))).toThrow('exceeded max depth');
    expect(() => parseJson(nested(1_000_000))).toThrow('exceeded max depth');
    expect(() => parseJson('[[1]]', { maxDepth: 1 })).toThrow('exceeded max depth');
    expect(parseJson(`["${'['.repeat(5000)}"]`)).toEqual(['['.repeat(5000)]);
  });

  test('replaces what is not Unicode', () => {
    expect(parseJson(Buffer.from([0x22, 0x61, 0xff, 0x22]))).toBe('a\ufffd');
    expect(parseJson(String.raw`{"\ud800":"\udc00x\ud83d\ude00"}`)).toEqual({ '\ufffd': '\ufffdx😀' });
    expect(parseJson('"\ud800"')).toBe('\ufffd');
  });

  test.each([
    ['', 'unexpected end of JSON input'],
    ['{', 'unexpected end of JSON input'],
    ['"abc', 'unexpected end of JSON input'],
    ['-', "invalid character ' ' in numeric literal"],
    ['1.', "invalid character ' ' after decimal point in numeric literal"],
    ['tr', "invalid character ' ' in literal true (expecting 'u')"],
    ['"\\', "invalid character ' ' in string escape code"],
    ['kind: x', "invalid character 'k' looking for beginning of value"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"}', `invalid character '"' after object key:value pair`],
    ['[1 2]', "invalid character '2' after array element"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['nil', "invalid character 'i' in literal null (expecting 'u')"],
    ['01', "invalid character '1' after top-level value"],
    ['1.x', "invalid character 'x' after decimal point in numeric literal"],
    ['1ex', "invalid character 'x' in exponent of numeric literal"],
    ['-x', "invalid character 'x' in numeric literal"],
    [String.raw`"\q"`, "invalid character 'q' in string escape code"],
    [String.raw`"\u12g4"`, String.raw`invalid character 'g' in \u hexadecimal character escape`],
    ['"a\nb"', String.raw`invalid character '\n' in string literal`],
    ["'a'", String.raw`invalid character '\'' looking for beginning of value`],
    ['\ufeff{}', "invalid character '\ufeff' looking for beginning of value"],
  ])('says of %j what Go says', (text, message) => {
    expect(() => parseJson(text)).toThrow(expect.objectContaining({ name: 'JsonSyntaxError', message }));
  });

  test('reads everything as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.boolean(), (text, pretty) => {
        const source = pretty ? JSON.stringify(JSON.parse(text), null, 1) : text;
        const rounded = (value: unknown): unknown =>
          JSON.parse(JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? Number(item) : item)));
        expect(rounded(parseJson(source))).toEqual(JSON.parse(source));
        expect(rounded(readJson(source, { maxDepth: 100 }))).toEqual(JSON.parse(source));
      }),
    );
  });

  test('accepts exactly what JSON.parse accepts', () => {
    const pieces = fc.array(
      fc.constantFrom('{', '}', '[', ']', ',', ':', '"a"', '1', '-', '.5', 'e1', 'true', 'nul', ' ', '\\', '"'),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(pieces, (parts) => {
        const text = parts.join('');
        const accepted = (parse: () => unknown): boolean => {
          try {
            parse();
            return true;
          } catch {
            return false;
          }
        };
        expect(accepted(() => readJson(text, { maxDepth: 100 }))).toBe(accepted(() => JSON.parse(text)));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('names that stand twice', () => {
  const twice = (text: string): string[] => parseJsonStrict(text).duplicates;
  test('are reported by path, once, in the order of the text', () => {
    expect(twice('{"spec":{"a":1,"a":2,"u":1,"u":2,"l":[{"x":1},{"x":1,"x":2}],"free":{"q":1,"q":2,"q":3}}}')).toEqual([
      'spec.a',
      'spec.u',
      'spec.l[1].x',
      'spec.free.q',
    ]);
    expect(twice('[{"op":"add"},{"op":"add","op":"test"}]')).toEqual(['[1].op']);
  });

  test('are found through escapes and in strange places', () => {
    expect(twice(String.raw`{"a":1,"\u0061":2}`)).toEqual(['a']);
    expect(twice('{"__proto__":1,"__proto__":2}')).toEqual(['__proto__']);
    expect(twice(String.raw`{"a\"b":":","c":"\\","d":{}}`)).toEqual([]);
    expect(twice('{"a:":1,"b":":{\\"a\\":1"}')).toEqual([]);
  });

  test('leave the last value', () => {
    expect(parseJsonStrict('{"data":{"a":"1","a":"2"}}')).toEqual({
      value: { data: { a: '2' } },
      duplicates: ['data.a'],
    });
    expect(parseJsonStrict('null')).toEqual({ value: null, duplicates: [] });
    expect(() => parseJsonStrict('{"a":1,')).toThrow('unexpected end of JSON input');
  });

  test('do not occur in what an engine wrote', () => {
    fc.assert(fc.property(fc.json(), (text) => expect(twice(text)).toEqual([])));
  });
});

describe('encodeJson', () => {
  test('leaves out members without value and writes integers beyond 2^53', () => {
    expect(encodeJson({ a: undefined, b: [1n, 2n ** 60n], c: null })).toBe('{"b":[1,1152921504606846976],"c":null}');
  });

  test('writes as Go writes', () => {
    expect(encodeJsonGo({ b: '<a href="x">&\u2028', a: 1 })).toBe(
      String.raw`{"b":"\u003ca href=\"x\"\u003e\u0026\u2028","a":1}`,
    );
    expect(encodeJsonGo({ b: { d: 1, c: [{ y: 1, x: 2 }] }, a: 1, 10: 1, 9: 2 }, { sortKeys: true })).toBe(
      '{"10":1,"9":2,"a":1,"b":{"c":[{"x":2,"y":1}],"d":1}}',
    );
    expect(encodeJsonGo({ a: 1, b: { d: 1n, c: undefined } }, { sortKeys: true })).toBe('{"a":1,"b":{"d":1}}');
    expect(encodeJsonGo({ a: [], b: {}, c: [1, { d: '{,:' }] }, { pretty: true })).toBe(
      '{\n  "a": [],\n  "b": {},\n  "c": [\n    1,\n    {\n      "d": "{,:"\n    }\n  ]\n}',
    );
  });

  test('indents in parts, of a deep object too', () => {
    const nested = (depth: number, inner: unknown): unknown => (depth === 0 ? inner : { a: nested(depth - 1, inner) });
    for (const value of [
      { a: ['<x>', 'é"\n'], b: {} },
      nested(
        500,
        Array.from({ length: 1_000 }, (_, index) => ({ index })),
      ),
    ]) {
      const parts = [...indentedJsonParts(JSON.stringify(value))];
      expect(parts.join('')).toBe(encodeJsonGo(value, { pretty: true }));
      expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(128 * 1024);
    }
  });

  test('writes long texts in parts that end between characters', () => {
    for (const text of [
      'x'.repeat(200_000),
      '<'.repeat(200_000),
      '\u{1f600}'.repeat(100_000),
      `a${'\u{1f600}'.repeat(100_000)}`,
    ]) {
      const parts = [...indentedJsonParts(JSON.stringify({ text }))];
      expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(6 * 64 * 1024);
      expect(parts.every((part) => part.isWellFormed())).toBe(true);
      expect(parts.join('')).toBe(encodeJsonGo({ text }, { pretty: true }));
      for (const pretty of [true, false])
        expect(runToCompletion(encodeJsonGoIncrementally({ text, list: [1] }, pretty))).toBe(
          encodeJsonGo({ text, list: [1] }, { pretty }),
        );
    }
  });

  test('sorts by bytes, whatever the names, and loses nothing', () => {
    expect(['\u{1f600}', '\uff5e', 'a', 'ä', 'a/', 'a'].sort(compareBytewise)).toEqual([
      'a',
      'a',
      'a/',
      'ä',
      '\uff5e',
      '\u{1f600}',
    ]);
    fc.assert(
      fc.property(
        fc.object({
          key: fc.oneof(fc.string(), fc.constantFrom('__proto__', '1', '10', '2')),
          maxDepth: 4,
          values: [fc.integer(), fc.string()],
        }),
        (value) => {
          const text = encodeJsonGo(value, { sortKeys: true });
          const plain = JSON.parse(JSON.stringify(value)) as unknown;
          expect(JSON.parse(text)).toEqual(plain);
          expect(JSON.parse(encodeJsonGo(value, { sortKeys: true, pretty: true }))).toEqual(plain);
          const names = Object.keys(value);
          expect(topLevelNames(text)).toEqual(names.sort(compareBytewise));
        },
      ),
    );
  });
});

/** Names of the outermost object in the order of the text. */
function topLevelNames(text: string): string[] {
  const names: string[] = [];
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*":?|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth++;
    else if (token === '}' || token === ']') depth--;
    else if (depth === 1 && token.endsWith(':')) names.push(JSON.parse(token.slice(0, -1)) as string);
  }
  return names;
}

test('duplicates of deep members are reported up to the limit, in bounded memory', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `"k${index}":1,"k${index}":2`);
  const [path, depth] = ['deep'.repeat(10), 900];
  const { duplicates } = parseJsonStrict(`${`{"${path}":`.repeat(depth)}{${names.join(',')}}${'}'.repeat(depth)}`);
  expect(duplicates.length).toBeGreaterThanOrEqual(100);
  expect(duplicates[0]).toBe(`${`${path}.`.repeat(depth)}k0`);
  expect(duplicates.join('').length).toBeLessThan(5 * 1024 * 1024);
});

describe('parseJsonIncrementally', () => {
  /** What comes out, and after how many pauses. */
  function read(text: string, strict: boolean): { result: unknown; pauses: number } {
    const steps = parseJsonIncrementally(text, strict);
    for (let pauses = 0; ; pauses++) {
      const { done, value } = steps.next();
      if (done === true) return { result: value, pauses };
    }
  }
  const many = (count: number): string =>
    `{"data":{${Array.from({ length: count }, (_, index) => `"key${index}":"\\u00e4",`).join('')}"__proto__":1,"key0":2}}`;

  test.each([true, false])('reads what is read in one go (strict: %s)', (strict) => {
    for (const count of [3, 50_000]) {
      const expected = strict ? parseJsonStrict(many(count)) : { value: parseJson(many(count)), duplicates: [] };
      expect(read(many(count), strict).result).toEqual(expected);
    }
  });

  test('pauses within a text of many members', () => {
    expect(read(many(50_000), true).pauses).toBeGreaterThanOrEqual(10);
    expect(read(many(50_000), false).pauses).toBeGreaterThanOrEqual(10);
  });

  test.each([true, false])('limits the members of one object, not of all (strict: %s)', (strict) => {
    const parse = (text: string): unknown =>
      runToCompletion(parseJsonIncrementally(text, strict, { limits: { maxMembers: 30_000, maxValues: Infinity } }));
    expect(parse(`[${many(25_000)},${many(25_000)}]`)).toMatchObject({
      duplicates: strict ? [expect.any(String), expect.any(String)] : [],
    });
    expect(() => parse(`{"a":${many(30_000)}}`)).toThrow('an object has more than 30000 members');
  });

  test.each([true, false])('limits the values of all objects and lists (strict: %s)', (strict) => {
    const parse = (text: string): unknown =>
      runToCompletion(parseJsonIncrementally(text, strict, { limits: { maxMembers: Infinity, maxValues: 30_000 } }))
        .value;
    const list = (count: number, item: string): string => `[${Array.from({ length: count }, () => item).join()}]`;
    expect(parse(list(29_999, '1'))).toHaveLength(29_999);
    for (const text of [list(30_000, '1'), list(30_000, '[]'), list(15_000, '{"a":1}'), `${list(30_000, '{}')}x`])
      expect(() => parse(text)).toThrow('more than 30000 values');
  });

  test('fails as the other readers do', () => {
    for (const text of ['{"a":1,', `${many(50_000)}x`, '['.repeat(2000)]) {
      let message = '';
      try {
        parseJson(text);
      } catch (error) {
        ({ message } = error as Error);
      }
      expect(message).not.toBe('');
      expect(() => read(text, true)).toThrow(message);
    }
  });
});

describe('encodeJsonIncrementally', () => {
  const wide = (count: number): Json =>
    parseJson(
      `{${Array.from({ length: count }, (_, index) => `"k${index}":"v\\"",`).join('')}"__proto__":1,"7":9007199254740993}`,
    );

  test.each<[string, Json]>([
    ['what is narrow', { a: [1, 'b', null, {}, []], c: { d: { e: { f: { g: { h: { i: {} } } } } } } }],
    ['what is wide', { a: { b: wide(5_000), c: [{ d: wide(4_000) }] } }],
    ['a long list', { list: Array.from({ length: 5_000 }, (_, index) => ({ index, big: 2n ** 60n })), other: 'x' }],
    ['what holds members that are none', { a: undefined, b: { c: undefined, d: 1 } } as unknown as Json],
  ])('writes %s as it is written in one go', (_, value) => {
    const steps = encodeJsonIncrementally(value);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    expect(step.value).toBe(encodeJson(value));
  });

  test('pauses within what is wide', () => {
    const steps = encodeJsonIncrementally({ data: wide(50_000) });
    let pauses = 0;
    while (steps.next().done !== true) pauses++;
    expect(pauses).toBeGreaterThanOrEqual(20);
  });
});
