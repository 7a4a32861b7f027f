import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Json, JsonObject } from '@multiplane/apimachinery';
import { configuredPipeline, webhookOf, type ConfiguredPipeline } from '../configured-admission-fixture.ts';
import { definitionOf } from '../../test-support/definitions.ts';
import { WebhookServer, type ReceivedCall } from '../../test-support/webhook-server.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const mergePatch = { 'content-type': 'application/merge-patch+json' };

let server: WebhookServer;
let admission: ConfiguredPipeline;
beforeEach(async () => {
  server = await WebhookServer.start((call) => allowed(call));
  admission = await configuredPipeline();
});
afterEach(async () => {
  await admission.close();
  await server.stop();
});

const requestOf = (call: ReceivedCall): JsonObject =>
  (JSON.parse(call.body.toString()) as { request: JsonObject }).request;
const requests = (): JsonObject[] => server.calls.map(requestOf);

function answer(call: ReceivedCall, response: JsonObject): JsonObject {
  const { apiVersion } = JSON.parse(call.body.toString()) as { apiVersion: string };
  return { apiVersion, kind: 'AdmissionReview', response: { uid: requestOf(call)['uid'] as string, ...response } };
}
const allowed = (call: ReceivedCall): JsonObject => answer(call, { allowed: true });
const patching = (call: ReceivedCall, ...operations: Json[]): JsonObject =>
  answer(call, {
    allowed: true,
    patchType: 'JSONPatch',
    patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
  });

const validating = (...webhooks: JsonObject[]): Promise<void> =>
  admission.configure('validatingwebhookconfigurations', 'w', { webhooks });
const mutating = (...webhooks: JsonObject[]): Promise<void> =>
  admission.configure('mutatingwebhookconfigurations', 'w', { webhooks });
const create = (name = 'a', data: JsonObject = {}) => admission.on.ask('POST', maps, { metadata: { name }, data });

/** The status of a definition that is served. */
const established = (plural: string, kind: string): JsonObject => ({
  status: {
    conditions: [
      { type: 'NamesAccepted', status: 'True' },
      { type: 'Established', status: 'True' },
    ],
    acceptedNames: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
    storedVersions: ['v1'],
  },
});

describe('a review', () => {
  test('carries the request, the objects and where they are from', async () => {
    await validating(webhookOf(server));
    await create('a', { k: '1' });
    const [call] = server.calls;
    expect(call?.url).toBe('/review?timeout=10s');
    expect(call?.headers['content-type']).toBe('application/json');
    const review = JSON.parse(call?.body.toString() ?? '') as JsonObject;
    expect(Object.keys(review)).toEqual(['kind', 'apiVersion', 'request']);
    expect(review).toMatchObject({
      kind: 'AdmissionReview',
      apiVersion: 'admission.k8s.io/v1',
      request: {
        uid: 'uid-1',
        kind: { group: '', version: 'v1', kind: 'ConfigMap' },
        resource: { group: '', version: 'v1', resource: 'configmaps' },
        requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
        requestResource: { group: '', version: 'v1', resource: 'configmaps' },
        name: 'a',
        namespace: 'default',
        operation: 'CREATE',
        userInfo: { username: 'admin', uid: '1', groups: ['system:masters'] },
        object: {
          kind: 'ConfigMap',
          apiVersion: 'v1',
          metadata: { name: 'a', namespace: 'default', annotations: { 'kcp.io/cluster': 'root' } },
          data: { k: '1' },
        },
        oldObject: null,
        dryRun: false,
        options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
      },
    });
  });

  test('of an update shows both objects, of a deletion the old one', async () => {
    await create('a', { k: '1' });
    await validating(webhookOf(server));
    await admission.on.must(200, 'PATCH', `${maps}/a`, { data: { k: '2' } }, mergePatch);
    await admission.on.must(200, 'DELETE', `${maps}/a`);
    expect(requests()).toMatchObject([
      { operation: 'UPDATE', object: { data: { k: '2' } }, oldObject: { data: { k: '1' } } },
      { operation: 'DELETE', object: null, oldObject: { data: { k: '2' } } },
    ]);
  });

  test('of the older version is sent where the webhook knows no other', async () => {
    await validating(webhookOf(server, { admissionReviewVersions: ['v2', 'v1beta1'] }));
    expect((await create()).status).toBe(201);
    expect(JSON.parse(server.calls[0]?.body.toString() ?? '')).toMatchObject({
      apiVersion: 'admission.k8s.io/v1beta1',
    });
  });

  test('of a Namespace is in that namespace', async () => {
    await validating(
      webhookOf(server, {
        rules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['namespaces'], scope: 'Cluster' },
        ],
        namespaceSelector: { matchLabels: { team: 'a' } },
      }),
    );
    await admission.on.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'plain' } });
    await admission.on.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'x', labels: { team: 'a' } } });
    expect(requests()).toMatchObject([{ name: 'x', namespace: 'x' }]);
  });
});

describe('a refusal', () => {
  test.each<[JsonObject, number, string]>([
    [
      { code: 403, message: 'no', reason: 'Forbidden' },
      403,
      'admission webhook "a.hooks.example.com" denied the request: no',
    ],
    [{ reason: 'Odd' }, 400, 'admission webhook "a.hooks.example.com" denied the request: Odd'],
    [{ code: 200 }, 400, 'admission webhook "a.hooks.example.com" denied the request without explanation'],
  ])('%j', async (status, code, message) => {
    server.answer = (call) => answer(call, { allowed: false, status });
    await validating(webhookOf(server));
    const refused = await create();
    expect(refused.status).toBe(code);
    expect(refused.body).toMatchObject({ status: 'Failure', message, code });
  });

  test('of the first webhook is told, whoever was faster; all may warn and annotate', async () => {
    const slow = Promise.withResolvers<void>();
    server.answer = async (call) => {
      const { name } = (requestOf(call)['object'] as { metadata: JsonObject }).metadata;
      if (call.url.startsWith('/first')) await slow.promise;
      else slow.resolve();
      return answer(call, {
        allowed: false,
        status: { message: call.url.split('?')[0] as string },
        warnings: [`about ${name as string} from ${call.url.split('?')[0]}`],
        auditAnnotations: { why: 'because' },
      });
    };
    const { clientConfig } = webhookOf(server) as { clientConfig: JsonObject };
    await validating(
      webhookOf(server, {
        name: 'one.hooks.example.com',
        clientConfig: { ...clientConfig, url: `${server.url}/first` },
      }),
      webhookOf(server, {
        name: 'two.hooks.example.com',
        clientConfig: { ...clientConfig, url: `${server.url}/second` },
      }),
    );
    const refused = await create();
    expect(refused.body['message']).toBe('admission webhook "one.hooks.example.com" denied the request: /first');
    expect(refused.warnings.toSorted()).toEqual(['about a from /first', 'about a from /second']);
    expect(Object.fromEntries(admission.annotations)).toEqual({
      'one.hooks.example.com/why': 'because',
      'two.hooks.example.com/why': 'because',
    });
  });
});

test('what a webhook writes into the audit log is bounded', async () => {
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`k${index}`, 'x'.repeat(20_000)]));
  server.answer = (call) => answer(call, { allowed: true, auditAnnotations: { 'no key': 'x', 'a/b': 'x', ...many } });
  await validating(webhookOf(server));
  expect((await create()).status).toBe(201);
  expect([...admission.annotations.keys()].slice(0, 2)).toEqual(['a.hooks.example.com/k0', 'a.hooks.example.com/k1']);
  expect(admission.annotations.size).toBe(20);
  expect(admission.annotations.get('a.hooks.example.com/k0')).toHaveLength(10_240);
});

describe('a webhook that gives no usable answer', () => {
  const failure = 'Internal error occurred: failed calling webhook "a.hooks.example.com": ';
  test.each<[string, (call: ReceivedCall) => unknown, string]>([
    [
      'the uid of another',
      () => ({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid: 'x', allowed: true } }),
      'received invalid webhook response: expected response.uid="uid-1", got "x"',
    ],
    [
      'no response',
      () => ({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }),
      'received invalid webhook response: webhook response was absent',
    ],
    [
      'another kind',
      () => ({ response: { allowed: true } }),
      'received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=',
    ],
    [
      'a patch',
      (call) => patching(call, { op: 'remove', path: '/data' }),
      'received invalid webhook response: validating webhook may not return response.patch',
    ],
    [
      'a list',
      () => [],
      "failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct",
    ],
  ])('%s', async (_name, wrong, why) => {
    server.answer = wrong;
    await validating(webhookOf(server));
    const refused = await create();
    expect(refused.status).toBe(500);
    expect(refused.body).toMatchObject({
      message: failure + why,
      reason: 'InternalError',
      details: { causes: [{ message: (failure + why).slice('Internal error occurred: '.length) }] },
    });
  });

  test('that cannot be reached', async () => {
    await validating(webhookOf(server, { clientConfig: { url: 'https://127.0.0.1:1/x' } }));
    const refused = await create();
    expect(refused.body['message']).toBe(
      `${failure}failed to call webhook: Post "https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused`,
    );
  });

  test.each([
    [
      'by its authorities',
      { url: 'https://localhost/x', caBundle: 'eA==' },
      'could not get REST client: unable to load root certificates: unable to parse bytes as PEM block',
    ],
    [
      'as a service of a cluster',
      { service: { name: 's', namespace: 'n', path: '/x' } },
      'failed to call webhook: Post "https://s.n.svc:443/x?timeout=10s": dial tcp: lookup s.n.svc: no such host',
    ],
    [
      'at an address that is not open',
      { url: 'https://10.0.0.1/x' },
      'failed to call webhook: Post "https://10.0.0.1/x?timeout=10s": dial tcp: the addresses of 10.0.0.1 are not open to webhooks',
    ],
  ])('that cannot be called %s', async (_name, clientConfig, why) => {
    await validating(webhookOf(server, { clientConfig }));
    expect((await create()).body['message']).toBe(failure + why);
  });

  test('counts as consent where failures are ignored, and the audit log knows', async () => {
    server.answer = () => ({});
    await validating(webhookOf(server, { failurePolicy: 'Ignore' }));
    expect((await create()).status).toBe(201);
    expect(admission.annotations.get('failed-open.validating.webhook.admission.k8s.io/round_0_index_0')).toBe(
      'a.hooks.example.com',
    );
  });

  test('in its time fails', async () => {
    const held = Promise.withResolvers<void>();
    server.answer = async (call) => {
      await held.promise;
      return allowed(call);
    };
    await validating(webhookOf(server, { timeoutSeconds: 2 }));
    const waiting = create();
    while (server.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await admission.on.clock.advance(2000);
    expect((await waiting).body['message']).toBe(
      `${failure}failed to call webhook: Post "${server.url}/review?timeout=2s": context deadline exceeded`,
    );
    held.resolve();
  });
});

describe('which requests a webhook sees', () => {
  const asked = async (change: JsonObject, work: () => Promise<unknown>): Promise<unknown[]> => {
    await validating(webhookOf(server, change));
    await work();
    return requests().map(({ operation, name, resource }) => [operation, name, (resource as JsonObject)['version']]);
  };
  const rule = (change: JsonObject): JsonObject => ({
    rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'], ...change }],
  });

  test('those of its operations', async () => {
    expect(
      await asked(rule({ operations: ['DELETE'], resources: ['configmaps'] }), async () => {
        await create();
        await admission.on.must(200, 'DELETE', `${maps}/a`);
      }),
    ).toEqual([['DELETE', 'a', 'v1']]);
  });

  test('subresources are not seen unless they are named', async () => {
    await admission.on.must(201, 'POST', '/api/v1/namespaces/default/resourcequotas', {
      metadata: { name: 'q' },
      spec: { hard: {} },
    });
    const status = (): Promise<unknown> =>
      admission.on.must(
        200,
        'PATCH',
        '/api/v1/namespaces/default/resourcequotas/q/status',
        { status: { hard: {} } },
        mergePatch,
      );
    await validating(
      webhookOf(server, { name: 'plain.hooks.example.com', ...rule({}) }),
      webhookOf(server, { name: 'status.hooks.example.com', ...rule({ resources: ['*/status'] }) }),
    );
    await status();
    expect(requests()).toMatchObject([{ subResource: 'status', requestSubResource: 'status' }]);
  });

  test('cluster-scoped or namespaced ones', async () => {
    expect(
      await asked(rule({ scope: 'Cluster' }), async () => {
        await create();
        await admission.on.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'n' } });
      }),
    ).toEqual([['CREATE', 'n', 'v1']]);
  });

  test('those whose objects, new or old, have the labels', async () => {
    expect(
      await asked({ objectSelector: { matchLabels: { l: '1' } } }, async () => {
        await create('plain');
        await admission.on.must(201, 'POST', maps, { metadata: { name: 'labelled', labels: { l: '1' } } });
        await admission.on.must(200, 'PATCH', `${maps}/labelled`, { metadata: { labels: { l: null } } }, mergePatch);
        await admission.on.must(200, 'PATCH', `${maps}/labelled`, { data: { x: '1' } }, mergePatch);
      }),
    ).toEqual([
      ['CREATE', 'labelled', 'v1'],
      ['UPDATE', 'labelled', 'v1'],
    ]);
  });

  test('those in namespaces with the labels', async () => {
    await admission.on.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'n', labels: { team: 'a' } } });
    expect(
      await asked({ namespaceSelector: { matchLabels: { team: 'a' } } }, async () => {
        await create();
        await admission.on.must(201, 'POST', '/api/v1/namespaces/n/configmaps', { metadata: { name: 'there' } });
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
        await create('b');
        await create('ab', { k: '2' });
        await create('abc', { k: '1' });
      }),
    ).toEqual([['CREATE', 'abc', 'v1']]);
  });

  test('a condition that fails refuses, unless failures are ignored', async () => {
    const matchConditions = [{ name: 'filled', expression: 'object.data.nope == "1"' }];
    await validating(webhookOf(server, { matchConditions }));
    expect((await create('a', { k: '1' })).body).toMatchObject({
      code: 403,
      message: `configmaps "a" is forbidden: expression 'object.data.nope == "1"' resulted in error: no such key: nope`,
    });
    await admission.on.must(
      200,
      'PATCH',
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/w',
      { webhooks: [webhookOf(server, { matchConditions, failurePolicy: 'Ignore' })] },
      mergePatch,
    );
    expect((await create('a', { k: '1' })).status).toBe(201);
    expect(server.calls).toEqual([]);
  });

  test('never those for configurations of admission', async () => {
    await validating(webhookOf(server, rule({})));
    await admission.on.must(200, 'DELETE', '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/w');
    expect(server.calls).toEqual([]);
  });

  test('a dry run is not asked about with a webhook that has side effects only then', async () => {
    await validating(webhookOf(server, { sideEffects: 'NoneOnDryRun' }));
    await admission.on.must(201, 'POST', `${maps}?dryRun=All`, { metadata: { name: 'a' } });
    expect(requests()).toMatchObject([{ dryRun: true }]);
  });

  describe('of another version', () => {
    const foos = (version: string): string => `/apis/example.com/${version}/namespaces/default/foos`;
    beforeEach(async () => {
      const definition = definitionOf('example.com', 'v1', 'foos', 'Foo');
      const { versions } = definition['spec'] as { versions: JsonObject[] };
      versions.push({ ...versions[0], name: 'v2', storage: false });
      await admission.on.must(201, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
      await admission.on.must(
        200,
        'PATCH',
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.example.com/status',
        established('foos', 'Foo'),
        mergePatch,
      );
    });

    test('is converted to the one a rule names', async () => {
      await validating(
        webhookOf(server, rule({ apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['foos'] })),
      );
      await admission.on.must(201, 'POST', foos('v2'), {
        apiVersion: 'example.com/v2',
        kind: 'Foo',
        metadata: { name: 'x' },
        spec: 1,
      });
      expect(requests()).toMatchObject([
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
      await validating(
        webhookOf(server, {
          matchPolicy: 'Exact',
          ...rule({ apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['foos'] }),
        }),
      );
      await admission.on.must(201, 'POST', foos('v2'), {
        apiVersion: 'example.com/v2',
        kind: 'Foo',
        metadata: { name: 'x' },
      });
      expect(server.calls).toEqual([]);
    });

    test('is changed in the version that the webhook saw', async () => {
      server.answer = (call) => patching(call, { op: 'add', path: '/spec', value: { by: 'v1' } });
      await mutating(webhookOf(server, rule({ apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['foos'] })));
      const made = await admission.on.must(201, 'POST', foos('v2'), {
        apiVersion: 'example.com/v2',
        kind: 'Foo',
        metadata: { name: 'x' },
      });
      expect(made).toMatchObject({ apiVersion: 'example.com/v2', spec: { by: 'v1' } });
    });
  });
});

describe('a mutating webhook', () => {
  test('changes what is stored, and the audit log knows', async () => {
    server.answer = (call) => patching(call, { op: 'add', path: '/data', value: { added: 'yes' } });
    await mutating(webhookOf(server));
    expect((await create()).body).toMatchObject({ data: { added: 'yes' } });
    expect(Object.fromEntries(admission.annotations)).toEqual({
      'mutation.webhook.admission.k8s.io/round_0_index_0':
        '{"configuration":"w","webhook":"a.hooks.example.com","mutated":true}',
      'patch.webhook.admission.k8s.io/round_0_index_0':
        '{"configuration":"w","webhook":"a.hooks.example.com","patch":[{"op":"add","path":"/data","value":{"added":"yes"}}],"patchType":"JSONPatch"}',
    });
  });

  test('cannot say of an object that it is of another logical cluster', async () => {
    server.answer = (call) =>
      patching(call, { op: 'replace', path: '/metadata/annotations/kcp.io~1cluster', value: 'elsewhere' });
    await mutating(webhookOf(server));
    expect((await create()).body).toMatchObject({ metadata: { annotations: { 'kcp.io/cluster': 'root' } } });
  });

  test('what it makes of an object is checked like what a client sends', async () => {
    server.answer = (call) => patching(call, { op: 'add', path: '/data', value: { 'bad key': 'x' } });
    await mutating(webhookOf(server));
    expect((await create()).status).toBe(422);
    server.answer = (call) => patching(call, { op: 'add', path: '/data', value: 7 });
    expect((await create()).status).toBe(500);
  });

  test('may not change what is being deleted', async () => {
    await create();
    server.answer = (call) => patching(call, { op: 'add', path: '/data', value: {} });
    await mutating(webhookOf(server));
    expect((await admission.on.must(500, 'DELETE', `${maps}/a`))['message']).toBe(
      'Internal error occurred: admission webhook "a.hooks.example.com" attempted to modify the object, which is not supported for this operation',
    );
  });

  test.each<[string, JsonObject, string]>([
    [
      'no type',
      { patch: 'W10=' },
      'received invalid webhook response: webhook returned response.patch but not response.patchType',
    ],
    [
      'another type',
      { patch: 'W10=', patchType: 'x' },
      'received invalid webhook response: webhook returned invalid response.patchType of "x"',
    ],
    ['no JSON', { patch: 'eA==', patchType: 'JSONPatch' }, 'received undecodable patch in webhook response: '],
  ])('a patch with %s is a failure', async (_name, response, why) => {
    server.answer = (call) => answer(call, { allowed: true, ...response });
    await mutating(webhookOf(server));
    const refused = await create();
    expect(refused.status).toBe(500);
    expect(refused.body['message']).toContain(`failed calling webhook "a.hooks.example.com": ${why}`);
  });

  test('a patch that cannot be applied is a failure whatever the policy says', async () => {
    server.answer = (call) => patching(call, { op: 'remove', path: '/nope' });
    await mutating(webhookOf(server, { failurePolicy: 'Ignore' }));
    expect((await create()).status).toBe(500);
  });

  test('managed fields that nobody can read are put back, with a warning', async () => {
    server.answer = (call) =>
      patching(call, { op: 'replace', path: '/metadata/managedFields', value: [{ manager: 'x', operation: 'Nope' }] });
    await mutating(webhookOf(server));
    const made = await admission.on.ask('POST', `${maps}?fieldManager=me`, {
      metadata: { name: 'a' },
      data: { k: '1' },
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ metadata: { managedFields: [{ manager: 'me' }] } });
    expect(made.warnings[0]).toMatch(/^\.metadata\.managedFields was in an invalid state after admission; /);
  });
});

describe('webhooks after one another', () => {
  /** Webhooks at paths of their own; each may be asked again. */
  const at = (path: string, reinvocationPolicy: string): JsonObject => ({
    ...webhookOf(server, { name: `${path}.hooks.example.com`, reinvocationPolicy }),
    clientConfig: {
      ...(webhookOf(server) as { clientConfig: JsonObject }).clientConfig,
      url: `${server.url}/${path}`,
    },
  });
  const order = (): string[] => server.calls.map(({ url }) => url.slice(1, url.indexOf('?')));

  test('each sees what those before left; one that wants to is asked again about what came later', async () => {
    server.answer = (call) => {
      const { data } = requestOf(call)['object'] as { data?: JsonObject };
      const path = call.url.slice(1, call.url.indexOf('?'));
      return data?.[path] === undefined
        ? patching(call, { op: 'add', path: `/data/${path}`, value: Object.keys(data ?? {}).join(',') })
        : allowed(call);
    };
    await mutating(at('one', 'IfNeeded'), at('two', 'Never'), at('three', 'IfNeeded'));
    expect((await create('a', { k: '1' })).body['data']).toEqual({
      k: '1',
      one: 'k',
      two: 'k,one',
      three: 'k,one,two',
    });
    expect(order()).toEqual(['one', 'two', 'three', 'one']);
  });

  test('nobody is asked again where nothing was changed after it', async () => {
    await mutating(at('one', 'IfNeeded'), at('two', 'IfNeeded'));
    await create();
    expect(order()).toEqual(['one', 'two']);
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
    await admission.on.must(201, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
    await admission.on.must(
      200,
      'PATCH',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.example.com/status',
      established('foos', 'Foo'),
      mergePatch,
    );
    await admission.on.must(201, 'POST', '/apis/example.com/v1/namespaces/default/foos', {
      apiVersion: 'example.com/v1',
      kind: 'Foo',
      metadata: { name: 'x' },
      spec: { n: 1 },
    });
  });
  const resize = (replicas: number) => admission.on.ask('PATCH', scale, { spec: { replicas } }, mergePatch);

  test('shows the Scale', async () => {
    await validating(webhookOf(server, { rules }));
    expect((await resize(3)).status).toBe(200);
    expect(requests()).toMatchObject([
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
    server.answer = (call) => patching(call, { op: 'replace', path: '/spec/replicas', value: 2 });
    await mutating(webhookOf(server, { rules }));
    expect((await resize(9)).body).toMatchObject({ spec: { replicas: 2 } });
    server.answer = (call) => patching(call, { op: 'replace', path: '/spec/replicas', value: 'many' });
    expect((await resize(9)).status).toBe(500);
  });

  test('is what policies are about', async () => {
    const spec = { matchConstraints: { resourceRules: rules } };
    await admission.configure('mutatingadmissionpolicies', 'm', {
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
    await admission.configure('mutatingadmissionpolicybindings', 'm', { spec: { policyName: 'm' } });
    await admission.configure('validatingadmissionpolicies', 'v', {
      spec: { ...spec, validations: [{ expression: 'object.spec.replicas <= 5', message: 'too many' }] },
    });
    await admission.configure('validatingadmissionpolicybindings', 'v', {
      spec: { policyName: 'v', validationActions: ['Deny'] },
    });
    expect((await resize(4)).body).toMatchObject({ spec: { replicas: 5 } });
    expect((await resize(5)).body['message']).toContain('denied request: too many');
  });
});

test('webhooks of a provider see the bound objects of consumers, and not the other way round', async () => {
  await admission.close();
  admission = await configuredPipeline({
    configurationCluster: (resource, cluster) => (resource === 'configmaps' ? ('root' as typeof cluster) : cluster),
  });
  await validating(
    webhookOf(server, { rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }] }),
  );
  await admission.on.must(201, 'POST', '/clusters/consumer/api/v1/namespaces', { metadata: { name: 'default' } });
  await admission.on.must(201, 'POST', `/clusters/consumer${maps}`, { metadata: { name: 'bound' } });
  await admission.on.must(201, 'POST', '/clusters/consumer/api/v1/namespaces/default/secrets', {
    metadata: { name: 'own' },
  });
  expect(requests()).toMatchObject([
    { name: 'bound', object: { metadata: { annotations: { 'kcp.io/cluster': 'consumer' } } } },
  ]);
});

test("the control plane's own writes are not held up by a tenant's slow webhooks", async () => {
  const held = Promise.withResolvers<void>();
  server.answer = async (call) => {
    await held.promise;
    return allowed(call);
  };
  await validating(webhookOf(server, { timeoutSeconds: 30 }));
  const { client, cluster, clock } = admission.on;
  const write = (name: string): Promise<string> =>
    client
      .create({ group: '', version: 'v1', resource: 'configmaps' }, cluster, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace: 'default' },
      })
      .then(
        () => 'written',
        (error: Error) => error.message,
      );
  const first = [write('a'), write('b')];
  while (server.calls.length < 2) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(3000);
  for (const one of first) expect(await one).toContain('context deadline exceeded');
  // Now it is known to be slow: one worker may wait for it, no more.
  const second = write('c');
  while (server.calls.length < 3) await new Promise((resolve) => setImmediate(resolve));
  expect(await write('d')).toContain('the webhooks of this workspace are slow, try again later');
  await clock.advance(3000);
  expect(await second).toContain('context deadline exceeded');
  held.resolve();
  await clock.advance(30_000);
  expect(await Promise.all([write('e'), write('f')])).toEqual(['written', 'written']);
});
