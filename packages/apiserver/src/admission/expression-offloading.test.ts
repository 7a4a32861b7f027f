import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { systemClock } from '@multiplane/component-base';
import type { AuthorizationAttributes } from '@multiplane/generic-server';
import { SchemaWorker } from '../threads/schema-worker.ts';
import type { ExpressionJob } from '../threads/expression-job.ts';
import { configuredPipeline, type ConfiguredPipeline } from '../../test/configured-admission-fixture.ts';

const worker = new SchemaWorker({ clock: systemClock });
afterAll(() => worker.stop());

const jobs: ExpressionJob[] = [];
const authorized: AuthorizationAttributes[] = [];
let admission: ConfiguredPipeline;
beforeEach(async () => {
  jobs.length = 0;
  authorized.length = 0;
  admission = await configuredPipeline({
    slowly: {
      expression: (cluster, job) => {
        jobs.push(job);
        return worker.expression(cluster, job);
      },
    },
    authorizer: {
      authorize: async (attributes) => {
        authorized.push(attributes);
        return Promise.resolve({ decision: 'allow', reason: attributes.verb });
      },
    },
  });
});
afterEach(async () => {
  await admission.close();
});

const data = (count: number): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, 'x']));
/** Compares every pair of keys twice, which is expensive. */
const heavy = 'object.data.all(a, object.data.all(b, a + b != variables.never))';
const matchConstraints: JsonObject = {
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
};
const policy = async (spec: JsonObject): Promise<void> => {
  await admission.configure('validatingadmissionpolicies', 'p', {
    spec: { matchConstraints, variables: [{ name: 'never', expression: '"-"' }], ...spec },
  });
  await admission.configure('validatingadmissionpolicybindings', 'b', {
    spec: { policyName: 'p', validationActions: ['Deny'] },
  });
};
const create = (content: JsonObject) =>
  admission.on.ask('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' }, data: content });

describe('an expensive expression', () => {
  test('is offloaded with the same result', async () => {
    await policy({
      validations: [{ expression: heavy }, { expression: `!(${heavy})`, messageExpression: '"no" + variables.never' }],
    });
    expect((await create(data(150))).body['message']).toContain('denied request: no-');
    expect(jobs.map(({ source }) => source)).toEqual([heavy, `!(${heavy})`]);
  });

  test('is evaluated on the event loop for small inputs', async () => {
    await policy({ validations: [{ expression: heavy }] });
    expect((await create(data(3))).status).toBe(201);
    expect(jobs).toEqual([]);
  });

  test('fetches authorization decisions for the worker', async () => {
    await policy({
      validations: [{ expression: `${heavy} && authorizer.requestResource.check("eat").reason() == "eat"` }],
    });
    expect((await create(data(150))).status).toBe(201);
    expect(authorized.map(({ verb, resource, name }) => [verb, resource, name])).toEqual([['eat', 'configmaps', 'a']]);
    // Once to determine the authorization check, once with its result.
    expect(jobs).toHaveLength(2);
  });

  test('the cost of authorization checks does not count', async () => {
    const check = 'authorizer.requestResource.check("eat").allowed()';
    await policy({ validations: [{ expression: `${check} && ${check}` }] });
    expect((await create(data(3))).status).toBe(201);
    expect(authorized).toHaveLength(1);
    expect(jobs).toEqual([]);
  });

  test('is offloaded if its variables are expensive together', async () => {
    const variables = Array.from({ length: 8 }, (_, index) => ({
      name: `v${index}`,
      expression: `${index === 0 ? '' : `variables.v${index - 1} && `}object.data.all(a, a != "-${index}")`,
    }));
    await policy({ variables, validations: [{ expression: 'variables.v7' }] });
    expect((await create(data(3000))).status).toBe(201);
    expect(jobs.map(({ source }) => source)).toEqual(['variables.v7']);
  });

  test('has the cost limit of one expression', async () => {
    await policy({ validations: [{ expression: `object.data.all(c, ${heavy})` }] });
    expect((await create(data(120))).body['message']).toContain(
      'resulted in error: operation cancelled: actual cost limit exceeded',
    );
  });

  test('returns apply configurations from the worker', async () => {
    await admission.configure('mutatingadmissionpolicies', 'm', {
      spec: {
        matchConstraints,
        reinvocationPolicy: 'Never',
        variables: [{ name: 'never', expression: '"-"' }],
        mutations: [
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: { expression: `${heavy} ? Object{data: {"added": "yes"}} : Object{data: {}}` },
          },
        ],
      },
    });
    await admission.configure('mutatingadmissionpolicybindings', 'm', { spec: { policyName: 'm' } });
    expect((await create(data(150))).body).toMatchObject({ data: { added: 'yes', key149: 'x' } });
    expect(jobs).toHaveLength(1);
  });
});
