import { describe, expect, test } from '@jest/globals';
import { runToCompletion } from '../async/run-to-completion.ts';
import { type Json, deepEqual } from './json.ts';
import { deepCopyIncrementally, deepEqualIncrementally, deepFreezeIncrementally } from './json-steps.ts';

const wide = (count: number, value: (index: number) => Json = (index) => index): Json =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, value(index)]));
const deep = (): Json =>
  Array.from({ length: 900 }).reduce<Json>((inner, _, index) => ({ [`d${index}`]: [inner] }), 'x');
const samples: readonly (() => Json)[] = [
  () => 'text',
  () => null,
  () => [],
  () => ({}),
  () => [1, [2, { a: null }], 12345678901234567890n],
  () => JSON.parse('{"__proto__":{"a":[true]},"constructor":1}') as Json,
  () => ({ b: 1, a: { d: [1, 2], c: wide(10) } }),
  deep,
  () => wide(20_000),
  () => ({ list: Array.from({ length: 20_000 }, (_, index) => ({ index })), nested: wide(300, () => wide(100)) }),
];
/** Steps of a generator, the last one included. */
function stepsOf(generator: Generator<void, unknown>): number {
  let steps = 1;
  while (generator.next().done !== true) steps++;
  return steps;
}

describe.each(
  samples.map(
    (sample) =>
      [
        JSON.stringify(sample(), (_key, v: unknown) => (typeof v === 'bigint' ? String(v) : v)).slice(0, 40),
        sample,
      ] as const,
  ),
)('%s', (_, sample) => {
  test('is copied, with its keys in order, and shares nothing', () => {
    const value = runToCompletion(deepFreezeIncrementally(sample()));
    const copy = runToCompletion(deepCopyIncrementally(value as Json));
    expect(deepEqual(copy, value as Json)).toBe(true);
    if (typeof copy !== 'object' || copy === null) return;
    expect(Object.isFrozen(copy)).toBe(false);
    expect(Object.keys(copy)).toEqual(Object.keys(value as object));
    expect(Object.getPrototypeOf(copy)).toBe(Object.getPrototypeOf(value));
  });

  test('equals itself parsed again and nothing else', () => {
    for (const other of samples.map((make) => make())) {
      expect(runToCompletion(deepEqualIncrementally(sample(), other))).toBe(deepEqual(sample(), other));
      expect(runToCompletion(deepEqualIncrementally(other, sample()))).toBe(deepEqual(other, sample()));
    }
  });

  test('is frozen with all it holds', () => {
    const value = sample();
    expect(runToCompletion(deepFreezeIncrementally(value))).toBe(value);
    const isFrozen = (one: unknown): boolean =>
      typeof one !== 'object' || one === null || (Object.isFrozen(one) && Object.values(one).every(isFrozen));
    expect(isFrozen(value)).toBe(true);
  });
});

test.each([
  [{ a: 1 }, { a: 1n }, true],
  [[], {}, false],
  [{ 0: 1 }, [1], false],
  [{ a: 1 }, { b: 1 }, false],
  [{ a: { b: 1, c: 2 } }, { a: { c: 2, b: 1 } }, true],
  [{ a: [1, 2] }, { a: [2, 1] }, false],
  [{ a: null }, {}, false],
] as readonly (readonly [Json, Json, boolean])[])('%j and %j are equal: %s', (a, b, equal) => {
  expect(runToCompletion(deepEqualIncrementally(a, b))).toBe(equal);
});

test('wide values take several passes, small ones one', () => {
  for (const large of [wide(20_000), [wide(20_000)], Array.from({ length: 20_000 }, () => ({}))] as Json[]) {
    expect(stepsOf(deepCopyIncrementally(large))).toBeGreaterThan(4);
    expect(stepsOf(deepEqualIncrementally(large, structuredClone(large)))).toBeGreaterThan(4);
    expect(stepsOf(deepFreezeIncrementally(large))).toBeGreaterThan(4);
  }
  expect(stepsOf(deepCopyIncrementally(wide(100)))).toBe(1);
});
