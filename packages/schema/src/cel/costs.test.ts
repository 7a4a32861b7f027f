import { describe, expect, test } from '@jest/globals';
import type { Json, JsonObject } from '@multiplane/apimachinery';
import { compileRule, RuleEnvironment, ruleOf } from './compiled-rule.ts';
import { schemaType, type SchemaType } from './schema-type.ts';
import { valueOf } from './schema-value.ts';

// The figures are those of Kubernetes: a rule that it accepts must be accepted here, and the other way round.
const text: JsonObject = { type: 'string' };
const integer: JsonObject = { type: 'integer' };
const list = (items: JsonObject, maxItems?: number): JsonObject => ({
  type: 'array',
  items,
  ...(maxItems === undefined ? {} : { maxItems }),
});
const map = (additionalProperties: JsonObject, maxProperties?: number): JsonObject => ({
  type: 'object',
  additionalProperties,
  ...(maxProperties === undefined ? {} : { maxProperties }),
});

const schema: JsonObject = {
  type: 'object',
  properties: {
    s: text,
    n: integer,
    strings: list(text),
    numbers: list(integer),
    texts: map(text),
    maps: map(map(text, 10), 10),
    lists: list(map(text, 10), 10),
    objects: list({ type: 'object', properties: { k: text, v: text } }),
  },
};
const type = schemaType(schema, false) as SchemaType;
const compile = (rule: string) => compileRule(ruleOf({ rule }), type, schema, new RuleEnvironment(type));

describe('estimated costs', () => {
  test.each([
    ['self.n == self.n', 4],
    ['type(self.n) == int', 4],
    ["self.s.startsWith('Rook')", 3],
    ["self.s.matches('^[^0-9]*$')", 943_721],
    ["self.s.replace(' ', 'x') == 'Rookxtakesx👑'", 629_150],
    ["self.s.split(' ') == ['Rook', 'takes', '👑']", 629_159],
    ["self.s.substring(4, 10).trim() == 'takes'", 629_149],
    ['self.s.lowerAscii() == self.s.lowerAscii()', 943_723],
    ["'a' in self.strings", 1_048_577],
    ['self.strings.all(k, size(self.strings) > 0)', 7_340_028],
    ['size(self.strings.filter(k, size(self.strings) > 1)) == 1', 17_825_790],
    ['self.numbers.exists(e, e > 2)', 9_437_181],
    ['self.numbers.map(e, e * 20).filter(e, e > 50).exists(e, e == 60)', 53_477_367],
    ["'k1' in self.texts", 3],
    ["self.texts == {'k1': 'a', 'k2': 'b'}", 33],
    ["self.maps['x']['y'] == 'b'", 5],
    ['self.maps.map(k, self.maps[k].map(m, m)).size() == 1', 1585],
    ['self.lists.map(e, e.map(m, m)).size() == 1', 1555],
    ['has(self.s) && has(self.n)', 2],
    ["optional.of('a').optMap(v, v == 'value').hasValue()", 18],
    ['quantity(self.s).isLessThan(quantity(self.s))', 629_151],
  ])('%s: %i', (rule, cost) => {
    expect(compile(rule)).toMatchObject({ cost });
  });
});

describe('costs of evaluations', () => {
  const value: Json = { s: 'Rook takes 👑', n: 5, strings: ['a', 'b', 'c'], texts: { k1: 'a', k2: 'b' } };
  test.each([
    ["self.s.startsWith('Rook')", 4],
    ["self.s.matches('^[^0-9]*$')", 8],
    ["self.s.replace(' ', 'x') == 'Rookxtakesx👑'", 7],
    ["self.s.split(' ') == ['Rook', 'takes', '👑']", 6],
    ["self.s.substring(4, 10).trim() == 'takes'", 6],
    ["'a' in self.strings", 5],
    ["sets.equivalent(self.strings, ['a', 'b', 'c'])", 21],
    ['self.texts == {"k1": "a", "k2": "b"}', 3],
    ['double(5) < 10.0', 1],
    ['[4, 3, 2, 1].sort() == [1, 2, 3, 4]', 44],
  ])('%s: %i', (rule, cost) => {
    expect(compile(rule).program?.evaluate({ self: valueOf(value, type) })).toEqual({ cost, answers: 0, value: true });
  });
});
