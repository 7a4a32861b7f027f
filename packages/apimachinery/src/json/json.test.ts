import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runToCompletion } from '../async/run-to-completion.ts';
import { encodeJson, encodeJsonGo, maxJsonDepth, parseJsonStrict } from './json-codec.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { encodeYaml } from '../yaml/yaml-codec.ts';
import {
  deepCopy,
  deepEqual,
  deepFreeze,
  getOwn,
  hasMoreValues,
  isJsonObject,
  setOwn,
  type Json,
  type JsonObject,
} from './json.ts';

const hostile = (): JsonObject => JSON.parse('{"__proto__":{"a":1},"constructor":{"b":[2]}}') as JsonObject;

describe('names that users choose', () => {
  test('never reach the prototype', () => {
    const object: JsonObject = {};
    setOwn(object, '__proto__', { polluted: true });
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
    expect(getOwn(object, '__proto__')).toEqual({ polluted: true });
    expect(getOwn({}, '__proto__')).toBeUndefined();
    expect(getOwn({}, 'constructor')).toBeUndefined();
  });

  test('survive a copy and count in comparisons', () => {
    const copy = deepCopy<JsonObject>(deepFreeze(hostile()));
    expect(Object.keys(copy)).toEqual(['__proto__', 'constructor']);
    expect(deepEqual(copy, hostile())).toBe(true);
    expect(deepEqual(copy, {})).toBe(false);
    expect(deepEqual({ a: 1 }, JSON.parse('{"__proto__":1}') as Json)).toBe(false);
  });
});

test('copies share nothing', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const plain = JSON.parse(JSON.stringify(value)) as Json;
      const copy = deepCopy(plain);
      expect(deepEqual(copy, plain)).toBe(true);
      if (typeof copy === 'object' && copy !== null) expect(copy).not.toBe(plain);
    }),
  );
});

test('equality knows numbers by value and lists by order', () => {
  expect(deepEqual(1, 1n)).toBe(true);
  expect(deepEqual(2n ** 60n, 2 ** 60)).toBe(true);
  expect(deepEqual(2n ** 60n + 1n, 2 ** 60)).toBe(false);
  expect(deepEqual(1n, 1.5)).toBe(false);
  expect(deepEqual(1n, '1')).toBe(false);
  expect(deepEqual([1, 2], [2, 1])).toBe(false);
  expect(deepEqual([1], { 0: 1 })).toBe(false);
  expect(deepEqual({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(true);
  expect(deepEqual(null, {})).toBe(false);
  expect(deepEqual(undefined, undefined)).toBe(true);
});

test('a frozen value cannot be changed anywhere', () => {
  const frozen = deepFreeze({ a: [{ b: 1 }] }) as { a: { b: number }[] };
  expect(() => frozen.a.push({ b: 2 })).toThrow(TypeError);
  expect(() => {
    (frozen.a[0] as { b: number }).b = 2;
  }).toThrow(TypeError);
});

test('everything that walks a value reaches the greatest depth', () => {
  const text = '{"a":['.repeat(maxJsonDepth / 2) + ']}'.repeat(maxJsonDepth / 2);
  const { value } = parseJsonStrict(text);
  const copy = deepCopy(deepFreeze(value));
  expect(deepEqual(copy, value)).toBe(true);
  expect(encodeJson(copy)).toBe(text);
  expect(encodeJsonGo(copy, { sortKeys: true })).toBe(text);
  expect(encodeJsonGo(copy, { pretty: true }).replaceAll(/\s/g, '')).toBe(text);
  expect(encodeYaml(copy)).toContain('a:');
  expect(deepEqual(applyMergePatch(value, copy), value)).toBe(true);
  expect(deepEqual(runToCompletion(applyJsonPatch(value, [{ op: 'copy', from: '/a', path: '/b' }])), value)).toBe(
    false,
  );
});

test('only objects are objects', () => {
  expect([{}, [], null, 'x', 1].map(isJsonObject)).toEqual([true, false, false, false, false]);
});

test.each([
  ['x', 1],
  [null, 1],
  [[], 1],
  [{}, 1],
  [[[], {}, null], 4],
  [{ a: { b: [1, 2n, 'c'] }, d: {} }, 7],
] as readonly (readonly [Json, number])[])('%p has %i values', (value, count) => {
  expect([hasMoreValues(value, count - 1), hasMoreValues(value, count)]).toEqual([true, false]);
});
