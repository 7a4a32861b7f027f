import { expect, test } from '@jest/globals';
import { deducedSchema, type TypedSchema } from '@multiplane/apimachinery';
import { atomicPaths } from './atomic-paths.ts';

const struct = (fields: Record<string, TypedSchema>, atomic = false): TypedSchema => ({
  scalar: undefined,
  list: undefined,
  map: { atomic, fields: new Map(Object.entries(fields)), element: deducedSchema },
});
const list = (element: TypedSchema, atomic: boolean): TypedSchema => ({
  scalar: undefined,
  map: undefined,
  list: { atomic, keys: [], element },
});
const text: TypedSchema = { scalar: 'string', list: undefined, map: undefined };

test('atomic lists and maps are found within others too, as kube-apiserver names them', () => {
  const schema = struct({ rules: list(struct({ verbs: list(text, true) }, true), true) });
  expect(atomicPaths({ rules: [{ verbs: ['get'] }, {}] }, schema)).toEqual([
    '.rules',
    '.rules[0]',
    '.rules[0].verbs',
    '.rules[1]',
  ]);
});

test('what a kind preserves without a schema may be set', () => {
  const schema = struct({ spec: struct({ items: list(text, false) }) });
  expect(atomicPaths({ spec: { other: ['a'], more: { deep: [1] }, items: ['x'] }, extra: [] }, schema)).toEqual([]);
});
