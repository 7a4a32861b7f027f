import { beforeEach, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { webhookOf } from '../configured-admission-fixture.ts';
import { definitionOf } from '../../test-support/definitions.ts';
import { maps, mergePatch, patching, webhookSuite } from '../../test-support/webhook-suite.ts';

const suite = webhookSuite();

describe('which requests a webhook sees', () => {
  const asked = async (change: JsonObject, work: () => Promise<unknown>): Promise<unknown[]> => {
    await suite.validating(webhookOf(suite.server, change));
    await work();
    return suite
      .requests()
      .map(({ operation, name, resource }) => [operation, name, (resource as JsonObject)['version']]);
  };
  const rule = (change: JsonObject): JsonObject => ({
    rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'], ...change }],
  });

  test('those of its operations', async () => {
    expect(
      await asked(rule({ operations: ['DELETE'], resources: ['configmaps'] }), async () => {
        await suite.create();
        await suite.admission.on.must(200, 'DELETE', `${maps}/a`);
      }),
    ).toEqual([['DELETE', 'a', 'v1']]);
  });

  test('subresources are not seen unless they are named', async () => {
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

  test('cluster-scoped or namespaced ones', async () => {
    expect(
      await asked(rule({ scope: 'Cluster' }), async () => {
        await suite.create();
        await suite.admission.on.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'n' } });
      }),
    ).toEqual([['CREATE', 'n', 'v1']]);
  });

  test('those whose objects, new or old, have the labels', async () => {
    expect(
      await asked({ objectSelector: { matchLabels: { l: '1' } } }, async () => {
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

  test('those in namespaces with the labels', async () => {
    await suite.admission.on.must(201, 'POST', '/api/v1/namespaces', {
      metadata: { name: 'n', labels: { team: 'a' } },
    });
    expect(
      await asked({ namespaceSelector: { matchLabels: { team: 'a' } } }, async () => {
        await suite.create();
        await suite.admission.on.must(201, 'POST', '/api/v1/namespaces/n/configmaps', { metadata: { name: 'there' } });
      }),
    ).toEqual([['CREATE', 'there', 'v1']]);
  });

  test('those for which all conditions hold', async () => {
    const matchConditions = [
      { name: 'named', expression: 'request.name.startsWith("a")' },
      { name: 'filled', expression: 'object.data.k == "1"' },
    ];
    expect(
      await asked({ matchConditions }, async () => {
        await suite.create('b');
        await suite.create('ab', { k: '2' });
        await suite.create('abc', { k: '1' });
      }),
    ).toEqual([['CREATE', 'abc', 'v1']]);
  });

  test('a condition that fails refuses, unless failures are ignored', async () => {
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

  test('never those for configurations of admission', async () => {
    await suite.validating(webhookOf(suite.server, rule({})));
    await suite.admission.on.must(
      200,
      'DELETE',
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/w',
    );
    expect(suite.server.calls).toEqual([]);
  });

  test('a dry run is not asked about with a webhook that has side effects only then', async () => {
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

    test('is converted to the one a rule names', async () => {
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

    test('is not seen where the version must be exactly that', async () => {
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

    test('is changed in the version that the webhook saw', async () => {
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

describe('a request for the scale of an object', () => {
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

  test('shows the Scale', async () => {
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

  test('may be changed in what it asks for', async () => {
    suite.server.answer = (call) => patching(call, { op: 'replace', path: '/spec/replicas', value: 2 });
    await suite.mutating(webhookOf(suite.server, { rules }));
    expect((await resize(9)).body).toMatchObject({ spec: { replicas: 2 } });
    suite.server.answer = (call) => patching(call, { op: 'replace', path: '/spec/replicas', value: 'many' });
    expect((await resize(9)).status).toBe(500);
  });

  test('is what policies are about', async () => {
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
