import { describe, expect, test } from '@jest/globals';
import { fieldErrorText, type JsonObject } from '@multiplane/apimachinery';
import { compileSchema } from './compile-schema.ts';

const custom = (spec: JsonObject, more: JsonObject = {}) =>
  compileSchema(
    { type: 'object', properties: { spec: { type: 'object', properties: spec } }, ...more },
    { origin: 'custom' },
  );
const json = (text: string): JsonObject => JSON.parse(text) as JsonObject;

describe('defaults', () => {
  const schema = custom({
    a: { type: 'string', default: 'A' },
    n: { type: 'string', nullable: true, default: 'N' },
    nn: { type: 'string', nullable: true },
    o: {
      type: 'object',
      default: {},
      properties: {
        i: { type: 'integer', default: 7 },
        deep: { type: 'object', properties: { x: { type: 'string', default: 'X' } } },
      },
    },
    l: {
      type: 'array',
      items: { type: 'object', properties: { p: { type: 'integer' }, q: { type: 'string', default: 'Q' } } },
    },
    m: {
      type: 'object',
      additionalProperties: { type: 'object', properties: { d: { type: 'boolean', default: true } } },
    },
    __proto__: { type: 'string' },
  });
  test.each<[string, string, string]>([
    ['an empty parent', '{}', '{"a":"A","n":"N","o":{"i":7}}'],
    ['given values stay', '{"a":"x"}', '{"a":"x","n":"N","o":{"i":7}}'],
    [
      'null takes the default unless it is allowed',
      '{"a":null,"n":null,"nn":null}',
      '{"a":"A","n":null,"nn":null,"o":{"i":7}}',
    ],
    ['null object', '{"o":null}', '{"o":{"i":7},"a":"A","n":"N"}'],
    ['nested', '{"o":{"deep":{}}}', '{"o":{"deep":{"x":"X"},"i":7},"a":"A","n":"N"}'],
    ['items', '{"l":[{},{"p":1,"q":"z"}]}', '{"l":[{"q":"Q"},{"p":1,"q":"z"}],"a":"A","n":"N","o":{"i":7}}'],
    [
      'values of maps',
      '{"m":{"x":{},"y":{"d":false}}}',
      '{"m":{"x":{"d":true},"y":{"d":false}},"a":"A","n":"N","o":{"i":7}}',
    ],
  ])('%s', (_name, spec, expected) => {
    const object: JsonObject = { spec: json(spec) };
    schema.applyDefaults(object);
    expect(object).toEqual({ spec: json(expected) });
  });

  test('an absent or null parent gets nothing', () => {
    const object: JsonObject = { metadata: { name: 'a' }, spec: null };
    schema.applyDefaults(object);
    expect(object).toEqual({ metadata: { name: 'a' } });
  });

  test('a default is copied, never shared', () => {
    const schema = custom({
      o: { type: 'object', default: { x: { y: 1 } }, 'x-kubernetes-preserve-unknown-fields': true },
    });
    const first: JsonObject = { spec: {} };
    schema.applyDefaults(first);
    (first as { spec: { o: { x: { y: number } } } }).spec.o.x.y = 2;
    const second: JsonObject = { spec: {} };
    schema.applyDefaults(second);
    expect(second).toEqual({ spec: { o: { x: { y: 1 } } } });
  });
});

describe('pruning', () => {
  const inner: JsonObject = { type: 'object', properties: { a: { type: 'string' } } };
  const schema = custom({
    known: { type: 'string' },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { strict: inner } },
    list: { type: 'array', items: inner },
    map: { type: 'object', additionalProperties: inner },
    tpl: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
    strictTpl: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: inner } },
    freeList: {
      'x-kubernetes-preserve-unknown-fields': true,
      type: 'array',
      items: { type: 'object', properties: { strict: inner } },
    },
    nothing: { type: 'object', additionalProperties: false },
  });

  test('unknown fields go and are named in order', () => {
    const object = json(
      '{"apiVersion":"x/v1","kind":"X","metadata":{"name":"a"},"spec":{"known":"k","unknown":"u","free":{"any":1,"strict":{"a":"x","b":"y"}},"list":[{"a":"x","b":"y"}],"map":{"k":{"a":"x","b":"y"}}},"top":"x"}',
    );
    expect(schema.prune(object).unknownFields).toEqual([
      'spec.free.strict.b',
      'spec.list[0].b',
      'spec.map.k.b',
      'spec.unknown',
      'top',
    ]);
    expect(object).toEqual(
      json(
        '{"apiVersion":"x/v1","kind":"X","metadata":{"name":"a"},"spec":{"known":"k","free":{"any":1,"strict":{"a":"x"}},"list":[{"a":"x"}],"map":{"k":{"a":"x"}}}}',
      ),
    );
  });

  test('unknown metadata goes, of the object and of embedded resources', () => {
    const object = json(
      '{"metadata":{"name":"d","nope":"x","labels":{"a":"b"}},"spec":{"tpl":{"kind":"Y","metadata":{"labels":{"z":"1"},"no":1},"any":{"x":1}},"strictTpl":{"apiVersion":"v1","metadata":{"name":"m"},"spec":{"a":"1","c":2},"other":1}}}',
    );
    expect(schema.prune(object).unknownFields).toEqual([
      'metadata.nope',
      'spec.strictTpl.other',
      'spec.strictTpl.spec.c',
      'spec.tpl.metadata.no',
    ]);
    expect(object['spec']).toEqual({
      tpl: { kind: 'Y', metadata: { labels: { z: '1' } }, any: { x: 1 } },
      strictTpl: { apiVersion: 'v1', metadata: { name: 'm' }, spec: { a: '1' } },
    });
  });

  test('items of a preserving list keep what is unknown, named fields are pruned', () => {
    const object = json('{"spec":{"freeList":[{"x":1,"strict":{"a":"1","b":"2"}}]}}');
    expect(schema.prune(object).unknownFields).toEqual(['spec.freeList[0].strict.b']);
    expect(object).toEqual(json('{"spec":{"freeList":[{"x":1,"strict":{"a":"1"}}]}}'));
  });

  test('lists of lists have full paths', () => {
    const lists = custom({
      a: {
        'x-kubernetes-preserve-unknown-fields': true,
        type: 'array',
        items: { type: 'array', items: { type: 'object', properties: { strict: inner } } },
      },
      b: { type: 'array', items: { type: 'array', items: inner } },
    });
    const object = json('{"spec":{"a":[[{"x":1,"strict":{"b":1}}]],"b":[[],[{"x":1}]]}}');
    expect(lists.prune(object).unknownFields).toEqual(['spec.a[0][0].strict.b', 'spec.b[1][0].x']);
    expect(object).toEqual(json('{"spec":{"a":[[{"x":1,"strict":{}}]],"b":[[],[{}]]}}'));
  });

  test('a key named __proto__ is a field like any other', () => {
    const object = json('{"spec":{"__proto__":{"polluted":1},"map":{"__proto__":{"a":"x","b":"y"}}}}');
    expect(schema.prune(object).unknownFields).toEqual(['spec.__proto__', 'spec.map.__proto__.b']);
    expect(JSON.stringify(object)).toBe('{"spec":{"map":{"__proto__":{"a":"x"}}}}');
  });
});

describe('updates', () => {
  const schema = custom({
    a: { type: 'string', maxLength: 3 },
    b: { type: 'string', maxLength: 3 },
    set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string', maxLength: 3 } },
    map: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
      items: { type: 'object', properties: { k: { type: 'string' }, v: { type: 'string', maxLength: 3 } } },
    },
    plain: { type: 'array', items: { type: 'string', maxLength: 3 } },
  });
  const errors = (old: JsonObject, spec: JsonObject): string[] =>
    schema.validate({ spec }, { old: { spec: old } }).map(fieldErrorText);

  test('what was too long and did not change may stay', () => {
    expect(errors({ a: 'long one', b: 'ok' }, { a: 'long one', b: 'new' })).toEqual([]);
    expect(errors({ a: 'long one' }, { a: 'changed' })).toEqual(['spec.a: Too long: may not be more than 3 bytes']);
    expect(errors({ a: 'long one', b: 'ok' }, { a: 'long one', b: 'too long' })).toEqual([
      'spec.b: Too long: may not be more than 3 bytes',
    ]);
  });
  test('items are compared by key in list maps; other lists only as a whole', () => {
    expect(errors({ plain: ['long'], a: 'x' }, { plain: ['long'], a: 'y' })).toEqual([]);
    expect(errors({ plain: ['long'] }, { plain: ['long', 'x'] })).toEqual([
      'spec.plain[0]: Too long: may not be more than 3 bytes',
    ]);
    expect(errors({ map: [{ k: 'a', v: 'long' }] }, { map: [{ k: 'b' }, { k: 'a', v: 'long' }] })).toEqual([]);
    expect(errors({ set: ['long'] }, { set: ['long', 'x'] })).toEqual([
      'spec.set[0]: Too long: may not be more than 3 bytes',
    ]);
  });
  test('repeated items are an error only where there were none before', () => {
    expect(errors({ set: ['a', 'a'] }, { set: ['a', 'a', 'a'] })).toEqual([]);
    expect(errors({ set: ['a'] }, { set: ['a', 'a'] })).toEqual(['spec.set[1]: Duplicate value: "a"']);
  });
});

describe('large numbers', () => {
  const schema = custom({
    i: { type: 'integer', maximum: 10 },
    any: { type: 'integer', multipleOf: 2 },
    set: { type: 'array', items: { type: 'integer' }, 'x-kubernetes-list-type': 'set' },
  });
  test('integers beyond 2^53 are compared exactly', () => {
    expect(schema.validate({ spec: { i: 9007199254740993n } }).map(fieldErrorText)).toEqual([
      'spec.i: Invalid value: 9007199254740993: spec.i in body should be less than or equal to 10',
    ]);
    expect(schema.validate({ spec: { any: 9007199254740993n } }).map(fieldErrorText)).toEqual([
      'spec.any: Invalid value: 9007199254740993: spec.any in body should be a multiple of 2',
    ]);
    expect(schema.validate({ spec: { set: [9007199254740993n, 9007199254740995n] } })).toEqual([]);
  });
  test('what int64 cannot hold is no integer', () => {
    expect(schema.validate({ spec: { any: 2n ** 64n } }).map(fieldErrorText)).toEqual([
      'spec.any: Invalid value: "number": spec.any in body must be of type integer: "number"',
      '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.any',
    ]);
  });
});

describe('rules of the schema', () => {
  const source: JsonObject = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: { a: { type: 'string', maxLength: 3, 'x-kubernetes-validations': [{ rule: 'true' }] } },
      },
    },
  };
  const judge = { validate: () => [{ type: 'FieldValueInvalid' as const, field: 'spec', detail: 'judged' }] };
  const schema = compileSchema(source, { origin: 'custom', rules: () => judge });
  test('are judged after the values, and not when those are unfit', () => {
    expect(schema.validate({ spec: { a: 'x' } }).map((error) => error.detail)).toEqual(['judged']);
    expect(schema.validate({ spec: { a: 'long one' } }).map(fieldErrorText)).toEqual([
      'spec.a: Too long: may not be more than 3 bytes',
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ]);
  });
});

describe('embedded resources', () => {
  const schema = custom({
    tpl: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
  });
  test('name their kind', () => {
    expect(schema.validate({ spec: { tpl: { kind: 'A_b' } } }).map((error) => `${error.field} ${error.type}`)).toEqual([
      'spec.tpl.apiVersion FieldValueRequired',
      'spec.tpl.kind FieldValueInvalid',
    ]);
    expect(schema.validate({ spec: { tpl: { apiVersion: 'v1', kind: 'Pod', metadata: {} } } })).toEqual([]);
  });
});

test('a hash names the content', () => {
  const one = custom({ a: { type: 'string' } });
  expect(custom({ a: { type: 'string' } }).hash).toBe(one.hash);
  expect(custom({ a: { type: 'integer' } }).hash).not.toBe(one.hash);
});

test('a number that is no integer is one error where a text fits as well; embedded resources lack their kind', () => {
  const schema = compileSchema(
    {
      type: 'object',
      properties: {
        port: { 'x-kubernetes-int-or-string': true },
        embedded: { type: 'object', 'x-kubernetes-embedded-resource': true },
      },
    },
    { origin: 'custom' },
  );
  expect(schema.validate({ port: 1.5, embedded: {} }).map(fieldErrorText)).toEqual([
    'port: Invalid value: "number": port in body must be of type integer,string: "number"',
    'embedded.apiVersion: Required value',
    'embedded.kind: Required value',
  ]);
});
