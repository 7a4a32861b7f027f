import { describe, expect, test } from '@jest/globals';
import { paths } from '../../test/apply-fixture.ts';
import { FieldSet } from './field-set.ts';
import { decodeFieldsV1, encodeFieldsV1 } from './fields-v1.ts';
import { canonicalElement, displayPath } from './path-element.ts';

const shown = (set: FieldSet): string[] => [...set.paths()].map((path) => displayPath(path));

describe('sets of fields', () => {
  const a = paths('spec/a', 'spec', 'data/x', 'list/k:{"n":1}/v');
  const b = paths('spec/a', 'spec/b', 'list/k:{"n":1}');

  test('have union, intersection and difference, path by path', () => {
    expect(a.union(b).equals(paths('spec', 'spec/a', 'spec/b', 'data/x', 'list/k:{"n":1}', 'list/k:{"n":1}/v'))).toBe(
      true,
    );
    expect(a.intersection(b).equals(paths('spec/a'))).toBe(true);
    expect(a.difference(b).equals(paths('spec', 'data/x', 'list/k:{"n":1}/v'))).toBe(true);
  });

  test('lose what lies below a path only to a recursive difference', () => {
    expect(a.difference(paths('spec')).has(['f:spec', 'f:a'])).toBe(true);
    expect(a.recursiveDifference(paths('spec')).equals(paths('data/x', 'list/k:{"n":1}/v'))).toBe(true);
  });

  test('stay the same object when nothing changes', () => {
    expect(a.union(paths('spec/a'))).toBe(a);
    expect(a.difference(paths('other'))).toBe(a);
    expect(a.difference(a).isEmpty).toBe(true);
    expect(FieldSet.empty.union(a)).toBe(a);
  });

  test('list fields by name, then items by their keys as values, then values and indices', () => {
    const set = paths('l/k:{"port":443}', 'l/k:{"port":80}', 'l/v:"b"', 'l/v:2', 'l/i:10', 'l/i:9', 'a', 'l');
    expect(shown(set)).toEqual(['.a', '.l', '.l[port=80]', '.l[port=443]', '.l[=2]', '.l[="b"]', '.l[9]', '.l[10]']);
  });

  test('take names that mean something to the language', () => {
    const set = paths('__proto__', 'constructor/x');
    expect(encodeFieldsV1(set)).toEqual(JSON.parse('{"f:__proto__":{},"f:constructor":{"f:x":{}}}'));
    expect(decodeFieldsV1(encodeFieldsV1(set)).equals(set)).toBe(true);
  });
});

describe('FieldsV1', () => {
  test('marks a path that is in the set and leads further', () => {
    expect(encodeFieldsV1(paths('spec', 'spec/a', 'b'))).toEqual({ 'f:b': {}, 'f:spec': { '.': {}, 'f:a': {} } });
  });

  test.each([
    [{ 'k:{"b":1,"a":"x"}': {} }, ['[a="x",b=1]']],
    [{ 'v:1.0': {} }, ['[=1]']],
    [{ 'f:a': { 'x:unknown': {} } }, ['.a']],
    [{ 'i:3': { '.': {}, 'f:x': {} } }, ['[3]', '[3].x']],
    [{}, []],
  ])('%j means %j', (document, expected) => {
    expect(shown(decodeFieldsV1(document))).toEqual(expected);
  });

  test.each([
    [{ x: {} }, 'key must be 2 characters long:'],
    [{ xyz: {} }, 'missing colon'],
    [{ 'f:a': 1 }, 'fields of f:a must be an object'],
    [{ 'k:[1]': {} }, 'keys of a list item must be an object'],
    [{ 'i:x': {} }, 'strconv.Atoi: parsing "x": invalid syntax'],
  ])('refuses %j', (document, message) => {
    expect(() => decodeFieldsV1(document)).toThrow(message);
  });

  test('sorts by meaning, or by text', () => {
    const set = paths('l/k:{"port":443}', 'l/k:{"port":80}');
    const keys = (byText: boolean): string[] => {
      const fresh = decodeFieldsV1(structuredClone(encodeFieldsV1(set)));
      return Object.keys(encodeFieldsV1(fresh.union(paths('z')), byText)['f:l'] as object);
    };
    expect(keys(false)).toEqual(['k:{"port":80}', 'k:{"port":443}']);
    expect(keys(true)).toEqual(['k:{"port":443}', 'k:{"port":80}']);
  });
});

test('integers beyond 2^53 keep their digits', () => {
  expect(canonicalElement('v:9007199254740993')).toBe('v:9007199254740993');
});
