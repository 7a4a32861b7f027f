import { describe, expect, test } from '@jest/globals';
import type { Json, JsonObject } from '../json/json.ts';
import { everything, paths } from '../../test/apply-fixture.ts';
import { compareTyped } from './compare-typed.ts';
import { fieldSetOf } from './field-set-of.ts';
import { mergeTyped } from './merge-typed.ts';
import { extractFields, removeFields } from './remove-fields.ts';
import { validateTyped } from './validate-typed.ts';

const port = (number: number, more: JsonObject = {}): JsonObject => ({ port: number, ...more });

describe('a configuration that does not fit is refused', () => {
  test.each([
    [{ nope: 1 }, '.nope: field not declared in schema'],
    [{ n: 'x' }, '.n: expected numeric (int or float), got string'],
    [{ n: true }, '.n: expected numeric (int or float), got bool'],
    [{ name: 5 }, '.name: expected string, got &value.valueUnstructured{Value:5}'],
    [{ labels: ['x'] }, '.labels: expected map, got &{[x]}'],
    [{ plain: 'x' }, '.plain: expected list, got &{x}'],
    [{ tags: ['a', 'a'] }, '.tags: duplicate entries for key [="a"]'],
    [{ tags: [null] }, ".tags: element 0: associative list without keys has an element that's an explicit null"],
    [{ ports: [port(1), port(1, { protocol: 'TCP' })] }, '.ports: duplicate entries for key [port=1,protocol="TCP"]'],
    [
      { inner: { x: 1, deep: { y: 1 } }, n: 'x' },
      'errors:\n  .inner.x: field not declared in schema\n  .n: expected numeric (int or float), got string',
    ],
  ])('%j', (config, message) => {
    expect(() => validateTyped(config as JsonObject, everything)).toThrow(new Error(message));
  });

  test('an error shows 64 KiB of a large value', () => {
    const messageOf = (value: Json): string => {
      try {
        validateTyped({ name: value }, everything);
      } catch (error) {
        return (error as Error).message;
      }
      throw new Error('the value was accepted');
    };
    const start = '.name: expected string, got &value.valueUnstructured{Value:';
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`m${index}`, [index]]));
    for (const value of [wide, Array.from({ length: 100_000 }, () => []), ['x'.repeat(1_000_000)], [wide, wide]]) {
      const message = messageOf(value);
      expect(message.startsWith(start)).toBe(true);
      expect(message.endsWith('…}')).toBe(true);
      expect(message.length).toBeLessThan(66_000);
    }
    expect(messageOf({ b: ['x', null, 1.5], a: { c: true } })).toBe(
      `${start}map[string]interface {}{"a":map[string]interface {}{"c":true}, "b":[]interface {}{"x", interface {}(nil), 1.5}}}`,
    );
  });

  test('the values of all errors together are limited', () => {
    const list = Array.from({ length: 20_000 }, () => 1);
    const ports = Array.from({ length: 20 }, (_, number) => port(number, { note: list }));
    expect(() => validateTyped({ ports }, everything)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^errors:[^]{60000,80000}$/) }),
    );
  });

  test('null fits everywhere, and anything fits where there is no schema', () => {
    expect(() =>
      validateTyped({ name: null, ports: null, free: { a: [{ b: 1 }], c: 'x' }, inner: { deep: null } }, everything),
    ).not.toThrow();
  });
});

test('an object names its leaves, list items and what is empty', () => {
  const set = fieldSetOf(
    {
      name: 'x',
      labels: { a: 'b' },
      whole: { c: 'd' },
      plain: ['x'],
      tags: ['t'],
      ports: [port(80, { note: 'n' })],
      inner: { a: null, deep: {} },
      free: { list: [1], map: { x: 1 } },
    },
    everything,
  );
  const item = 'ports/k:{"port":80,"protocol":"TCP"}';
  expect(
    set.equals(
      paths(
        'name',
        'labels/a',
        'whole',
        'plain',
        'tags/v:"t"',
        item,
        `${item}/port`,
        `${item}/note`,
        'inner/a',
        'inner/deep',
        'free/list',
        'free/map',
        'free/map/x',
      ),
    ),
  ).toBe(true);
});

describe('a merge', () => {
  const tags = (live: string[], config: string[]): unknown =>
    mergeTyped({ tags: live }, { tags: config }, everything)['tags'];

  test.each([
    [['a', 'b'], ['c'], ['a', 'b', 'c']],
    [
      ['a', 'b', 'c'],
      ['c', 'a'],
      ['b', 'c', 'a'],
    ],
    [
      ['x', 'a', 'y', 'b', 'z'],
      ['b', 'a'],
      ['x', 'y', 'b', 'a', 'z'],
    ],
    [['a'], ['a', 'b'], ['a', 'b']],
    [[], ['a'], ['a']],
    [['a'], [], ['a']],
  ])('of the set %j with %j is %j', (live, config, expected) => {
    const result = tags(live, config) as string[];
    expect(result.toSorted()).toEqual(expected.toSorted());
    // What both have comes in the order of the configuration.
    expect(result.filter((tag) => config.includes(tag))).toEqual(config.filter((tag) => result.includes(tag)));
    expect(result.filter((tag) => !config.includes(tag))).toEqual(live.filter((tag) => !config.includes(tag)));
  });

  test('joins items by their keys, defaults included, and replaces what is atomic', () => {
    expect(
      mergeTyped(
        { ports: [port(80, { note: 'a' }), port(443)], whole: { a: 'b' }, plain: ['x', 'y'], labels: { a: 'b' } },
        { ports: [port(80, { protocol: 'TCP' })], whole: { c: 'd' }, plain: ['z'], labels: { c: 'd' } },
        everything,
      ),
    ).toEqual({
      ports: [port(80, { note: 'a', protocol: 'TCP' }), port(443)],
      whole: { c: 'd' },
      plain: ['z'],
      labels: { a: 'b', c: 'd' },
    });
  });

  test('with null keeps what is there', () => {
    expect(mergeTyped({ inner: { a: 'x' } }, { inner: null }, everything)).toEqual({ inner: { a: 'x' } });
    expect(mergeTyped({ name: 'x' }, { name: null }, everything)).toEqual({ name: null });
  });
});

describe('a comparison', () => {
  const compare = (before: JsonObject, after: JsonObject): Record<string, string> => {
    const { added, removed, modified } = compareTyped(before, after, everything);
    const shown = (set: typeof added): string => [...set.paths()].map((path) => path.join('/')).join(' ');
    return { added: shown(added), removed: shown(removed), modified: shown(modified) };
  };

  test('reports added, removed and modified fields, containers included', () => {
    expect(compare({ name: 'a', n: 1, labels: { x: 'y' } }, { name: 'b', n: 1, inner: { a: 'x' } })).toEqual({
      added: 'f:inner f:inner/f:a',
      removed: 'f:labels f:labels/f:x',
      modified: 'f:name',
    });
  });

  test('does not see the order of a set and the spelling of a number', () => {
    expect(compare({ tags: ['a', 'b'], n: 1 }, { tags: ['b', 'a'], n: 1n })).toEqual({
      added: '',
      removed: '',
      modified: '',
    });
    expect(compare({ plain: ['a', 'b'] }, { plain: ['b', 'a'] }).modified).toBe('f:plain');
  });

  test('takes a value of another form for one that went and one that came', () => {
    expect(compare({ free: { a: 1 } }, { free: { a: { b: 1 } } })).toEqual({
      added: 'f:free/f:a/f:b',
      removed: '',
      modified: 'f:free/f:a',
    });
  });

  test('treats items without a unique key as one field', () => {
    expect(compare({ tags: ['a', 'a'] }, { tags: ['a'] })).toEqual({
      added: 'f:tags/v:"a"',
      removed: 'f:tags/v:"a"',
      modified: '',
    });
    expect(compare({ tags: ['a'] }, { tags: ['a', 'a'] })).toEqual({
      added: 'f:tags/v:"a"',
      removed: 'f:tags/v:"a"',
      modified: '',
    });
  });
});

test('fields are removed and extracted by their paths', () => {
  const object = { name: 'x', labels: { a: 'b', c: 'd' }, ports: [port(80, { note: 'n' }), port(443)] };
  const item = 'ports/k:{"port":80,"protocol":"TCP"}';
  const set = paths('labels/a', `${item}/note`);
  expect(removeFields(object, set, everything)).toEqual({
    name: 'x',
    labels: { c: 'd' },
    ports: [port(80), port(443)],
  });
  expect(removeFields(object, paths(item), everything)['ports']).toEqual([port(443)]);
  expect(extractFields(object, set, everything)).toEqual({ labels: { a: 'b' }, ports: [port(80, { note: 'n' })] });
});
