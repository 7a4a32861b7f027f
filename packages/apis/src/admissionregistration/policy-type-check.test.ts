import { expect, test } from '@jest/globals';
import type { Json, KubeObject } from '@multiplane/apimachinery';
import { builtInResources } from '../built-in-resources.ts';
import { policyTypeWarnings } from './policy-type-check.ts';

const served = builtInResources();

const policy = (resources: string[], ...validations: Json[]): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'p' },
  spec: {
    matchConstraints: {
      resourceRules: [{ apiGroups: ['', 'rbac.authorization.k8s.io'], apiVersions: ['v1'], resources }],
    },
    validations,
  },
});
const warnings = async (resources: string[], ...expressions: string[]): Promise<string[]> =>
  (await policyTypeWarnings(policy(resources, ...expressions.map((expression) => ({ expression }))), served)).map(
    ({ fieldRef, warning }) => `${fieldRef}: ${warning.split('\n')[0]}`,
  );

test('fields that the kind does not have are reported, others are not', async () => {
  expect(
    await warnings(
      ['configmaps'],
      'object.data.nope == "1" && object.metadata.labels["x"] == "y" && object.metadata.ownerReferences.all(o, o.name != "")',
      'object.nope == 1',
      'object.metadata.nope == oldObject.metadata.name',
    ),
  ).toEqual([
    "spec.validations[1].expression: /v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'nope'",
    "spec.validations[2].expression: /v1, Kind=ConfigMap: ERROR: <input>:1:16: undefined field 'nope'",
  ]);
});

test('types of what is compared are looked at, below references too', async () => {
  expect(await warnings(['clusterroles'], 'object.rules.all(r, r.verbs.size() > 0 && r.verbs != 3)')).toEqual([
    expect.stringContaining(
      "spec.validations[0].expression: rbac.authorization.k8s.io/v1, Kind=ClusterRole: ERROR: <input>:1:51: found no matching overload for '_!=_'",
    ),
  ]);
});

test('the authorizer of the request is not known to the type checker, as in Kubernetes', async () => {
  const expression = 'authorizer.requestResource.check("get").allowed()';
  expect(await policyTypeWarnings(policy(['configmaps'], { expression }), served)).toEqual([
    {
      fieldRef: 'spec.validations[0].expression',
      warning: `/v1, Kind=ConfigMap: ERROR: <input>:1:11: unexpected failed resolution of 'kubernetes.authorization.Authorizer'\n | ${expression}\n | ..........^\n`,
    },
  ]);
  const messageExpression = 'authorizer.path("/healthz").check("get").reason()';
  expect(await policyTypeWarnings(policy(['configmaps'], { expression: 'true', messageExpression }), served)).toEqual(
    [],
  );
});

test('every kind has its say, messages as well', async () => {
  const [warning, more] = await policyTypeWarnings(
    policy(['secrets', 'configmaps'], {
      expression: 'true',
      messageExpression: 'string(object.immutable) + object.type',
    }),
    served,
  );
  expect(warning?.fieldRef).toBe('spec.validations[0].messageExpression');
  expect(warning?.warning).toContain('/v1, Kind=ConfigMap: ERROR');
  expect(warning?.warning).not.toContain('Kind=Secret: ');
  expect(more).toBeUndefined();
});

test('rules with wildcards name no kind', async () => {
  expect(await warnings(['*'], 'object.nope == 1')).toEqual([]);
});
