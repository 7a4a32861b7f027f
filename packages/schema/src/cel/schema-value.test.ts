import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runToCompletion, type Json, type JsonObject } from '@multiplane/apimachinery';
import { equal } from './equality.ts';
import { kubernetesEnvironment } from './kubernetes-environment.ts';
import { compileExpression } from './program.ts';
import { schemaType, type SchemaType } from './schema-type.ts';
import { plainValue, plainValueIncrementally, valueOf } from './schema-value.ts';

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

describe('fields of objects', () => {
  const schema: JsonObject = {
    type: 'object',
    properties: {
      namespace: { type: 'string' },
      for: { type: 'integer' },
      note: { type: 'string', nullable: true },
      child: { type: 'object', nullable: true, properties: { x: { type: 'integer' } } },
      labels: { type: 'object', additionalProperties: { type: 'string', nullable: true } },
    },
  };
  const self = { namespace: 'a', for: 2, note: null, child: null, labels: { a: null } };

  test.each([
    // Since Kubernetes 1.31 a field with the name of a reserved word may be selected as it is.
    "self.namespace == 'a' && self.__namespace__ == 'a' && self.for + self.__for__ == 4",
    "has(self.namespace) && self.?namespace.orValue('') == 'a'",
    // A nullable property that is null is absent, a null in a map is a value.
    '!has(self.note) && !has(self.child) && !self.?note.hasValue()',
    "has(self.labels.a) && dyn(self.labels.a) == null && 'a' in self.labels",
  ])('%s', (rule) => {
    const type = schemaType(schema, false);
    const environment = kubernetesEnvironment({ self: (type as SchemaType).type });
    const outcome = compileExpression(rule, environment).evaluate({ self: valueOf(self, type as SchemaType) });
    expect(outcome).toMatchObject({ value: true });
  });
});
