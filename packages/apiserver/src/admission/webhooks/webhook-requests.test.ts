import { beforeEach, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { webhookOf } from '../../../test/configured-admission-fixture.ts';
import { definitionOf } from '../../../test/definitions.ts';
import { maps, mergePatch, patching, webhookSuite } from '../../../test/webhook-suite.ts';

const suite = webhookSuite();

describe('requests that match a webhook', () => {
  const received = async (change: JsonObject, work: () => Promise<unknown>): Promise<unknown[]> => {
    await suite.validating(webhookOf(suite.server, change));
    await work();
    return suite
      .requests()
      .map(({ operation, name, resource }) => [operation, name, (resource as JsonObject)['version']]);
  };
  const rule = (change: JsonObject): JsonObject => ({
    rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'], ...change }],
  });

  test('by operation', async () => {
    expect(
      await received(rule({ operations: ['DELETE'], resources: ['configmaps'] }), async () => {
        await suite.create();
        await suite.admission.on.must(200, 'DELETE', `${maps}/a`);
      }),
    ).toEqual([['DELETE', 'a', 'v1']]);
  });

  test('subresources only if they are named', async () => {
    await suite.admission.on.must(201, 'POST', '/api/v1/namespaces/default/resourcequotas', {
      metadata: { name: 'q' },
      spec: { hard: {} },
    });
    const status = (): Promise<unknown> =>
      suite.admission.on.must(
        200,
        'PATCH',
        '/api/v1/namespaces/default/resourcequotas/q/status',
        { status: { hard: {} } },
        mergePatch,
      );
    await suite.validating(
      webhookOf(suite.server, { name: 'plain.hooks.example.com', ...rule({}) }),
      webhookOf(suite.server, { name: 'status.hooks.example.com', ...rule({ resources: ['*/status'] }) }),
    );
    await status();
    expect(suite.requests()).toMatchObject([{ subResource: 'status', requestSubResource: 'status' }]);
  });

  test('by scope', async () => {
    expect(
      await received(rule({ scope: 'Cluster' }), async () => {
        await suite.create();
        await suite.admission.on.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'n' } });
      }),
    ).toEqual([['CREATE', 'n', 'v1']]);
  });

  test('by labels of the new or old object', async () => {
    expect(
      await received({ objectSelector: { matchLabels: { l: '1' } } }, async () => {
        await suite.create('plain');
        await suite.admission.on.must(201, 'POST', maps, { metadata: { name: 'labelled', labels: { l: '1' } } });
        await suite.admission.on.must(
          200,
          'PATCH',
          `${maps}/labelled`,
          { metadata: { labels: { l: null } } },
          mergePatch,
        );
        await suite.admission.on.must(200, 'PATCH', `${maps}/labelled`, { data: { x: '1' } }, mergePatch);
      }),
    ).toEqual([
      ['CREATE', 'labelled', 'v1'],
      ['UPDATE', 'labelled', 'v1'],
    ]);
  });

  test('by labels of the namespace', async () => {
    await suite.admission.on.must(201, 'POST', '/api/v1/namespaces', {
      metadata: { name: 'n', labels: { team: 'a' } },
    });
    expect(
      await received({ namespaceSelector: { matchLabels: { team: 'a' } } }, async () => {
        await suite.create();
        await suite.admission.on.must(201, 'POST', '/api/v1/namespaces/n/configmaps', { metadata: { name: 'there' } });
      }),
    ).toEqual([['CREATE', 'there', 'v1']]);
  });

  test('by match conditions', async () => {
    const matchConditions = [
      { name: 'named', expression: 'request.name.startsWith("a")' },
      { name: 'filled', expression: 'object.data.k == "1"' },
    ];
    expect(
      await received({ matchConditions }, async () => {
        await suite.create('b');
        await suite.create('ab', { k: '2' });
        await suite.create('abc', { k: '1' });
      }),
    ).toEqual([['CREATE', 'abc', 'v1']]);
  });

  test('a failing condition denies the request unless the failure policy is Ignore', async () => {
    const matchConditions = [{ name: 'filled', expression: 'object.data.nope == "1"' }];
    await suite.validating(webhookOf(suite.server, { matchConditions }));
    expect((await suite.create('a', { k: '1' })).body).toMatchObject({
      code: 403,
      message: `configmaps "a" is forbidden: expression 'object.data.nope == "1"' resulted in error: no such key: nope`,
    });
    await suite.admission.on.must(
      200,
      'PATCH',
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/w',
      { webhooks: [webhookOf(suite.server, { matchConditions, failurePolicy: 'Ignore' })] },
      mergePatch,
    );
    expect((await suite.create('a', { k: '1' })).status).toBe(201);
    expect(suite.server.calls).toEqual([]);
  });

  test('never requests for admission configurations', async () => {
    await suite.validating(webhookOf(suite.server, rule({})));
    await suite.admission.on.must(
      200,
      'DELETE',
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/w',
    );
    expect(suite.server.calls).toEqual([]);
  });

  test('calls a webhook without side effects on dry run', async () => {
    await suite.validating(webhookOf(suite.server, { sideEffects: 'NoneOnDryRun' }));
    await suite.admission.on.must(201, 'POST', `${maps}?dryRun=All`, { metadata: { name: 'a' } });
    expect(suite.requests()).toMatchObject([{ dryRun: true }]);
  });

  describe('of another version', () => {
    const foos = (version: string): string => `/apis/example.com/${version}/namespaces/default/foos`;
    beforeEach(async () => {
      const definition = definitionOf('example.com', 'v1', 'foos', 'Foo');
      const { versions } = definition['spec'] as { versions: JsonObject[] };
      versions.push({ ...versions[0], name: 'v2', storage: false });
      await suite.serve(definition);
    });

    test('is converted to the version of the rule', async () => {
      await suite.validating(
        webhookOf(suite.server, rule({ apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['foos'] })),
      );
      await suite.admission.on.must(201, 'POST', foos('v2'), {
        apiVersion: 'example.com/v2',
        kind: 'Foo',
        metadata: { name: 'x' },
        spec: 1,
      });
      expect(suite.requests()).toMatchObject([
        {
          kind: { version: 'v1' },
          resource: { version: 'v1' },
          requestKind: { version: 'v2' },
          requestResource: { version: 'v2' },
          object: { apiVersion: 'example.com/v1', spec: 1 },
        },
      ]);
    });

    test('does not match with match policy Exact', async () => {
      await suite.validating(
        webhookOf(suite.server, {
          matchPolicy: 'Exact',
          ...rule({ apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['foos'] }),
        }),
      );
      await suite.admission.on.must(201, 'POST', foos('v2'), {
        apiVersion: 'example.com/v2',
        kind: 'Foo',
        metadata: { name: 'x' },
      });
      expect(suite.server.calls).toEqual([]);
    });

    test('is patched in the version of the webhook', async () => {
      suite.server.answer = (call) => patching(call, { op: 'add', path: '/spec', value: { by: 'v1' } });
      await suite.mutating(
        webhookOf(suite.server, rule({ apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['foos'] })),
      );
      const made = await suite.admission.on.must(201, 'POST', foos('v2'), {
        apiVersion: 'example.com/v2',
        kind: 'Foo',
        metadata: { name: 'x' },
      });
      expect(made).toMatchObject({ apiVersion: 'example.com/v2', spec: { by: 'v1' } });
    });
  });
});

describe('a request for the scale subresource', () => {
  const scale = '/apis/example.com/v1/namespaces/default/foos/x/scale';
  const rules = [
    { apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['foos/scale'] },
  ];
  beforeEach(async () => {
    const definition = definitionOf('example.com', 'v1', 'foos', 'Foo');
    const { versions } = definition['spec'] as { versions: JsonObject[] };
    Object.assign(versions[0] as JsonObject, {
      subresources: { scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
    });
    await suite.serve(definition);
    await suite.admission.on.must(201, 'POST', '/apis/example.com/v1/namespaces/default/foos', {
      apiVersion: 'example.com/v1',
      kind: 'Foo',
      metadata: { name: 'x' },
      spec: { n: 1 },
    });
  });
  const resize = (replicas: number) => suite.admission.on.ask('PATCH', scale, { spec: { replicas } }, mergePatch);

  test('contains the Scale', async () => {
    await suite.validating(webhookOf(suite.server, { rules }));
    expect((await resize(3)).status).toBe(200);
    expect(suite.requests()).toMatchObject([
      {
        kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
        resource: { group: 'example.com', resource: 'foos' },
        subResource: 'scale',
        object: { kind: 'Scale', metadata: { annotations: { 'kcp.io/cluster': 'root' } }, spec: { replicas: 3 } },
        oldObject: { kind: 'Scale', spec: { replicas: 1 } },
      },
    ]);
  });

  test('can be patched', async () => {
    suite.server.answer = (call) => patching(call, { op: 'replace', path: '/spec/replicas', value: 2 });
    await suite.mutating(webhookOf(suite.server, { rules }));
    expect((await resize(9)).body).toMatchObject({ spec: { replicas: 2 } });
    suite.server.answer = (call) => patching(call, { op: 'replace', path: '/spec/replicas', value: 'many' });
    expect((await resize(9)).status).toBe(500);
  });

  test('matches policies', async () => {
    const spec = { matchConstraints: { resourceRules: rules } };
    await suite.admission.configure('mutatingadmissionpolicies', 'm', {
      spec: {
        ...spec,
        reinvocationPolicy: 'Never',
        mutations: [
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: { expression: 'Object{spec: Object.spec{replicas: object.spec.replicas + 1}}' },
          },
        ],
      },
    });
    await suite.admission.configure('mutatingadmissionpolicybindings', 'm', { spec: { policyName: 'm' } });
    await suite.admission.configure('validatingadmissionpolicies', 'v', {
      spec: { ...spec, validations: [{ expression: 'object.spec.replicas <= 5', message: 'too many' }] },
    });
    await suite.admission.configure('validatingadmissionpolicybindings', 'v', {
      spec: { policyName: 'v', validationActions: ['Deny'] },
    });
    expect((await resize(4)).body).toMatchObject({ spec: { replicas: 5 } });
    expect((await resize(5)).body['message']).toContain('denied request: too many');
  });
});
