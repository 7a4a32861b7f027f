import { describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import type { JsonObject } from '@multiplane/apimachinery';
import type { ReceivedCall } from '@multiplane/testing/serving';
import { webhookOf } from '../../../test/configured-admission-fixture.ts';
import { allowed, answer, maps, mergePatch, patching, requestOf, webhookSuite } from '../../../test/webhook-suite.ts';

const suite = webhookSuite();
/** Waits until the webhook server has received so many calls. */
const called = (count: number): Promise<void> =>
  // oxlint-disable-next-line tests/no-real-time-with-fake-clock -- calls come over sockets
  eventually(() => expect(suite.server.calls.length).toBe(count));

describe('an AdmissionReview', () => {
  test('contains the request, the objects and their logical cluster', async () => {
    await suite.validating(webhookOf(suite.server));
    await suite.create('a', { k: '1' });
    const [call] = suite.server.calls;
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

  test('contains both objects for an update, the old one for a deletion', async () => {
    await suite.create('a', { k: '1' });
    await suite.validating(webhookOf(suite.server));
    await suite.admission.on.must(200, 'PATCH', `${maps}/a`, { data: { k: '2' } }, mergePatch);
    await suite.admission.on.must(200, 'DELETE', `${maps}/a`);
    expect(suite.requests()).toMatchObject([
      { operation: 'UPDATE', object: { data: { k: '2' } }, oldObject: { data: { k: '1' } } },
      { operation: 'DELETE', object: null, oldObject: { data: { k: '2' } } },
    ]);
  });

  test('is sent as v1beta1 if the webhook supports no other version', async () => {
    await suite.validating(webhookOf(suite.server, { admissionReviewVersions: ['v2', 'v1beta1'] }));
    expect((await suite.create()).status).toBe(201);
    expect(JSON.parse(suite.server.calls[0]?.body.toString() ?? '')).toMatchObject({
      apiVersion: 'admission.k8s.io/v1beta1',
    });
  });

  test('of a Namespace has its name as the namespace', async () => {
    await suite.validating(
      webhookOf(suite.server, {
        rules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['namespaces'], scope: 'Cluster' },
        ],
        namespaceSelector: { matchLabels: { team: 'a' } },
      }),
    );
    await suite.admission.on.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'plain' } });
    await suite.admission.on.must(201, 'POST', '/api/v1/namespaces', {
      metadata: { name: 'x', labels: { team: 'a' } },
    });
    expect(suite.requests()).toMatchObject([{ name: 'x', namespace: 'x' }]);
  });
});

describe('a denial', () => {
  test.each<[JsonObject, number, string]>([
    [
      { code: 403, message: 'no', reason: 'Forbidden' },
      403,
      'admission webhook "a.hooks.example.com" denied the request: no',
    ],
    [{ reason: 'Odd' }, 400, 'admission webhook "a.hooks.example.com" denied the request: Odd'],
    [{ code: 200 }, 400, 'admission webhook "a.hooks.example.com" denied the request without explanation'],
  ])('%j', async (status, code, message) => {
    suite.server.answer = (call) => answer(call, { allowed: false, status });
    await suite.validating(webhookOf(suite.server));
    const refused = await suite.create();
    expect(refused.status).toBe(code);
    expect(refused.body).toMatchObject({ status: 'Failure', message, code });
  });

  test('of the first webhook is returned, whichever responds first; all may warn and annotate', async () => {
    const slow = Promise.withResolvers<void>();
    suite.server.answer = async (call) => {
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
    const { clientConfig } = webhookOf(suite.server) as { clientConfig: JsonObject };
    await suite.validating(
      webhookOf(suite.server, {
        name: 'one.hooks.example.com',
        clientConfig: { ...clientConfig, url: `${suite.server.url}/first` },
      }),
      webhookOf(suite.server, {
        name: 'two.hooks.example.com',
        clientConfig: { ...clientConfig, url: `${suite.server.url}/second` },
      }),
    );
    const refused = await suite.create();
    expect(refused.body['message']).toBe('admission webhook "one.hooks.example.com" denied the request: /first');
    expect(refused.warnings.toSorted()).toEqual(['about a from /first', 'about a from /second']);
    expect(Object.fromEntries(suite.admission.annotations)).toEqual({
      'one.hooks.example.com/why': 'because',
      'two.hooks.example.com/why': 'because',
    });
  });
});

test('audit annotations of webhooks are limited', async () => {
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`k${index}`, 'x'.repeat(20_000)]));
  suite.server.answer = (call) =>
    answer(call, { allowed: true, auditAnnotations: { 'no key': 'x', 'a/b': 'x', ...many } });
  await suite.validating(webhookOf(suite.server));
  expect((await suite.create()).status).toBe(201);
  expect([...suite.admission.annotations.keys()].slice(0, 2)).toEqual([
    'a.hooks.example.com/k0',
    'a.hooks.example.com/k1',
  ]);
  expect(suite.admission.annotations.size).toBe(20);
  expect(suite.admission.annotations.get('a.hooks.example.com/k0')).toHaveLength(10_240);
});

describe('a failing webhook', () => {
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
    suite.server.answer = wrong;
    await suite.validating(webhookOf(suite.server));
    const refused = await suite.create();
    expect(refused.status).toBe(500);
    expect(refused.body).toMatchObject({
      message: failure + why,
      reason: 'InternalError',
      details: { causes: [{ message: (failure + why).slice('Internal error occurred: '.length) }] },
    });
  });

  test('is unreachable', async () => {
    await suite.validating(webhookOf(suite.server, { clientConfig: { url: 'https://127.0.0.1:1/x' } }));
    const refused = await suite.create();
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
      'failed to call webhook: Post "https://10.0.0.1/x?timeout=10s": dial tcp: the addresses of 10.0.0.1 are not open to webhooks; an administrator of the installation can open them by --webhook-allowed-networks',
    ],
  ])('cannot be called %s', async (_name, clientConfig, why) => {
    await suite.validating(webhookOf(suite.server, { clientConfig }));
    expect((await suite.create()).body['message']).toBe(failure + why);
  });

  test('allows the request with failure policy Ignore, and is audited', async () => {
    suite.server.answer = () => ({});
    await suite.validating(webhookOf(suite.server, { failurePolicy: 'Ignore' }));
    expect((await suite.create()).status).toBe(201);
    expect(suite.admission.annotations.get('failed-open.validating.webhook.admission.k8s.io/round_0_index_0')).toBe(
      'a.hooks.example.com',
    );
  });

  test('times out', async () => {
    const held = Promise.withResolvers<void>();
    suite.server.answer = async (call) => {
      await held.promise;
      return allowed(call);
    };
    await suite.validating(webhookOf(suite.server, { timeoutSeconds: 2 }));
    const waiting = suite.create();
    await called(1);
    await suite.admission.on.clock.advance(2000);
    expect((await waiting).body['message']).toBe(
      `${failure}failed to call webhook: Post "${suite.server.url}/review?timeout=2s": context deadline exceeded`,
    );
    held.resolve();
  });
});

test('webhooks of a provider see bound objects of consumers, not vice versa', async () => {
  await suite.reopen({
    configurationCluster: (resource, cluster) => (resource === 'configmaps' ? ('root' as typeof cluster) : cluster),
  });
  await suite.validating(
    webhookOf(suite.server, { rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }] }),
  );
  await suite.admission.on.must(201, 'POST', '/clusters/consumer/api/v1/namespaces', { metadata: { name: 'default' } });
  await suite.admission.on.must(201, 'POST', `/clusters/consumer${maps}`, { metadata: { name: 'bound' } });
  await suite.admission.on.must(201, 'POST', '/clusters/consumer/api/v1/namespaces/default/secrets', {
    metadata: { name: 'own' },
  });
  expect(suite.requests()).toMatchObject([
    { name: 'bound', object: { metadata: { annotations: { 'kcp.io/cluster': 'consumer' } } } },
  ]);
});

test('slow webhooks of a tenant do not block writes of the control plane', async () => {
  const held = Promise.withResolvers<void>();
  suite.server.answer = async (call) => {
    await held.promise;
    return allowed(call);
  };
  await suite.validating(webhookOf(suite.server, { timeoutSeconds: 30 }));
  const { client, cluster, clock } = suite.admission.on;
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
  await called(2);
  await clock.advance(3000);
  for (const one of first) expect(await one).toContain('context deadline exceeded');
  // The tenant is now marked as slow: one worker may wait for it.
  const second = write('c');
  await called(3);
  expect(await write('d')).toContain('the webhooks of this workspace are slow, try again later');
  await clock.advance(3000);
  expect(await second).toContain('context deadline exceeded');
  held.resolve();
  await clock.advance(30_000);
  expect(await Promise.all([write('e'), write('f')])).toEqual(['written', 'written']);
});
