import { expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { CompiledExpressions } from './policy-hook.ts';

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

test('expressions are compiled once for each content, in however many logical clusters it is', () => {
  const compiled = new CompiledExpressions();
  const first = compiled.ofPolicy(policy('one', 'variables.size > 1'))();
  expect(first.validations).toHaveLength(1);
  expect(compiled.ofPolicy(policy('two', 'variables.size > 1'))()).toBe(first);
  expect(compiled.ofPolicy(policy('two', 'variables.size > 2'))()).not.toBe(first);
  const conditions = compiled.ofConditions(webhook('a', 'object.spec.size > 1'))();
  expect(conditions).toHaveLength(1);
  expect(compiled.ofConditions(webhook('b', 'object.spec.size > 1'))()).toBe(conditions);
  expect(compiled.ofConditions(webhook('b', 'object.spec.size > 2'))()).not.toBe(conditions);
});
