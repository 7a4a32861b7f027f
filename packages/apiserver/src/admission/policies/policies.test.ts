import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { JsonObject, UserInfo } from '@multiplane/apimachinery';
import type { AuthorizationAttributes } from '@multiplane/generic-server';
import { definitionOf } from '../../../test/definitions.ts';
import { configuredPipeline, type ConfiguredPipeline } from '../../../test/configured-admission-fixture.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const configMaps: JsonObject = {
  resourceRules: [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['configmaps'] },
  ],
};

let admission: ConfiguredPipeline;
beforeEach(async () => {
  admission = await configuredPipeline();
});
afterEach(async () => {
  await admission.close();
});

const policy = (spec: JsonObject, name = 'p'): Promise<void> =>
  admission.configure('validatingadmissionpolicies', name, { spec: { matchConstraints: configMaps, ...spec } });
const binding = (spec: JsonObject = {}, name = 'b'): Promise<void> =>
  admission.configure('validatingadmissionpolicybindings', name, {
    spec: { policyName: 'p', validationActions: ['Deny'], ...spec },
  });
const create = (data: JsonObject = {}, name = 'a') => admission.on.ask('POST', maps, { metadata: { name }, data });
const denied = (why: string): string =>
  `configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ${why}`;
const messageOf = async (expression: string, data: JsonObject = { k: '1' }): Promise<unknown> => {
  await policy({ validations: [{ expression }] });
  await binding();
  return (await create(data)).body['message'];
};

describe('variables of expressions', () => {
  test.each([
    'object.data.k == "1" && oldObject == null',
    'object.metadata.annotations["kcp.io/cluster"] == "root"',
    'request.operation == "CREATE" && request.kind.kind == "ConfigMap" && request.namespace == "default"',
    'request.userInfo.username == "admin" && "system:masters" in request.userInfo.groups',
    'request.options.kind == "CreateOptions" && !request.dryRun',
    'namespaceObject.metadata.name == "default" && has(namespaceObject.metadata.UID) && namespaceObject.status.phase == "Active"',
    'namespaceObject.metadata.creationTimestamp < timestamp("2100-01-01T00:00:00Z")',
  ])('%s', async (expression) => {
    await policy({ validations: [{ expression }] });
    await binding();
    expect(await create({ k: '1' })).toMatchObject({ status: 201 });
  });

  test('both objects for an update, the old one for a deletion', async () => {
    await create({ k: '1' });
    await policy({
      validations: [
        { expression: 'request.operation != "UPDATE" || object.data.k != oldObject.data.k', message: 'same' },
        { expression: 'request.operation != "DELETE" || (object == null && oldObject.data.k == "2")', message: 'gone' },
      ],
    });
    await binding();
    expect(
      (await admission.on.ask('PATCH', `${maps}/a`, { metadata: { labels: { x: '1' } } }, mergePatch)).body['message'],
    ).toBe(denied('same'));
    expect((await admission.on.ask('DELETE', `${maps}/a`)).body['message']).toBe(denied('gone'));
    await admission.on.must(200, 'PATCH', `${maps}/a`, { data: { k: '2' } }, mergePatch);
    await admission.on.must(200, 'DELETE', `${maps}/a`);
  });

  test('match conditions see null as the namespace', async () => {
    await policy({
      matchConditions: [{ name: 'c', expression: 'namespaceObject.metadata.name == "default"' }],
      validations: [{ expression: 'true' }],
    });
    await binding();
    expect((await create()).body['message']).toBe(
      denied(`expression 'namespaceObject.metadata.name == "default"' resulted in error: no such key: metadata`),
    );
  });

  test('variables may use earlier variables', async () => {
    await policy({
      variables: [
        { name: 'keys', expression: 'object.data.map(key, key)' },
        { name: 'count', expression: 'size(variables.keys)' },
        { name: 'unused', expression: 'string(object.nope)' },
      ],
      validations: [{ expression: 'variables.count < 2', messageExpression: '"has " + string(variables.count)' }],
    });
    await binding();
    expect((await create({ a: '1', b: '2' })).body['message']).toBe(denied('has 2'));
    expect((await create({ a: '1' })).status).toBe(201);
  });

  test('the error names a failing variable', async () => {
    await policy({
      variables: [{ name: 'bad', expression: 'object.nope' }],
      validations: [{ expression: 'variables.bad == 1' }],
    });
    await binding();
    expect((await create()).body['message']).toBe(
      denied(
        `expression 'variables.bad == 1' resulted in error: composited variable "bad" fails to evaluate: no such key: nope`,
      ),
    );
  });

  test('the authorizer', async () => {
    await admission.close();
    const asked: AuthorizationAttributes[] = [];
    admission = await configuredPipeline({
      authorizer: {
        authorize: async (attributes) => {
          asked.push(attributes);
          return Promise.resolve({ decision: attributes.verb === 'breakglass' ? 'allow' : 'noOpinion', reason: 'r' });
        },
      },
    });
    await policy({
      validations: [
        { expression: 'authorizer.requestResource.check("breakglass").allowed()' },
        { expression: 'authorizer.group("x").resource("y").namespace("z").check("eat").reason() == "r"' },
        { expression: '!authorizer.serviceAccount("default", "robot").path("/healthz").check("get").allowed()' },
      ],
    });
    await binding();
    expect((await create()).status).toBe(201);
    expect(
      asked.map(({ user, cluster, verb, group, resource, namespace, name, path }) => [
        user.name,
        cluster,
        verb,
        group,
        resource,
        namespace,
        name,
        path,
      ]),
    ).toEqual([
      ['admin', 'root', 'breakglass', '', 'configmaps', 'default', 'a', ''],
      ['admin', 'root', 'eat', 'x', 'y', 'z', '', ''],
      ['system:serviceaccount:default:robot', 'root', 'get', '', '', '', '', '/healthz'],
    ]);
    expect(asked[2]?.user.extra).toEqual({ 'authentication.kcp.io/cluster-name': ['root'] });
  });
});

describe('a policy', () => {
  test('applies only while it has a binding', async () => {
    await policy({ validations: [{ expression: 'false' }] });
    expect((await create()).status).toBe(201);
    await binding();
    expect((await create({}, 'b')).status).toBe(422);
    await admission.on.must(200, 'DELETE', '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/b');
    expect((await create({}, 'b')).status).toBe(201);
  });

  test('applies in its current version', async () => {
    await policy({ validations: [{ expression: 'false', message: 'one' }] });
    await binding();
    expect((await create()).body['message']).toBe(denied('one'));
    await admission.on.must(
      200,
      'PATCH',
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/p',
      { spec: { validations: [{ expression: 'false', message: 'two' }] } },
      mergePatch,
    );
    expect((await create()).body['message']).toBe(denied('two'));
  });

  test('skips requests that its match conditions exclude', async () => {
    await policy({
      matchConditions: [{ name: 'named', expression: 'object.metadata.name != "free"' }],
      validations: [{ expression: 'false' }],
    });
    await binding();
    expect((await create({}, 'free')).status).toBe(201);
    expect((await create()).status).toBe(422);
  });

  test('skips excluded resources and requests that its binding does not match', async () => {
    await policy({
      matchConstraints: {
        ...configMaps,
        excludeResourceRules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            operations: ['*'],
            resources: ['configmaps'],
            resourceNames: ['free'],
          },
        ],
      },
      validations: [{ expression: 'false' }],
    });
    await binding({ matchResources: { objectSelector: { matchLabels: { l: '1' } } } });
    expect((await create()).status).toBe(201);
    const labelled = (name: string) => admission.on.ask('POST', maps, { metadata: { name, labels: { l: '1' } } });
    expect((await labelled('free')).status).toBe(201);
    expect((await labelled('b')).status).toBe(422);
  });

  test('fails when it exceeds the cost budget', async () => {
    const heavy = 'object.data.all(a, object.data.all(b, object.data.all(c, a + b + c != "")))';
    const data = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`key${index}`, 'x']));
    expect(await messageOf(heavy, data)).toBe(
      denied(`expression '${heavy}' resulted in error: operation cancelled: actual cost limit exceeded`),
    );
  });

  test.each([
    ['Warn', 201],
    ['Deny', 403],
  ])('%s', async (action, status) => {
    await policy({ validations: [{ expression: 'false', message: 'no', reason: 'Forbidden' }] });
    await binding({ validationActions: [action, 'Audit'] });
    const made = await create();
    expect(made.status).toBe(status);
    expect(made.warnings).toEqual(
      action === 'Warn' ? [`Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no`] : [],
    );
    expect(admission.annotations.get('validation.policy.admission.k8s.io/validation_failure')).toBe(
      `[{"message":"no","policy":"p","binding":"b","expressionIndex":0,"validationActions":["${action}","Audit"]}]`,
    );
  });

  test('adds audit annotations; null values are omitted', async () => {
    await policy({
      auditAnnotations: [
        { key: 'who', valueExpression: 'request.userInfo.username + " wrote " + object.metadata.name' },
        { key: 'nothing', valueExpression: 'null' },
      ],
    });
    await binding();
    await binding({}, 'c');
    await create();
    expect(Object.fromEntries(admission.annotations)).toEqual({ 'p/who': 'admin wrote a' });
  });
});

describe('parameters', () => {
  const withParams = async (
    paramRef: JsonObject,
    kind: JsonObject = { apiVersion: 'v1', kind: 'Secret' },
    more: JsonObject = {},
  ) => {
    await policy({
      paramKind: kind,
      validations: [
        {
          expression: 'params.metadata.name != object.metadata.name',
          messageExpression: '"not " + params.metadata.name',
        },
      ],
      ...more,
    });
    await binding({ paramRef });
  };
  const secret = (name: string, namespace = 'default', labels: JsonObject = {}) =>
    admission.on.must(201, 'POST', `/api/v1/namespaces/${namespace}/secrets`, { metadata: { name, labels } });

  test('by name in the namespace of the request', async () => {
    await secret('a');
    await withParams({ name: 'a', parameterNotFoundAction: 'Deny' });
    expect((await create()).body['message']).toBe(denied('not a'));
    expect((await create({}, 'b')).status).toBe(201);
  });

  test('by name in a namespace of their own', async () => {
    await admission.on.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'params' } });
    await secret('a', 'params');
    await withParams({ name: 'a', namespace: 'params', parameterNotFoundAction: 'Deny' });
    expect((await create()).body['message']).toBe(denied('not a'));
  });

  test('by selector: the policy applies with each of them', async () => {
    await secret('x', 'default', { p: '1' });
    await secret('a', 'default', { p: '1' });
    await secret('b');
    await withParams({ selector: { matchLabels: { p: '1' } }, parameterNotFoundAction: 'Deny' });
    expect((await create()).body['message']).toBe(denied('not a'));
    expect((await create({}, 'b')).status).toBe(201);
  });

  test('of a custom kind', async () => {
    await admission.on.must(
      201,
      'POST',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      definitionOf('example.com', 'v1', 'limits', 'Limit'),
    );
    await admission.on.must(
      200,
      'PATCH',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/limits.example.com/status',
      {
        status: {
          conditions: [
            { type: 'NamesAccepted', status: 'True' },
            { type: 'Established', status: 'True' },
          ],
          acceptedNames: { plural: 'limits', kind: 'Limit', singular: 'limit', listKind: 'LimitList' },
          storedVersions: ['v1'],
        },
      },
      mergePatch,
    );
    await admission.on.must(201, 'POST', '/apis/example.com/v1/namespaces/default/limits', {
      apiVersion: 'example.com/v1',
      kind: 'Limit',
      metadata: { name: 'a' },
      max: 3,
    });
    await withParams(
      { name: 'a', parameterNotFoundAction: 'Deny' },
      { apiVersion: 'example.com/v1', kind: 'Limit' },
      {
        validations: [{ expression: 'size(object.data) <= params.max' }],
      },
    );
    expect((await create({ a: '', b: '', c: '', d: '' })).status).toBe(422);
    expect((await create({ a: '', b: '', c: '' })).status).toBe(201);
  });

  test('that are missing deny or allow as the binding specifies', async () => {
    await withParams({ name: 'nope', parameterNotFoundAction: 'Deny' });
    expect((await create()).body['message']).toBe(
      denied('failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction'),
    );
    await admission.on.must(
      200,
      'PATCH',
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/b',
      { spec: { paramRef: { parameterNotFoundAction: 'Allow' } } },
      mergePatch,
    );
    expect((await create()).status).toBe(201);
  });

  test('of an unknown kind obey the failure policy', async () => {
    await withParams({ name: 'x', parameterNotFoundAction: 'Deny' }, { apiVersion: 'x/v1', kind: 'Y' });
    expect((await create()).body['message']).toBe(
      denied('failed to configure binding: paramKind kind `x/v1, Kind=Y` not known'),
    );
    await admission.on.must(
      200,
      'PATCH',
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/p',
      { spec: { failurePolicy: 'Ignore' } },
      mergePatch,
    );
    expect((await create()).status).toBe(201);
  });

  describe('require read permission of the author', () => {
    const ann: UserInfo = { name: 'ann', uid: '7', groups: ['team'], extra: { a: ['b'] } };
    const allowing = async (allows: (attributes: AuthorizationAttributes) => boolean): Promise<void> => {
      await admission.close();
      admission = await configuredPipeline({
        user: ann,
        authorizer: {
          authorize: async (attributes) =>
            Promise.resolve({ decision: allows(attributes) ? 'allow' : 'noOpinion', reason: '' }),
        },
      });
    };
    const ask = (resource: string, spec: JsonObject) =>
      admission.on.ask('POST', `/apis/admissionregistration.k8s.io/v1/${resource}`, { metadata: { name: 'p' }, spec });
    const policySpec = {
      matchConstraints: configMaps,
      validations: [{ expression: 'true' }],
      paramKind: { apiVersion: 'v1', kind: 'Secret' },
    };
    const bindingSpec = {
      policyName: 'p',
      validationActions: ['Deny'],
      paramRef: { name: 'x', namespace: 'default', parameterNotFoundAction: 'Deny' },
    };

    test('on all objects of the kind for a policy', async () => {
      await allowing(() => false);
      const refused = await ask('validatingadmissionpolicies', policySpec);
      expect(refused.status).toBe(422);
      expect(refused.body['message']).toBe(
        'ValidatingAdmissionPolicy.admissionregistration.k8s.io "p" is invalid: spec.paramKind: Forbidden: user &{ann 7 [team] map[a:[b]]} must have "get" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)',
      );
      await allowing(
        ({ verb, resource, namespace, name }) => verb === 'get' && resource === 'secrets' && namespace + name === '',
      );
      expect((await ask('validatingadmissionpolicies', policySpec)).status).toBe(201);
    });

    test('on the referenced object for a binding', async () => {
      let mayRead = false;
      await allowing(
        ({ resource, namespace, name }) =>
          resource === 'secrets' && (name === '' || (mayRead && `${namespace}/${name}` === 'default/x')),
      );
      await admission.configure('validatingadmissionpolicies', 'p', { spec: policySpec });
      expect((await ask('validatingadmissionpolicybindings', bindingSpec)).body['message']).toContain(
        'spec.paramRef: Forbidden: user &{ann 7 [team] map[a:[b]]} does not have "get" permission on the object referenced by paramRef',
      );
      mayRead = true;
      expect((await ask('validatingadmissionpolicybindings', bindingSpec)).status).toBe(201);
    });

    test('on all resources for a binding to a missing policy', async () => {
      await allowing(({ verb, resource }) => verb === 'get' && resource === 'secrets');
      expect((await ask('validatingadmissionpolicybindings', bindingSpec)).body['message']).toContain(
        'unable to get policy p to determine minimum required permissions and user',
      );
    });
  });
});

test('policies of a provider apply to bound objects of consumers, with parameters of the provider', async () => {
  await admission.close();
  admission = await configuredPipeline({
    configurationCluster: (resource, cluster) => (resource === 'configmaps' ? ('root' as typeof cluster) : cluster),
  });
  await admission.on.must(201, 'POST', '/api/v1/namespaces/default/secrets', { metadata: { name: 'forbidden' } });
  await policy({
    paramKind: { apiVersion: 'v1', kind: 'Secret' },
    validations: [
      {
        expression: 'object.metadata.name != params.metadata.name',
        messageExpression: '"not in " + object.metadata.annotations["kcp.io/cluster"]',
      },
    ],
  });
  await binding({ paramRef: { name: 'forbidden', namespace: 'default', parameterNotFoundAction: 'Deny' } });
  await admission.on.must(201, 'POST', '/clusters/consumer/api/v1/namespaces', { metadata: { name: 'default' } });
  const make = (name: string) => admission.on.ask('POST', `/clusters/consumer${maps}`, { metadata: { name } });
  expect((await make('fine')).status).toBe(201);
  expect((await make('forbidden')).body['message']).toBe(
    `configmaps "forbidden" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: not in consumer`,
  );
});
