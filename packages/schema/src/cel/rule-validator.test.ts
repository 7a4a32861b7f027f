import { describe, expect, test } from '@jest/globals';
import { fieldErrorText, type Json, type JsonObject } from '@multiplane/apimachinery';
import { OutOfPatience } from './cel-error.ts';
import { compileRules } from './rule-validator.ts';

const rule = (source: string, more: JsonObject = {}): JsonObject => ({
  'x-kubernetes-validations': [{ rule: source, ...more }],
});
const specOf = (spec: JsonObject): JsonObject => ({ type: 'object', properties: { spec } });

function judge(spec: JsonObject, value: Json, old?: Json): { errors: string[]; warnings: string[] } {
  const warnings: string[] = [];
  const before = old === undefined ? undefined : { spec: old };
  const errors = compileRules(specOf(spec)).validate({ spec: value }, before, (text) => void warnings.push(text));
  return { errors: errors.map(fieldErrorText), warnings };
}
const errorsOf = (spec: JsonObject, value: Json, old?: Json): string[] => judge(spec, value, old).errors;

const numbers: JsonObject = {
  type: 'object',
  properties: { a: { type: 'integer' }, b: { type: 'integer' }, 'c-d': { type: 'string' } },
};

describe('rules', () => {
  test('a failure names the place, and the value if it is a scalar', () => {
    expect(errorsOf({ ...numbers, ...rule('self.a < self.b') }, { a: 2, b: 1 })).toEqual([
      'spec: Invalid value: failed rule: self.a < self.b',
    ]);
    expect(errorsOf({ type: 'integer', ...rule('self > 3', { message: ' too small ' }) }, 3)).toEqual([
      'spec: Invalid value: 3: too small',
    ]);
    expect(errorsOf({ ...numbers, ...rule('self.c__dash__d == "x"') }, { 'c-d': 'x' })).toEqual([]);
  });

  test('reason and field of a rule', () => {
    const of = (reason: string): string[] =>
      errorsOf({ ...numbers, ...rule('false', { reason, fieldPath: '.a', message: 'no' }) }, { a: 1 });
    expect(of('FieldValueForbidden')).toEqual(['spec.a: Forbidden: no']);
    expect(of('FieldValueRequired')).toEqual(['spec.a: Required value: no']);
    expect(of('FieldValueDuplicate')).toEqual(['spec.a: Duplicate value']);
  });

  test('an evaluation that fails', () => {
    expect(errorsOf({ ...numbers, ...rule('self.a > 1') }, {})).toEqual([
      'spec: Invalid value: "object": no such key: a evaluating rule: self.a > 1',
    ]);
    const either: JsonObject = { 'x-kubernetes-int-or-string': true, ...rule('self + 1 > 0') };
    expect(errorsOf(either, 'x')).toEqual([
      'spec: Invalid value: "": \'no such overload\': call arguments did not match a supported operator, function or macro signature for rule: self + 1 > 0',
    ]);
  });

  test('a value of another type than its schema says', () => {
    const either: JsonObject = { 'x-kubernetes-int-or-string': true, ...rule('size(self) < 3') };
    expect(errorsOf(either, 1.5)).toEqual([
      'spec: Invalid value: "": invalid data, expected XIntOrString value to be either a string or integer evaluating rule: size(self) < 3',
    ]);
    expect(errorsOf({ type: 'string', ...rule('self == "a"') }, { a: 1 })).toEqual([
      'spec: Invalid value: "string": invalid data, expected string, got map[string]interface {} evaluating rule: self == "a"',
    ]);
    expect(errorsOf({ type: 'integer', ...rule('self > 1') }, 1.5)).toEqual([
      'spec: Invalid value: "integer": invalid data, expected int, got float64 evaluating rule: self > 1',
    ]);
  });

  test('the message may be an expression; one that fails gives way to the fixed one', () => {
    const text = (messageExpression: string): string[] =>
      errorsOf({ type: 'string', ...rule('false', { messageExpression, message: 'fixed' }) }, 'x');
    expect(text('"got " + self')).toEqual(['spec: Invalid value: "x": got x']);
    expect(text('"a\\nb"')).toEqual(['spec: Invalid value: "x": fixed']);
    expect(text('self.substring(5)')).toEqual(['spec: Invalid value: "x": fixed']);
  });

  test('rules of transitions wait for an old value, unless it is optional', () => {
    const grows: JsonObject = { type: 'integer', ...rule('self >= oldSelf') };
    expect(errorsOf(grows, 1)).toEqual([]);
    expect(errorsOf(grows, 1, 2)).toEqual(['spec: Invalid value: 1: failed rule: self >= oldSelf']);
    const first: JsonObject = { type: 'integer', ...rule('oldSelf.hasValue()', { optionalOldSelf: true }) };
    expect(errorsOf(first, 1)).toEqual(['spec: Invalid value: 1: failed rule: oldSelf.hasValue()']);
  });

  test('items of a list are found by their keys', () => {
    const list: JsonObject = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
      items: {
        type: 'object',
        properties: { k: { type: 'string' }, v: { type: 'integer', ...rule('self >= oldSelf') } },
      },
    };
    const old = [
      { k: 'a', v: 1 },
      { k: 'b', v: 5 },
    ];
    expect(
      errorsOf(
        list,
        [
          { k: 'b', v: 4 },
          { k: 'c', v: 0 },
        ],
        old,
      ),
    ).toEqual(['spec[0].v: Invalid value: 4: failed rule: self >= oldSelf']);
  });

  test('what was invalid before and has not changed is a warning', () => {
    const schema: JsonObject = {
      type: 'object',
      properties: { x: { type: 'string', ...rule('self != "old"', { message: 'no old' }) }, y: { type: 'string' } },
    };
    expect(judge(schema, { x: 'old', y: 'new' }, { x: 'old' })).toEqual({
      errors: [],
      warnings: ['spec.x: Invalid value: "old": no old'],
    });
    expect(judge(schema, { x: 'old' }, { x: 'new' }).errors).toEqual(['spec.x: Invalid value: "old": no old']);
    const list: JsonObject = { type: 'array', items: { type: 'string', ...rule('self != "bad"') } };
    expect(judge(list, ['bad'], ['bad']).warnings).toHaveLength(1);
    expect(judge(list, ['bad', 'x'], ['bad']).errors).toHaveLength(1);
  });

  test('lists that are sets compare without order, embedded names are seen', () => {
    const set: JsonObject = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } };
    expect(errorsOf({ ...set, ...rule('self == oldSelf') }, ['a', 'b'], ['b', 'a'])).toEqual([]);
    expect(errorsOf({ ...set, ...rule('self + ["a", "c"] == ["a", "b", "c"]') }, ['a', 'b'])).toEqual([]);
    const named: JsonObject = {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      ...rule('self.metadata.name == "x" && self.kind == "K"'),
    };
    expect(errorsOf(named, { kind: 'K', metadata: { name: 'x' } })).toEqual([]);
  });

  test('formats are types of their own', () => {
    const schema: JsonObject = {
      type: 'object',
      properties: {
        at: { type: 'string', format: 'date-time' },
        day: { type: 'string', format: 'date' },
        wait: { type: 'string', format: 'duration' },
        raw: { type: 'string', format: 'byte' },
      },
      ...rule(
        'self.at > timestamp("2020-01-01T00:00:00Z") && self.wait < duration("2h") && self.raw == b"hi" && self.day.getFullYear() == 2024',
      ),
    };
    const value = { at: '2024-05-01T00:00:00Z', day: '2024-02-03', wait: '1h30m', raw: 'aGk=' };
    expect(errorsOf(schema, value)).toEqual([]);
    expect(errorsOf(schema, { ...value, wait: '90 minutes' })).toEqual([]);
    expect(errorsOf(schema, { ...value, wait: '2 weeks' })).toHaveLength(1);
  });

  test('rules that cost too much end the judgement', () => {
    const list: JsonObject = {
      type: 'array',
      items: { type: 'integer' },
      'x-kubernetes-validations': [{ rule: 'self.all(x, self.all(y, x == y))' }, { rule: 'false' }],
    };
    expect(
      errorsOf(
        list,
        Array.from({ length: 2000 }, () => 1),
      ),
    ).toEqual([
      'spec: Invalid value: "array": \'operation cancelled: actual cost limit exceeded\': no further validation rules will be run due to call cost exceeds limit for rule: self.all(x, self.all(y, x == y))',
    ]);
    const many: JsonObject = {
      type: 'array',
      items: { type: 'array', items: { type: 'integer' }, ...rule('self.all(x, x >= 0)') },
    };
    const value = Array.from({ length: 60 }, () => Array.from({ length: 50_000 }, () => 1));
    expect(errorsOf(many, value).at(-1)).toBe(
      'spec[39]: Invalid value: "array": validation failed due to running out of cost budget, no further validation rules will be run',
    );
  });

  test.each<[JsonObject, Json]>([
    [{ type: 'string', format: 'duration' }, 'long'],
    [{ type: 'string', format: 'date-time' }, 5],
    [{ type: 'integer' }, 1.5],
    [{ type: 'object', properties: {} }, 'x'],
    [{ type: 'array', items: { type: 'string' } }, { a: 1 }],
    [{ type: 'object', additionalProperties: { type: 'string' } }, []],
  ])('values that are not what the schema %j says: %j', (schema, value) => {
    const errors = errorsOf({ ...schema, ...rule('self == self') }, value);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/ evaluating rule: self == self$/);
  });

  test('a judge without patience gives up instead of saying half of it', () => {
    const list: JsonObject = {
      type: 'array',
      items: { type: 'integer', ...rule('[1, 2, 3, 4, 5].exists(n, n * self < 0)', { message: 'no' }) },
    };
    const rules = compileRules(specOf(list));
    const object: JsonObject = { spec: Array.from({ length: 100 }, (_, n) => n) };
    expect(() => rules.validate(object, undefined, undefined, { patience: 1000 })).toThrow(OutOfPatience);
    expect(() => rules.validate({ spec: [1] }, undefined, undefined, { patience: 3 })).toThrow(OutOfPatience);
    // What is judged in time is judged as ever.
    expect(rules.validate({ spec: [1] }, undefined, undefined, { patience: 1000 }).map(fieldErrorText)).toEqual([
      'spec[0]: Invalid value: 1: no',
    ]);
    expect(rules.validate(object, undefined)).toHaveLength(100);
  });

  test('names such as __proto__ are names', () => {
    const map: JsonObject = {
      type: 'object',
      additionalProperties: { type: 'integer' },
      ...rule('!("constructor" in self)'),
    };
    expect(errorsOf(map, JSON.parse('{"__proto__": 1}') as Json)).toEqual([]);
  });
});
