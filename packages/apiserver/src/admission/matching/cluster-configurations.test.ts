import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { configuredPipeline, type ConfiguredPipeline } from '../../../test/configured-admission-fixture.ts';

/*
 * Configurations that are stored although they cannot be compiled, as those of an earlier version may be: the fixture writes them
 * without validation of selectors.
 */

const rule = (resource: string): JsonObject => ({
  apiGroups: [''],
  apiVersions: ['v1'],
  operations: ['*'],
  resources: [resource],
});
const brokenSelector: JsonObject = { matchExpressions: [{ key: 'a', operator: 'Like', values: ['b'] }] };
const create = (resource: string) =>
  admission.on.ask('POST', `/api/v1/namespaces/default/${resource}`, { metadata: { generateName: 'a-' } });

let admission: ConfiguredPipeline;
beforeEach(async () => {
  admission = await configuredPipeline();
});
afterEach(async () => {
  await admission.close();
});

const policy = (failurePolicy: string): Promise<void> =>
  admission.configureStored('validatingadmissionpolicies', 'broken', {
    spec: {
      failurePolicy,
      matchConstraints: { resourceRules: [rule('secrets')], objectSelector: brokenSelector },
      validations: [{ expression: 'true' }],
    },
  });
const binding = (): Promise<void> =>
  admission.configureStored('validatingadmissionpolicybindings', 'b', {
    spec: { policyName: 'broken', validationActions: ['Deny'] },
  });

test('a policy that cannot be compiled fails what its rules match, and nothing else', async () => {
  await policy('Fail');
  await binding();
  expect((await create('configmaps')).status).toBe(201);
  const { status, body } = await create('secrets');
  expect([status, body['message']]).toEqual([
    500,
    expect.stringContaining('failed to compile policy broken: "Like" is not a valid label selector operator'),
  ]);
});

test('one with the failure policy Ignore is ignored', async () => {
  await policy('Ignore');
  await binding();
  expect((await create('secrets')).status).toBe(201);
});

test.each([
  ['mutatingwebhookconfigurations', 'Fail', 500],
  ['mutatingwebhookconfigurations', 'Ignore', 201],
  ['validatingwebhookconfigurations', 'Fail', 500],
  ['validatingwebhookconfigurations', 'Ignore', 201],
])(
  '%s that cannot be compiled, with the failure policy %s, answer %d to what their rules match',
  async (resource, failurePolicy, status) => {
    await admission.configureStored(resource, 'broken', {
      webhooks: [
        {
          name: 'w.example.com',
          rules: [rule('secrets')],
          objectSelector: brokenSelector,
          failurePolicy,
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          clientConfig: { url: 'https://127.0.0.1:1' },
        },
      ],
    });
    expect((await create('configmaps')).status).toBe(201);
    expect((await create('secrets')).status).toBe(status);
  },
);
