import { expect, test } from '@jest/globals';
import { strictErrors } from './strict-decoding.ts';

test('errors are in document order', () => {
  const document = { b: 1, a: { x: 1, y: [{ z: 1 }] } };
  expect(strictErrors(['a.x'], ['a.y[0].z', 'b'], document)).toEqual([
    'unknown field "b"',
    'duplicate field "a.x"',
    'unknown field "a.y[0].z"',
  ]);
  expect(strictErrors(['a'], ['a', 'b'], document)).toEqual([
    'unknown field "b"',
    'duplicate field "a"',
    'unknown field "a"',
  ]);
});

test('without a document duplicates precede unknown fields', () => {
  expect(strictErrors(['a', 'b'], ['a', 'c'], undefined)).toEqual([
    'duplicate field "a"',
    'duplicate field "b"',
    'unknown field "a"',
    'unknown field "c"',
  ]);
});

test('a path that is not in the document is reported, too', () => {
  expect(strictErrors([], ['gone', 'a'], { a: 1 })).toEqual(['unknown field "a"', 'unknown field "gone"']);
});

test('only the first hundred errors are collected', () => {
  const names = Array.from({ length: 5000 }, (_, index) => `k${index}`);
  let looked = 0;
  const watched = (name: string): [string, PropertyDescriptor] => [
    name,
    { enumerable: true, get: () => (looked++, 1) },
  ];
  const document = Object.defineProperties({}, Object.fromEntries(names.map(watched)));
  expect(strictErrors([], names.toReversed(), document)).toEqual(
    names.slice(0, 100).map((name) => `unknown field "${name}"`),
  );
  expect(looked).toBe(100);
});
