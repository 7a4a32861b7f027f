import { expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { ExpressionCache } from './policy-hook.ts';

const policy = (cluster: string, expression: string): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: `policy-of-${cluster}`, annotations: { 'kcp.io/cluster': cluster } },
  spec: { variables: [{ name: 'size', expression: 'object.spec.size' }], validations: [{ expression }] },
});
const webhook = (name: string, expression: string): JsonObject => ({
  name,
  matchConditions: [{ name: 'big', expression }],
});

test('compiles equal expressions once for all logical clusters', () => {
  const compiled = new ExpressionCache();
  const first = compiled.policyExpressions(policy('one', 'variables.size > 1'))();
  expect(first.validations).toHaveLength(1);
  expect(compiled.policyExpressions(policy('two', 'variables.size > 1'))()).toBe(first);
  expect(compiled.policyExpressions(policy('two', 'variables.size > 2'))()).not.toBe(first);
  const conditions = compiled.matchConditions(webhook('a', 'object.spec.size > 1'))();
  expect(conditions).toHaveLength(1);
  expect(compiled.matchConditions(webhook('b', 'object.spec.size > 1'))()).toBe(conditions);
  expect(compiled.matchConditions(webhook('b', 'object.spec.size > 2'))()).not.toBe(conditions);
});
