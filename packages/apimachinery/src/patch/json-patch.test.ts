import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { deepFreeze, type Json } from '../json/json.ts';
import { runToCompletion } from '../async/run-to-completion.ts';
import { applyJsonPatch, unknownJsonPatchFields } from './json-patch.ts';

const apply = (document: Json, patch: Json): Json => runToCompletion(applyJsonPatch(document, patch));
const patch = (document: Json, ...operations: Json[]): Json => apply(deepFreeze(document) as Json, operations);
const refused = expect.objectContaining({
  code: 422,
  reason: 'Invalid',
  message: 'the server rejected our request due to an error in our request',
  details: {},
});

describe('JSON patch', () => {
  const object = { data: { a: '1', b: '2', c: null }, labels: { 'x/y': 'z', 'a~b': 't' }, list: ['a', 'b'] };

  test.each([
    [{ op: 'add', path: '/data/d', value: '3' }, { data: { ...object.data, d: '3' } }],
    [{ op: 'add', path: '/data', value: { only: 'this' } }, { data: { only: 'this' } }],
    [{ op: 'add', path: '/data/d' }, { data: { ...object.data, d: null } }],
    [{ op: 'replace', path: '/data/none', value: 'x' }, { data: { ...object.data, none: 'x' } }],
    [{ op: 'remove', path: '/data/b' }, { data: { a: '1', c: null } }],
    [{ op: 'copy', from: '/data/a', path: '/data/d' }, { data: { ...object.data, d: '1' } }],
    [{ op: 'copy', from: '/data/none', path: '/data/d' }, { data: { ...object.data, d: null } }],
    [{ op: 'move', from: '/data/b', path: '/data/d' }, { data: { a: '1', c: null, d: '2' } }],
    [{ op: 'replace', path: '/labels/x~1y', value: 'w' }, { labels: { 'x/y': 'w', 'a~b': 't' } }],
    [{ op: 'replace', path: '/labels/a~0b', value: 'w' }, { labels: { 'x/y': 'z', 'a~b': 'w' } }],
    [{ op: 'add', path: '/list/-', value: 'c' }, { list: ['a', 'b', 'c'] }],
    [{ op: 'add', path: '/list/0', value: 'c' }, { list: ['c', 'a', 'b'] }],
    [{ op: 'add', path: '/list/2', value: 'c' }, { list: ['a', 'b', 'c'] }],
    [{ op: 'add', path: '/list/-1', value: 'c' }, { list: ['a', 'b', 'c'] }],
    [{ op: 'remove', path: '/list/-1' }, { list: ['a'] }],
    [{ op: 'replace', path: '/list/1', value: 'y' }, { list: ['a', 'y'] }],
    [{ op: 'move', from: '/list/0', path: '/list/1' }, { list: ['b', 'a'] }],
    [{ op: 'test', path: '/data/a', value: '1' }, {}],
    [{ op: 'test', path: '/data/none', value: null }, {}],
    [{ op: 'test', path: '/data/c' }, {}],
    [{ op: 'test', path: '/list', value: ['a', 'b'] }, {}],
    [{ op: 'test', path: '', value: object }, {}],
  ] as [Json, object][])('%j', (operation, change) => {
    expect(patch(object, operation)).toEqual({ ...object, ...change });
  });

  test.each([
    { op: 'test', path: '/data/a', value: '2' },
    { op: 'test', path: '/data/none', value: 'x' },
    { op: 'test', path: '/data/a', value: null },
    { op: 'test', path: '/none/x', value: null },
    { op: 'test', path: '', value: {} },
    { op: 'remove', path: '/data/none' },
    { op: 'remove', path: '' },
    { op: 'add', path: '', value: {} },
    { op: 'add', path: '/none/x', value: 1 },
    { op: 'add', path: '/data/a/x', value: 1 },
    { op: 'add', path: '/list/9', value: 'x' },
    { op: 'add', path: '/list/x', value: 'x' },
    { op: 'add', path: '/list/-4', value: 'x' },
    { op: 'remove', path: '/list/9' },
    { op: 'remove', path: '/list/-' },
    { op: 'replace', path: '/list/2', value: 1 },
    { op: 'replace', path: '', value: 'scalar' },
    { op: 'move', from: '/data/none', path: '/data/x' },
    { op: 'copy', path: '/data/x' },
    { path: '/data/x', value: 'y' },
    { op: 'add', value: 'y' },
    { op: 'add', path: 5, value: 'y' },
    { op: 'nope', path: '/data/x' },
    { op: 'add', path: '/constructor/x', value: 1 },
    { op: 'add', path: '/__proto__/x', value: 1 },
  ] as Json[])('%j fails', (operation) => {
    expect(() => patch(object, operation)).toThrow(refused);
  });

  test('replaces the whole', () => {
    expect(patch(object, { op: 'replace', path: '', value: [1] })).toEqual([1]);
  });

  test('works through all operations or none', () => {
    const before = { a: 1 };
    expect(() => patch(before, { op: 'add', path: '/b', value: 2 }, { op: 'remove', path: '/c' })).toThrow(refused);
    expect(before).toEqual({ a: 1 });
    expect(patch(before)).toEqual({ a: 1 });
  });

  test('is checked before it is applied', () => {
    expect(() => apply({}, { op: 'add' })).toThrow(expect.objectContaining({ code: 400 }));
    expect(() => apply({}, ['x'])).toThrow(expect.objectContaining({ code: 400 }));
    const many = Array.from({ length: 10_001 }, (): Json => ({ op: 'test', path: '/a' }));
    expect(() => apply({}, many)).toThrow(
      expect.objectContaining({
        code: 413,
        message: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
      }),
    );
    expect(unknownJsonPatchFields([{ op: 'add', path: '' }, { op: 'add', extra: 2 } as Json as object])).toEqual([
      '[1].extra',
    ]);
  });

  test('sets __proto__ as a member', () => {
    const result = patch({}, { op: 'add', path: '/__proto__', value: { polluted: 1 } }) as object;
    expect(Object.keys(result)).toEqual(['__proto__']);
    expect((result as { polluted?: number }).polluted).toBeUndefined();
  });

  test('neither grows nor nests without bounds', () => {
    const growing: Json[] = [{ op: 'add', path: '/a', value: 'x'.repeat(500_000) }];
    for (let index = 0; index < 10; index++) growing.push({ op: 'copy', from: '/a', path: `/b${index}` });
    expect(() => patch({}, ...growing)).toThrow(refused);
    const deepening: Json[] = Array.from({ length: 1_100 }, (_, depth) => ({
      op: 'add',
      path: `${'/a'.repeat(depth)}/a`,
      value: {},
    }));
    expect(() => patch({}, ...deepening)).toThrow(refused);
  });

  test('a removed member can be added back', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), fc.jsonValue(), (document, name, value) => {
        const path = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
        const plain = JSON.parse(JSON.stringify(document)) as Json;
        const result = apply(plain, [
          { op: 'add', path, value: JSON.parse(JSON.stringify(value)) as Json },
          { op: 'move', from: path, path: '/moved' },
          { op: 'move', from: '/moved', path },
          { op: 'test', path, value: JSON.parse(JSON.stringify(value)) as Json },
          { op: 'remove', path },
        ]);
        const expected = { ...(plain as object) } as Record<string, unknown>;
        if (Object.hasOwn(expected, name)) delete expected[name];
        if (name !== 'moved') delete expected['moved'];
        expect(result).toEqual(expected);
      }),
    );
  });
});

test('many operations on a long list are made in chunks', () => {
  const list = Array.from({ length: 1000 }, (_, index) => index);
  const operations = Array.from({ length: 1000 }, () => ({ op: 'add', path: '/list/0', value: -1 }));
  const steps = applyJsonPatch({ list }, operations);
  let pauses = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) pauses++;
  expect(pauses).toBeGreaterThanOrEqual(10);
  expect(step.value).toEqual(apply({ list }, operations));
});
