import type { Random } from './random.ts';

/** A number that JavaScript cannot hold; `jsonText` writes its digits as they are. */
export const numberText = (digits: string): string => `\u0001${digits}\u0001`;

/** JSON in which texts of {@link numberText} are numbers. */
export const jsonText = (value: unknown): string =>
  JSON.stringify(value).replace(/"\\u0001([^"\\]*)\\u0001"/g, (_, digits: string) => digits);

export const hasNumberText = (value: unknown): boolean => JSON.stringify(value ?? null).includes('\\u0001');

const numbers = [
  0,
  -1,
  1,
  2,
  1.5,
  -0.5,
  255,
  65_536,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  numberText('9223372036854775807'),
  numberText('9223372036854775808'),
  numberText('1e3'),
  numberText('1.0'),
  numberText('1e400'),
  numberText('-0'),
];

const strings = [
  '',
  ' ',
  'a',
  'A',
  'Upper',
  'a_b',
  'a.b',
  '.a',
  'a.',
  '..',
  '-a',
  'a-',
  'a/b',
  'a/b/c',
  '/a',
  'a b',
  'ü',
  '😀',
  'a\nb',
  '%41',
  '*',
  '0',
  '1',
  'true',
  'null',
  '1.5',
  '{}',
  '__proto__',
  'constructor',
  'kubernetes.io/a',
  'example.com/a',
  'Example.com/A',
  '2026-01-01T00:00:00Z',
  '1h',
  'a'.repeat(63),
  'a'.repeat(64),
  'a'.repeat(253),
  'a'.repeat(254),
];

/** A text that some rule for names, keys or values refuses. */
export const oddString = (random: Random): string => random.pick(strings);

/** Any JSON value: what a field of another type does not expect. */
export function oddValue(random: Random, depth = 0): unknown {
  return random.weighted<() => unknown>([
    [3, () => null],
    [2, () => random.chance(0.5)],
    [4, () => random.pick(numbers)],
    [5, () => oddString(random)],
    [2, () => []],
    [2, () => ({})],
    [1, () => (depth > 1 ? [] : [oddValue(random, depth + 1)])],
    [1, () => (depth > 1 ? {} : { [oddString(random)]: oddValue(random, depth + 1) })],
  ])();
}
