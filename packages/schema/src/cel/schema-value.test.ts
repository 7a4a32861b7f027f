import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runToCompletion, type Json } from '@multiplane/apimachinery';
import { equal } from './equality.ts';
import { plainValue, plainValueIncrementally } from './schema-value.ts';

test('values of objects are the same when they are made in passes', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (json) => {
      expect(equal(runToCompletion(plainValueIncrementally(json as Json)), plainValue(json as Json))).toBe(true);
    }),
  );
});

test.each<[string, Json]>([
  ['members', Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`m${index}`, index]))],
  ['items', Array.from({ length: 50_000 }, (_, index) => ({ index }))],
])('no pass makes more than some thousand %s', (_what, json) => {
  const steps = plainValueIncrementally(json);
  let passes = 0;
  let next = steps.next();
  for (; next.done !== true; next = steps.next()) passes++;
  expect(passes).toBeGreaterThanOrEqual(12);
  expect(equal(next.value, plainValue(json))).toBe(true);
});
