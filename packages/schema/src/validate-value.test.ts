import { describe, expect, test } from '@jest/globals';
import {
  fieldErrorBody,
  fieldErrorText,
  maxCauses,
  statusErrors,
  type FieldError,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import { compileSchema } from './compile-schema.ts';
import { SchemaCompiler } from './schema-compiler.ts';
import { ValueValidator } from './validate-value.ts';

const causes = (errors: readonly FieldError[]): string[] =>
  errors.map((error) => `${error.type} ${error.field} | ${fieldErrorBody(error)}`);
const custom = (spec: JsonObject, more: JsonObject = {}) =>
  compileSchema(
    { type: 'object', properties: { spec: { type: 'object', properties: spec }, ...more } },
    { origin: 'custom' },
  );
const object = (spec: unknown): JsonObject =>
  ({ apiVersion: 'x/v1', kind: 'X', metadata: { name: 'a' }, spec }) as JsonObject;

/** Expectations as a real server gave them: one line per cause. */
describe('values that do not fit the schema', () => {
  const schema = custom({
    i: { type: 'integer', minimum: 1, maximum: 10 },
    x: { type: 'number', exclusiveMinimum: true, minimum: 0 },
    mu: { type: 'integer', multipleOf: 5 },
    s: { type: 'string', minLength: 2, maxLength: 5 },
    p: { type: 'string', pattern: '^a+$' },
    e: { type: 'string', enum: ['x', 'y'] },
    b: { type: 'boolean' },
    l: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'integer' } },
    o: { type: 'object', minProperties: 1, maxProperties: 2, additionalProperties: { type: 'string' } },
    r: { type: 'object', required: ['q'], properties: { q: { type: 'string' } } },
    ios: { 'x-kubernetes-int-or-string': true },
    i32: { type: 'integer', format: 'int32' },
    one: {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    any: { type: 'integer', anyOf: [{ minimum: 10 }, { maximum: 2 }] },
    not: { type: 'string', not: { enum: ['bad'] } },
    all: { type: 'integer', allOf: [{ minimum: 3 }, { maximum: 4 }] },
    en: { type: 'integer', enum: [1, 2] },
    set: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    map: {
      type: 'array',
      items: { type: 'object', required: ['k'], properties: { k: { type: 'string' }, v: { type: 'string' } } },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
    },
    date: { type: 'string', format: 'date' },
    dated: { type: 'object', format: 'date' },
  });
  test.each<[string, unknown, string[]]>([
    [
      'minimum',
      { i: 0 },
      ['FieldValueInvalid spec.i | Invalid value: 0: spec.i in body should be greater than or equal to 1'],
    ],
    [
      'maximum',
      { i: 11 },
      ['FieldValueInvalid spec.i | Invalid value: 11: spec.i in body should be less than or equal to 10'],
    ],
    [
      'fraction',
      { i: 1.5 },
      [
        'FieldValueTypeInvalid spec.i | Invalid value: "number": spec.i in body must be of type integer: "number"',
        'FieldValueInvalid <nil> | Invalid value: "": Checked value must be of type integer (default format) in spec.i',
      ],
    ],
    ['exclusive', { x: 0 }, ['FieldValueInvalid spec.x | Invalid value: 0: spec.x in body should be greater than 0']],
    [
      'multiple',
      { mu: 7 },
      ['FieldValueInvalid spec.mu | Invalid value: 7: spec.mu in body should be a multiple of 5'],
    ],
    [
      'string type',
      { s: 5 },
      ['FieldValueTypeInvalid spec.s | Invalid value: "integer": spec.s in body must be of type string: "integer"'],
    ],
    [
      'minLength',
      { s: 'a' },
      ['FieldValueInvalid spec.s | Invalid value: "a": spec.s in body should be at least 2 chars long'],
    ],
    ['maxLength', { s: 'abcdef' }, ['FieldValueTooLong spec.s | Too long: may not be more than 5 bytes']],
    ['characters count, not bytes', { s: 'üüüüü' }, []],
    ['characters beyond the basic plane', { s: '😀😀😀😀😀' }, []],
    [
      'one such character is one',
      { s: '😀' },
      ['FieldValueInvalid spec.s | Invalid value: "😀": spec.s in body should be at least 2 chars long'],
    ],
    ['pattern', { p: 'b' }, ['FieldValueInvalid spec.p | Invalid value: "b": spec.p in body should match \'^a+$\'']],
    [
      'boolean',
      { b: 'true' },
      ['FieldValueTypeInvalid spec.b | Invalid value: "string": spec.b in body must be of type boolean: "string"'],
    ],
    [
      'boolean from integer',
      { b: 1 },
      ['FieldValueTypeInvalid spec.b | Invalid value: "integer": spec.b in body must be of type boolean: "integer"'],
    ],
    [
      'minItems',
      { l: [] },
      ['FieldValueInvalid spec.l | Invalid value: 0: spec.l in body should have at least 1 items'],
    ],
    ['maxItems', { l: [1, 2, 3] }, ['FieldValueTooMany spec.l | Too many: 3: must have at most 2 items']],
    [
      'item type',
      { l: ['x'] },
      [
        'FieldValueTypeInvalid spec.l[0] | Invalid value: "string": spec.l[0] in body must be of type integer: "string"',
      ],
    ],
    [
      'array type',
      { l: {} },
      ['FieldValueTypeInvalid spec.l | Invalid value: "object": spec.l in body must be of type array: "object"'],
    ],
    [
      'null item',
      { l: [null] },
      ['FieldValueTypeInvalid spec.l[0] | Invalid value: "null": spec.l[0] in body must be of type integer: "null"'],
    ],
    [
      'minProperties',
      { o: {} },
      ['FieldValueInvalid spec.o | Invalid value: 0: spec.o in body should have at least 1 properties'],
    ],
    [
      'maxProperties',
      { o: { a: '1', b: '2', c: '3' } },
      ['FieldValueTooMany spec.o | Too many: 3: must have at most 2 items'],
    ],
    [
      'value of a map',
      { o: { a: 1 } },
      ['FieldValueTypeInvalid spec.o.a | Invalid value: "integer": spec.o.a in body must be of type string: "integer"'],
    ],
    ['required', { r: {} }, ['FieldValueRequired spec.r.q | Required value']],
    [
      'int-or-string',
      { ios: true },
      [
        'FieldValueTypeInvalid spec.ios | Invalid value: "boolean": spec.ios in body must be of type integer,string: "boolean"',
      ],
    ],
    ['int-or-string takes both', { ios: '5%' }, []],
    [
      'int32',
      { i32: 3000000000 },
      [
        'FieldValueInvalid <nil> | Invalid value: "": Checked value must be of type integer with format int32 in spec.i32',
      ],
    ],
    [
      'oneOf, both',
      { one: { a: 'x', b: 'y' } },
      [
        'FieldValueInvalid <nil> | Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found 2 valid alternatives',
      ],
    ],
    [
      'oneOf, none',
      { one: {} },
      [
        'FieldValueInvalid <nil> | Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found none valid',
        'FieldValueRequired spec.one.a | Required value',
      ],
    ],
    [
      'anyOf',
      { any: 5 },
      [
        'FieldValueInvalid <nil> | Invalid value: "": "spec.any" must validate at least one schema (anyOf)',
        'FieldValueInvalid spec.any | Invalid value: 5: spec.any in body should be greater than or equal to 10',
      ],
    ],
    [
      'not',
      { not: 'bad' },
      ['FieldValueInvalid <nil> | Invalid value: "": "spec.not" must not validate the schema (not)'],
    ],
    [
      'allOf',
      { all: 5 },
      [
        'FieldValueInvalid spec.all | Invalid value: 5: spec.all in body should be less than or equal to 4',
        'FieldValueInvalid <nil> | Invalid value: "": "spec.all" must validate all the schemas (allOf)',
      ],
    ],
    ['enum', { e: 'z' }, ['FieldValueNotSupported spec.e | Unsupported value: "z": supported values: "x", "y"']],
    [
      'enum of numbers',
      { en: 3 },
      ['FieldValueNotSupported spec.en | Unsupported value: 3: supported values: "1", "2"'],
    ],
    ['set', { set: ['a', 'b', 'a'] }, ['FieldValueDuplicate spec.set[2] | Duplicate value: "a"']],
    [
      'list map',
      { map: [{ k: 'a' }, { k: 'b' }, { k: 'a', v: 'x' }] },
      ['FieldValueDuplicate spec.map[2] | Duplicate value: {"k":"a"}'],
    ],
    ['key of a list map', { map: [{}] }, ['FieldValueRequired spec.map[0].k | Required value']],
    [
      'text for an object',
      'text',
      ['FieldValueTypeInvalid spec | Invalid value: "string": spec in body must be of type object: "string"'],
    ],
    [
      'array for an object',
      [],
      ['FieldValueTypeInvalid spec | Invalid value: "array": spec in body must be of type object: "array"'],
    ],
    [
      'format',
      { date: '2026-13-01' },
      [
        'FieldValueTypeInvalid spec.date | Invalid value: "2026-13-01": spec.date in body must be of type date: "2026-13-01"',
      ],
    ],
    [
      'format, other type',
      { date: 5 },
      ['FieldValueTypeInvalid spec.date | Invalid value: "int64": spec.date in body must be of type date: "int64"'],
    ],
    ['format, a list', { date: [] }, []],
    [
      'format of an object, which has none, a text',
      { dated: '2026-11-24' },
      [
        'FieldValueTypeInvalid spec.dated | Invalid value: "string": spec.dated in body must be of type object: "string"',
      ],
    ],
    [
      'format of a number, a list',
      { i32: [] },
      ['FieldValueTypeInvalid spec.i32 | Invalid value: "array": spec.i32 in body must be of type integer: "array"'],
    ],
  ])('%s', (_name, spec, expected) => {
    expect(causes(schema.validate(object(spec)))).toEqual(expected);
  });

  test('the status alone has paths without its name in the text', () => {
    const schema = custom(
      { n: { type: 'integer' } },
      { status: { type: 'object', properties: { n: { type: 'integer' } } } },
    );
    const value = { ...object({ n: 'not looked at' }), status: { n: 'x' } };
    expect(causes(schema.validate(value, { subtree: 'status' }))).toEqual([
      'FieldValueTypeInvalid status.n | Invalid value: "string": n in body must be of type integer: "string"',
    ]);
  });
});

test('all failures are counted, those beyond the limit have no texts', () => {
  const schema = custom({ m: { type: 'object', additionalProperties: { type: 'string' } } });
  const m = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`k${index}`, index]));
  const errors = schema.validate(object({ m }));
  expect(errors).toHaveLength(3_000);
  expect(new Set(errors.slice(0, maxCauses).map(({ field }) => field)).size).toBe(maxCauses);
  expect(new Set(errors.slice(maxCauses)).size).toBe(1);
  const { message } = statusErrors.invalid({ group: 'x', kind: 'X' }, 'a', errors);
  expect(message).toMatch(/spec\.m\.k999 in body must be of type string: "integer", and 2000 more errors\]$/);
  expect(schema.validate(object({ m }), { old: object({ m }) })).toEqual([]);
});

describe('numbers, counts and repeated errors as kube-openapi reports them', () => {
  const texts = (source: JsonObject, value: Json): string[] => {
    const validator = new ValueValidator();
    validator.validate(value, new SchemaCompiler({ origin: 'custom' }).compile(source), undefined);
    return validator.errors.map(fieldErrorText);
  };

  test('limits are printed as Go prints floats, the lower before the upper', () => {
    expect(texts({ type: 'integer', minimum: 2147483648, maximum: 1000000 }, 2000000)).toEqual([
      '<nil>: Invalid value: 2000000:  in body should be greater than or equal to 2.147483648e+09',
      '<nil>: Invalid value: 2000000:  in body should be less than or equal to 1e+06',
    ]);
  });

  test('limits of integers must be integers', () => {
    expect(texts({ type: 'integer', maximum: 1.5 }, 1)).toEqual([
      '<nil>: Invalid value: "": Maximum boundary value must be of type integer (default format) in ',
    ]);
  });

  test('too few properties do not hide what is wrong with those that are there', () => {
    const source = { type: 'object', minProperties: 2, properties: { a: { type: 'string' } } };
    expect(texts(source, { a: 1 })).toHaveLength(2);
  });

  test('what several alternatives find is told once', () => {
    const rule = { required: ['a'] };
    expect(texts({ type: 'object', allOf: [rule, rule], ...rule }, {})).toEqual([
      'a: Required value',
      '<nil>: Invalid value: "": "" must validate all the schemas (allOf). None validated',
    ]);
  });

  test('what is listed is compared after a conversion to its type', () => {
    const isListed = (allowed: readonly Json[], value: Json): boolean =>
      texts({ enum: allowed as Json[], nullable: true }, value).length === 0;
    expect([2.5, 2, -2.5].map((value) => isListed([1, 2], value))).toEqual([true, true, false]);
    expect([97, 98, 'a'].map((value) => isListed(['a'], value))).toEqual([true, false, true]);
    expect(isListed([null, 'a'], null)).toBe(false);
    expect(isListed([{ b: 1, a: 2 }], { a: 2, b: 1 })).toBe(true);
  });
});
