import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { deepFreeze, type Json } from '../json/json.ts';
import { applyMergePatch } from './merge-patch.ts';

test.each([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  [{ a: [] }, { a: [{ b: null, c: 1 }, null] }, { a: [{ c: 1 }, null] }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{ a: 1n }, { b: 2n ** 60n }, { a: 1n, b: 2n ** 60n }],
  [{ data: { a: '1' } }, { data: null }, {}],
] as [Json, Json, Json][])('%# merges', (document, patch, result) => {
  expect(applyMergePatch(deepFreeze(document), deepFreeze(patch) as Json)).toEqual(result);
});

test('only an object is a patch', () => {
  for (const patch of [null, [], 'x', 1]) {
    expect(() => applyMergePatch({}, patch)).toThrow(
      expect.objectContaining({ code: 400, message: 'Invalid JSON Patch' }),
    );
  }
});

test('__proto__ is a member like others', () => {
  const patch = JSON.parse('{"__proto__":{"polluted":{"x":1}},"constructor":{"y":2}}') as Json;
  const result = applyMergePatch({}, patch) as object;
  expect(Object.keys(result)).toEqual(['__proto__', 'constructor']);
  expect((result as { polluted?: unknown }).polluted).toBeUndefined();
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

test('a patch applied twice changes nothing more', () => {
  // Without lists: whether nulls inside them stay depends on what they replace, as in Kubernetes' library.
  const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.string(),
      fc.integer(),
      fc.constant(null),
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('tree')),
    ) as fc.Arbitrary<Json>,
  }));
  const object = fc.dictionary(fc.constantFrom('a', 'b', 'c'), tree);
  fc.assert(
    fc.property(object, object, (document, patch) => {
      const once = applyMergePatch(document, patch);
      expect(applyMergePatch(once, patch)).toEqual(once);
    }),
  );
});
