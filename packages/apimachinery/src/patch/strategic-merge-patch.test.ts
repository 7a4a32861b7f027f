import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { deepEqual, deepFreeze, type Json, type JsonObject } from '../json/json.ts';
import { applyStrategicMergePatch, type PatchMetaLike } from './strategic-merge-patch.ts';

const meta = (
  fields: Record<string, PatchMetaLike> = {},
  strategies: string[] = [],
  mergeKey?: string,
): PatchMetaLike => ({
  strategies,
  mergeKey,
  field: (name) => (Object.hasOwn(fields, name) ? fields[name] : undefined),
});
const schema = meta({
  metadata: meta({ finalizers: meta({}, ['merge']), ownerReferences: meta({}, ['merge'], 'uid') }),
  secrets: meta({ nested: meta({}, ['merge'], 'id') }, ['merge', 'retainKeys'], 'name'),
  imagePullSecrets: meta(),
  whole: meta({}, ['replace']),
  noKey: meta({}, ['merge']),
});
const patch = (document: JsonObject, change: Json): JsonObject =>
  applyStrategicMergePatch(deepFreeze(document), deepFreeze(change) as Json, schema);
const names = (...list: string[]): Json[] => list.map((name) => ({ name }));
const failure = (code: number, message: string | RegExp): unknown =>
  expect.objectContaining({ code, message: typeof message === 'string' ? message : expect.stringMatching(message) });

describe('lists', () => {
  test('of objects merge by key, new ones in front', () => {
    expect(patch({ secrets: names('a', 'b') }, { secrets: names('c') })).toEqual({ secrets: names('c', 'a', 'b') });
    expect(patch({ secrets: [{ name: 'a', x: 1 }] }, { secrets: [{ name: 'a', y: 2, x: null }] })).toEqual({
      secrets: [{ name: 'a', y: 2 }],
    });
    expect(patch({ secrets: names('a', 'b') }, { secrets: [{ name: 'b', n: 1 }, { name: 'c' }] })).toEqual({
      secrets: [{ name: 'a' }, { name: 'b', n: 1 }, { name: 'c' }],
    });
    expect(
      patch(
        { secrets: [{ name: 'a', nested: [{ id: 1, v: 1 }] }] },
        { secrets: [{ name: 'a', nested: [{ id: 1, w: 2 }, { id: 2 }] }] },
      ),
    ).toEqual({
      secrets: [{ name: 'a', nested: [{ id: 1, v: 1, w: 2 }, { id: 2 }] }],
    });
  });

  test('of scalars become a union', () => {
    const finalizers = (...list: string[]): JsonObject => ({ metadata: { finalizers: list } });
    expect(patch(finalizers('a', 'b'), finalizers('c', 'a'))).toEqual(finalizers('c', 'a', 'b'));
    expect(patch(finalizers('a', 'b'), finalizers('b', 'a'))).toEqual(finalizers('b', 'a'));
    expect(
      patch(finalizers('c', 'a', 'b'), { metadata: { '$deleteFromPrimitiveList/finalizers': ['b', 'none'] } }),
    ).toEqual(finalizers('c', 'a'));
    expect(patch({}, { metadata: { '$deleteFromPrimitiveList/finalizers': ['b'] } })).toEqual({
      metadata: { '$deleteFromPrimitiveList/finalizers': ['b'] },
    });
    expect(patch({ metadata: {} }, { metadata: { '$deleteFromPrimitiveList/finalizers': ['b'] } })).toEqual({
      metadata: {},
    });
  });

  test('without a strategy, or of another type, are replaced', () => {
    expect(patch({ imagePullSecrets: names('x') }, { imagePullSecrets: names('y') })).toEqual({
      imagePullSecrets: names('y'),
    });
    expect(patch({ unknown: [1] }, { unknown: [2] })).toEqual({ unknown: [2] });
    expect(patch({ secrets: names('x') }, { secrets: null })).toEqual({});
    expect(patch({ secrets: names('x') }, { secrets: { a: 1, b: null } })).toEqual({ secrets: { a: 1 } });
  });

  test('obey directives in elements', () => {
    expect(patch({ secrets: names('a', 'b') }, { secrets: [{ $patch: 'delete', name: 'b' }] })).toEqual({
      secrets: names('a'),
    });
    expect(patch({ secrets: names('a', 'b') }, { secrets: [{ name: 'new' }, { $patch: 'replace' }] })).toEqual({
      secrets: names('new'),
    });
    expect(patch({ secrets: names('a') }, { secrets: [{ $patch: 'delete', name: 'none' }] })).toEqual({
      secrets: names('a'),
    });
    expect(patch({}, { secrets: [{ $patch: 'delete', name: 'none' }, { name: 'x' }] })).toEqual({
      secrets: names('x'),
    });
    expect(() => patch({ secrets: names('a') }, { secrets: [{ $patch: 'merge', name: 'a' }] })).toThrow(
      failure(500, 'merging lists cannot yet be specified in the patch'),
    );
    expect(() => patch({ secrets: names('a') }, { secrets: [{ $patch: 'nope', name: 'a' }] })).toThrow(
      failure(500, 'unknown patch type: nope in map: map[$patch:nope name:a]'),
    );
  });

  test('need the merge key and one type of elements', () => {
    expect(() => patch({ secrets: names('a') }, { secrets: [{ namespace: 'x' }] })).toThrow(
      failure(500, 'map: map[namespace:x] does not contain declared merge key: name'),
    );
    expect(() => patch({ secrets: names('a') }, { secrets: [{ $patch: 'delete' }] })).toThrow(
      failure(500, /does not contain declared merge key: name$/),
    );
    expect(() => patch({ secrets: names('a') }, { secrets: [1] })).toThrow(
      failure(500, 'list element types are not identical: [[map[name:a]] [1]]'),
    );
    expect(() => patch({ secrets: names('a') }, { secrets: [[]] })).toThrow(
      failure(422, /^the server rejected our request/),
    );
    expect(() => patch({ noKey: names('a') }, { noKey: names('b') })).toThrow(
      failure(500, 'cannot merge lists without merge key'),
    );
  });
});

describe('$setElementOrder', () => {
  test('orders objects and scalars', () => {
    expect(
      patch({ secrets: names('new') }, { '$setElementOrder/secrets': names('z', 'new'), secrets: names('z') }),
    ).toEqual({ secrets: names('z', 'new') });
    expect(
      patch(
        { metadata: { finalizers: ['c', 'a'] } },
        { metadata: { '$setElementOrder/finalizers': ['d', 'c', 'a'], finalizers: ['d'] } },
      ),
    ).toEqual({ metadata: { finalizers: ['d', 'c', 'a'] } });
    expect(patch({ secrets: names('a', 'b', 'c') }, { '$setElementOrder/secrets': names('c', 'b', 'a') })).toEqual({
      secrets: names('c', 'b', 'a'),
    });
    expect(patch({}, { '$setElementOrder/secrets': names('b', 'a'), secrets: names('b', 'a') })).toEqual({
      secrets: names('b', 'a'),
    });
    expect(patch({}, { '$setElementOrder/secrets': names('b') })).toEqual({});
  });

  test('leaves elements of the server near their neighbours', () => {
    const ordered = patch(
      { secrets: names('1', '2', '3', '4') },
      { '$setElementOrder/secrets': names('4', '5', '2'), secrets: names('5') },
    );
    expect(ordered).toEqual({ secrets: names('1', '3', '4', '5', '2') });
  });

  test('goes together with deletions', () => {
    const change = {
      '$setElementOrder/secrets': names('c', 'a'),
      secrets: [{ name: 'c' }, { $patch: 'delete', name: 'b' }],
    };
    expect(patch({ secrets: names('a', 'b') }, change)).toEqual({ secrets: names('c', 'a') });
  });

  test('must agree with the list and be one', () => {
    expect(() =>
      patch({ secrets: names('a') }, { '$setElementOrder/secrets': names('a', 'b'), secrets: names('b', 'a') }),
    ).toThrow(
      failure(
        500,
        /^The order in patch list:\n\[map\[name:b\] map\[name:a\]\]\n doesn't match \$setElementOrder list:\n/,
      ),
    );
    expect(() => patch({}, { '$setElementOrder/secrets': 'x' })).toThrow(
      failure(400, 'invalid patch format of setElementOrder list'),
    );
    expect(() => patch({}, { $setElementOrder: [] })).toThrow(
      failure(400, 'invalid patch format of setElementOrder list'),
    );
    expect(() => patch({}, { $deleteFromPrimitiveList: [] })).toThrow(
      failure(400, 'invalid patch format of primitive list'),
    );
  });
});

describe('maps', () => {
  test('obey $patch', () => {
    expect(patch({ data: { a: '1', b: '2' } }, { data: { $patch: 'replace', c: '3' } })).toEqual({ data: { c: '3' } });
    expect(patch({ data: { a: '1' } }, { data: { $patch: 'replace' } })).toEqual({ data: {} });
    expect(patch({ data: { a: '1' } }, { data: { $patch: 'delete' } })).toEqual({ data: {} });
    expect(patch({ a: 1 }, { $patch: 'replace', b: 2 })).toEqual({ b: 2 });
    expect(() => patch({ data: { a: '1' } }, { data: { $patch: 'merge', d: '4' } })).toThrow(
      failure(500, 'unknown patch type: merge in map: map[$patch:merge d:4]'),
    );
    expect(() => patch({ data: { a: '1' } }, { data: { $patch: 1 } })).toThrow(
      failure(500, 'unknown patch type: %!s(int64=1) in map: map[$patch:1]'),
    );
  });

  test('that are not there are taken without directives and nulls', () => {
    expect(patch({}, { data: { $patch: 'nope', e: '5' } })).toEqual({});
    expect(patch({}, { data: { a: null, b: { c: null }, d: { $patch: 'replace' } } })).toEqual({ data: { b: {} } });
    expect(patch({}, { data: { $retainKeys: ['x'], y: '1' } })).toEqual({ data: { $retainKeys: ['x'], y: '1' } });
  });

  test('retain keys', () => {
    expect(patch({ data: { a: '1', c: '2' } }, { data: { $retainKeys: ['c'], c: '5' } })).toEqual({ data: { c: '5' } });
    expect(patch({ data: { a: '1' } }, { data: { $retainKeys: ['a'], b: null } })).toEqual({ data: { a: '1' } });
    expect(() => patch({ data: { a: '1' } }, { data: { $retainKeys: ['x'], y: '1' } })).toThrow(
      failure(422, /^the server rejected our request/),
    );
    expect(() => patch({ data: {} }, { data: { $retainKeys: 'x' } })).toThrow(
      failure(400, 'invalid patch format of retainKeys'),
    );
    expect(patch({ secrets: [{ name: 'a', x: 1 }] }, { secrets: [{ name: 'a', $retainKeys: ['name'] }] })).toEqual({
      secrets: names('a'),
    });
  });

  test('with the strategy replace are replaced', () => {
    expect(patch({ whole: { a: 1 } }, { whole: { b: 2 } })).toEqual({ whole: { b: 2 } });
  });

  test('take __proto__ for a member', () => {
    const result = patch({}, JSON.parse('{"__proto__":{"polluted":1}}') as Json);
    expect(Object.keys(result)).toEqual(['__proto__']);
    expect((result as { polluted?: number }).polluted).toBeUndefined();
  });
});

test('only an object is a patch', () => {
  expect(() => patch({}, [])).toThrow(expect.objectContaining({ code: 400 }));
});

describe('for all lists', () => {
  const list = fc.uniqueArray(fc.constantFrom<string[]>('a', 'b', 'c', 'd', 'e', 'f', 'g'));

  test('a union holds both, the order of the patch and that of the server', () => {
    fc.assert(
      fc.property(list, list, (server, change) => {
        const merged = (
          patch({ secrets: names(...server) }, { secrets: names(...change) })['secrets'] as { name: string }[]
        ).map(({ name }) => name);
        expect(new Set(merged)).toEqual(new Set([...server, ...change]));
        expect(merged.filter((name) => change.includes(name))).toEqual(change);
        expect(merged.filter((name) => !change.includes(name))).toEqual(
          server.filter((name) => !change.includes(name)),
        );
      }),
    );
  });

  test('a second time changes nothing', () => {
    fc.assert(
      fc.property(list, list, (server, change) => {
        const once = patch({ secrets: names(...server) }, { secrets: names(...change) });
        expect(patch(once, { secrets: names(...change) })).toEqual(once);
      }),
    );
  });

  // Not `toEqual`: its diff of two such lists takes minutes.
  test('long ones are merged, in the order of the patch', () => {
    const many = Array.from({ length: 50_000 }, (_, index) => ({ name: `n${index}`, v: 1 }));
    const change = [...many].reverse().map(({ name }) => ({ name, v: 2 }));
    expect(deepEqual(patch({ secrets: many }, { secrets: change }), { secrets: change })).toBe(true);
    const emptied = patch(
      { metadata: { finalizers: many.map(({ name }) => name) } },
      { metadata: { '$deleteFromPrimitiveList/finalizers': many.map(({ name }) => name) } },
    );
    expect(deepEqual(emptied, { metadata: { finalizers: [] } })).toBe(true);
  });
});

test('what is left of a patch has no nulls where the document had nothing', () => {
  let left: Json = null;
  applyStrategicMergePatch({}, { list: [{ x: { a: null } }] }, meta(), (change) => (left = change));
  expect(left).toEqual({ list: [{ x: {} }] });
});
