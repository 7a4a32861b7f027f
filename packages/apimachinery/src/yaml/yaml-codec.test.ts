import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compareAnyKeys, compareKeys } from './yaml-encoder.ts';
import { parseJson } from '../json/json-codec.ts';
import { deepEqual, type Json, type JsonObject } from '../json/json.ts';
import { encodeYaml, encodeYamlIncrementally, parseYaml, parseYamlStrict } from './yaml-codec.ts';

describe('parseYaml', () => {
  test('reads what kubectl sends', () => {
    const text =
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yml\n  labels: {a: "b"}\ndata:\n  y: "z"\n  k: |\n    two\n    lines\n  n: "5"\n  empty: ""\n';
    expect(parseYaml(text)).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'yml', labels: { a: 'b' } },
      data: { empty: '', false: '5', k: 'two\nlines\n', true: 'z' },
    });
  });

  test.each([
    ['yes', true],
    ['Off', false],
    ['~', null],
    ['', null],
    ['null', null],
    ['0x1F', 31],
    ['017', 15],
    ['0o17', 15],
    ['0b101', 5],
    ['1_000', 1000],
    ['-12', -12],
    ['9007199254740993', 9007199254740993n],
    ['1.50', 1.5],
    ['1e3', 1000],
    ['.5', 0.5],
    ['08', 8],
    ['12:30', '12:30'],
    ['2026-01-02', '2026-01-02'],
    ['1.2.3', '1.2.3'],
    ['v1', 'v1'],
    ['!!str 5', '5'],
    ["'5'", '5'],
    ['!!binary aGk=', 'hi'],
  ])('takes %j for what YAML 1.1 in Go takes it', (text, value) => {
    expect(parseYaml(`a: ${text}\n`)).toEqual({ a: value });
  });

  test('reads the first of several documents, comments only as null, and JSON', () => {
    expect(parseYaml('a: 1\n---\nb: 2\n')).toEqual({ a: 1 });
    expect(parseYaml('# nothing\n')).toBeNull();
    expect(parseYaml(' {"a": 9007199254740993}')).toEqual({ a: 9007199254740993n });
    expect(parseYaml('{a: b, 1: [c]}')).toEqual({ a: 'b', 1: ['c'] });
  });

  test('copies aliases and merges merge keys', () => {
    const value = parseYaml(
      'x: &x {q: 1, r: 2}\ny: *x\nz: {<<: *x, r: 3}\nw: {<<: [{a: 1}, {a: 2, b: 2}]}\n',
    ) as Record<string, Json>;
    expect(value).toEqual({ x: { q: 1, r: 2 }, true: { q: 1, r: 2 }, z: { q: 1, r: 3 }, w: { a: 1, b: 2 } });
    expect(value['true']).not.toBe(value['x']);
  });

  test('reports repeated keys by line; the last wins', () => {
    expect(parseYamlStrict('data:\n  a: 1\n  b: 2\n  a: 3\n')).toEqual({
      value: { data: { a: 3, b: 2 } },
      duplicates: ['line 4: key "a" already set in map'],
    });
    expect(parseYamlStrict('{"a":1,"a":2}')).toEqual({
      value: { a: 2 },
      duplicates: ['line 1: key "a" already set in map'],
    });
  });

  test('makes __proto__ an own property', () => {
    expect(Object.keys(parseYaml('__proto__: {a: 1}\n') as object)).toEqual(['__proto__']);
  });

  test.each([
    ['a: [', /^yaml: line \d+: /],
    ['a: &a [*a]', "yaml: anchor 'a' value contains itself"],
    ['a: *b', /^yaml: /],
    ['a: .inf', 'yaml: line 1: unsupported value: .inf'],
    ['[a]: b', 'yaml: line 1: invalid map key'],
    ['~: b', 'yaml: line 1: invalid map key'],
    ['a: {<<: 5}', 'yaml: map merge requires map or sequence of maps as the value'],
    [`${'['.repeat(1200)}${']'.repeat(1200)}`, 'yaml: exceeded max depth'],
    [`${'['.repeat(20_000)}${']'.repeat(20_000)}`, 'yaml: exceeded max depth'],
  ])('refuses %.20j', (text, message) => {
    expect(() => parseYaml(text)).toThrow(message);
  });

  test('defuses bombs of aliases', () => {
    let bomb = 'a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n';
    for (let level = 1; level < 12; level++)
      bomb += `a${level}: &a${level} [${Array.from({ length: 10 }, () => `*a${level - 1}`).join(',')}]\n`;
    expect(() => parseYaml(bomb)).toThrow('yaml: document contains excessive aliasing');
  });
});

describe('encodeYaml', () => {
  test('writes an object as Kubernetes does', () => {
    const status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'configmaps "none" not found',
      reason: 'NotFound',
      details: { name: 'none', kind: 'configmaps' },
      code: 404,
    };
    expect(encodeYaml(status)).toBe(
      'apiVersion: v1\ncode: 404\ndetails:\n  kind: configmaps\n  name: none\nkind: Status\nmessage: configmaps "none" not found\nmetadata: {}\nreason: NotFound\nstatus: Failure\n',
    );
    const configMap = {
      metadata: {
        creationTimestamp: '2026-01-02T03:04:05Z',
        managedFields: [{ fieldsV1: { 'f:data': { '.': {}, 'f:false': {} } }, manager: 'unknown' }],
      },
      data: { empty: '', k: 'two\nlines\n', true: 'z', false: '5' },
    };
    expect(encodeYaml(configMap)).toBe(
      'data:\n  empty: ""\n  "false": "5"\n  k: |\n    two\n    lines\n  "true": z\nmetadata:\n  creationTimestamp: "2026-01-02T03:04:05Z"\n  managedFields:\n  - fieldsV1:\n      f:data:\n        .: {}\n        f:false: {}\n    manager: unknown\n',
    );
  });

  test.each([
    ['a: b', "'a: b'"],
    ['- a', "'- a'"],
    ['*a', "'*a'"],
    ["it's: x", "'it''s: x'"],
    [' lead', "' lead'"],
    ['yes', '"yes"'],
    ['0x10', '"0x10"'],
    ['1.5', '"1.5"'],
    ['12:30', '"12:30"'],
    ['~', '"~"'],
    ['a\tb', String.raw`"a\tb"`],
    ['\u0007', String.raw`"\a"`],
    ['a\nb', '|-\n  a\n  b'],
    ['a\n\n', '|+\n  a\n'],
    [' a\nb', '|2-\n   a\n  b'],
    ['a \nb', String.raw`"a \nb"`],
    ['ünï', 'ünï'],
    ['{x}', "'{x}'"],
    ['a#b', 'a#b'],
    ['a #b', "'a #b'"],
    ['-x', '-x'],
    ['key:', "'key:'"],
  ])('quotes %j as needed', (text, written) => {
    expect(encodeYaml({ k: text })).toBe(`k: ${written}\n`);
    expect(parseYaml(encodeYaml({ k: text }))).toEqual({ k: text });
  });

  test('writes numbers as Go does', () => {
    expect(encodeYaml([1, -5, 1.5, 1e21, 1.5e-7, 1234567.5, 2n ** 60n, true, null])).toBe(
      '- 1\n- -5\n- 1.5\n- 1e+21\n- 1.5e-07\n- 1.2345675e+06\n- 1152921504606846976\n- true\n- null\n',
    );
  });

  test('sorts keys as go-yaml does: numbers by value, letters last', () => {
    expect(
      encodeYaml({ a10: 1, a9: 1, a: 1, B: 1, _x: 1, 'a-b': 1, a_b: 1 })
        .split('\n')
        .map((line) => line.split(':')[0]),
    ).toEqual(['_x', 'B', 'a', 'a-b', 'a_b', 'a9', 'a10', '']);
  });

  test('folds long lines and long keys so that they come back', () => {
    const words = 'word '.repeat(60).trim();
    const value = {
      a: { plain: words, single: `${words}: x`, double: `"${words}\u0007   end of ${words}`, ['k'.repeat(200)]: words },
    };
    const text = encodeYaml(value);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThan(220);
    expect(text).toContain('word\n    word');
    expect(parseYaml(text)).toEqual(value);
  });

  test('loses nothing', () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }).map((raw) => raw.toWellFormed()),
      fc.constantFrom(
        'y',
        '1e3',
        '- ',
        ' #',
        ': ',
        '\n',
        ' \n ',
        '?',
        '...',
        '---',
        '=',
        '<<',
        '0_1',
        '\u2028',
        '\ufeff',
      ),
    );
    const long = fc
      .array(fc.constantFrom('a', ' ', '  ', 'word', "'", '"', '\\', '\t', '\u0001', ': ', '#'), {
        minLength: 30,
        maxLength: 120,
      })
      .map((parts) => parts.join(''));
    const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        text,
        long,
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('tree')),
        fc.dictionary(text, tie('tree')),
      ) as fc.Arbitrary<Json>,
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const plain = parseJson(JSON.stringify(value));
        const text = encodeYaml(plain);
        expect({ text, same: deepEqual(parseYaml(text), plain) }).toEqual({ text, same: true });
      }),
      { numRuns: 500 },
    );
  });
});

test('the fast comparison of ASCII keys orders as the general one does', () => {
  const part = fc.constantFrom(
    'a',
    'B',
    '0',
    '1',
    '9',
    '00',
    '10',
    '99999999',
    '-',
    '_',
    '.',
    '/',
    ' ',
    'é',
    '中',
    '٣',
    '𝒜',
  );
  const key = fc.array(part, { maxLength: 9 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(key, key, (a, b) => expect(Math.sign(compareKeys(a, b))).toBe(Math.sign(compareAnyKeys(a, b)))),
    { numRuns: 3_000 },
  );
});

describe('hostile YAML', () => {
  test('reports the first error only', () => {
    expect(() => parseYaml(`a: ${'"'.repeat(1_000)}`)).toThrow(
      /^yaml: line 1: Unexpected double-quoted-scalar at node end$/,
    );
    expect(() => parseYaml('a: 1\nb: [1, 2\nc: 3\n')).toThrow(/^yaml: line 3: [^:]*$/);
  });

  test('an alias means the last anchor of its name before it', () => {
    expect(parseYaml('a: &x 1\nb: *x\nc: &x 2\nd: *x\n')).toEqual({ a: 1, b: 1, c: 2, d: 2 });
    expect(() => parseYaml('a: *x\nb: &x 1\n')).toThrow("yaml: unknown anchor 'x' referenced");
    expect(() => parseYaml('&a [*a]')).toThrow("yaml: anchor 'a' value contains itself");
  });

  test('as many aliases as lines cost no more than the lines', () => {
    const count = 20_000;
    const text = `x: &x 1\n${Array.from({ length: count }, (_, i) => `a${i}: *x`).join('\n')}`;
    expect(Object.keys(parseYaml(text) as JsonObject)).toHaveLength(count + 1);
  });

  test('only the first of several documents is looked at', () => {
    expect(parseYaml('a: 1\n---\n[broken')).toEqual({ a: 1 });
  });
});

test('an object is written in steps as in one piece', () => {
  const keys = Array.from({ length: 9_001 }, (_, index) => `k${(index * 7_919) % 9_001}`);
  const value = {
    wide: Object.fromEntries(keys.map((key, index) => [key, index % 3 === 0 ? { b: [1], a: [] } : 'text\nof lines'])),
    list: [[1, ['a', { b: 2, a: {} }]], { z: null, a: [[]] }, []],
    ['x'.repeat(200)]: { 'y z': true },
    absent: undefined,
    empty: {},
  };
  for (const each of [value, [value], [], {}, 'text', { absent: undefined }]) {
    const steps = encodeYamlIncrementally(each);
    let count = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) count++;
    expect(step.value).toBe(encodeYaml(each));
    if (each === value) expect(count).toBeGreaterThan(5);
  }
});
