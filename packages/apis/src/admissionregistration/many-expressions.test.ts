import { describe, expect, test } from '@jest/globals';
import { fieldErrorText, type Json, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import { builtInResources } from '../built-in-resources.ts';
import type { StrategyContext } from '../resource-definition.ts';
import { compilePolicy } from './policy-expressions.ts';

const sent: KubeObject[] = [];
const context: StrategyContext = {
  user: { name: 'u', uid: '', groups: [], extra: {} },
  cluster: 'root' as LogicalClusterName,
  namespace: '',
  now: () => new Date(0),
  dryRun: false,
  warn: () => undefined,
  slowly: {
    definition: async (_cluster, object) => {
      sent.push(object);
      return Promise.resolve([]);
    },
    object: async () => Promise.resolve({ errors: [], warnings: [], cost: 0 }),
    compiling: (check) =>
      check(
        () => false,
        () => false,
      ),
  },
};
const strategyOf = (resource: string) => {
  const definition = builtInResources().find((one) => one.resource === resource);
  if (definition === undefined) throw new Error(`there is no ${resource}`);
  return definition.strategy;
};
const all = { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} };
const policy = (spec: Record<string, Json>): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'p' },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      ...all,
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['x'], scope: '*' }],
    },
    ...spec,
  },
});
const times = (count: number, expression: string): Json[] => Array.from({ length: count }, () => ({ expression }));
const errorsOf = async (object: KubeObject): Promise<string[]> =>
  (await strategyOf('validatingadmissionpolicies').validate(context, object)).map(fieldErrorText);

describe('expressions', () => {
  test('few are compiled on the main thread, many in a worker', async () => {
    sent.length = 0;
    expect(await errorsOf(policy({ validations: times(3, 'object.') }))).toHaveLength(3);
    expect(sent).toEqual([]);
    const many = policy({ validations: times(30, 'object.') });
    expect(await errorsOf(many)).toEqual([]);
    const webhooks: KubeObject = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'w' },
      webhooks: times(30, 'true').map((condition) => ({ matchConditions: [condition] })),
    };
    await strategyOf('validatingwebhookconfigurations').validateUpdate(context, webhooks, webhooks);
    expect(sent).toEqual([many, webhooks]);
  });

  test('there is an end to their number, their text and to variables', async () => {
    const unlimited: StrategyContext = { ...context, slowly: undefined };
    const texts = async (object: KubeObject): Promise<string[]> =>
      (await strategyOf('validatingadmissionpolicies').validate(unlimited, object)).map(fieldErrorText);
    expect(await texts(policy({ validations: times(1001, 'true') }))).toEqual([
      'spec: Too many: 1001: must have at most 1000 items',
    ]);
    expect(await texts(policy({ validations: times(3, `"${'x'.repeat(99_000)}" != ""`) }))).toEqual([
      'spec: Too long: may not be more than 262144 bytes',
    ]);
    const variables = times(101, 'true').map((variable, index) => ({ ...(variable as object), name: `v${index}` }));
    expect(await texts(policy({ validations: times(1, 'true'), variables }))).toEqual([
      'spec.variables: Too many: 101: must have at most 100 items',
    ]);
  });

  test('of a chain of variables each is compiled when it is needed', () => {
    const variables = Array.from({ length: 100 }, (_, index) => ({
      name: `v${index}`,
      expression: index === 0 ? '1' : `variables.v${index - 1} + 1`,
    }));
    const { validations } = compilePolicy(policy({ variables, validations: [{ expression: 'variables.v99 == 100' }] }));
    expect(validations[0]?.expression.problem).toBeUndefined();
    const wrong = compilePolicy(policy({ variables, validations: [{ expression: 'variables.v99 == "x"' }] }));
    expect(wrong.validations[0]?.expression.problem).toContain("found no matching overload for '_==_'");
  });
});
