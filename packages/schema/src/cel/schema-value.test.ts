import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { kubernetesEnvironment } from './kubernetes-environment.ts';
import { compileExpression } from './program.ts';
import { schemaType, type SchemaType } from './schema-type.ts';
import { valueOf } from './schema-value.ts';

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
