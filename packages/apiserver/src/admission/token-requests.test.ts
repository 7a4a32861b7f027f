import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Json, JsonObject } from '@multiplane/apimachinery';
import { WebhookServer } from '@multiplane/testing/serving';
import { ServiceAccountTokens } from '@multiplane/generic-server';
import { tokenRequest } from '../reviews/token-request.ts';
import { configuredPipeline, webhookOf, type ConfiguredPipeline } from '../../test/configured-admission-fixture.ts';

/* TokenRequests are creates of a subresource and pass admission, so policies can restrict them. */

const path = '/api/v1/namespaces/default/serviceaccounts/robot/token';
const now = Date.parse('2026-01-02T03:04:05Z');

let server: WebhookServer;
let admission: ConfiguredPipeline;
let requests: JsonObject[];
/** The patch of a webhook. */
let patch: Json[];

beforeEach(async () => {
  requests = [];
  patch = [];
  server = await WebhookServer.start(({ body }) => {
    const { apiVersion, request } = JSON.parse(body.toString()) as { apiVersion: string; request: JsonObject };
    requests.push(request);
    const change =
      patch.length === 0
        ? {}
        : { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') };
    return {
      apiVersion,
      kind: 'AdmissionReview',
      response: { uid: request['uid'] as string, allowed: true, ...change },
    };
  });
  const getter = {
    serviceAccount: (_cluster: string, _namespace: string, name: string) =>
      name === 'robot' ? { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, uid: 'u1' } } : undefined,
    secret: () => undefined,
  };
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const tokens = new ServiceAccountTokens(
    { issuers: ['https://issuer'], signingKey: privateKey, now: () => now },
    { getter },
  );
  admission = await configuredPipeline({
    createHandlers: new Map([['/serviceaccounts/token', tokenRequest({ now: () => now }, { tokens, getter })]]),
  });
});
afterEach(async () => {
  await admission.close();
  await server.stop();
});

const hook = (): JsonObject =>
  webhookOf(server, {
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['serviceaccounts/token'] }],
  });
const ask = (spec: JsonObject, query = '') => admission.on.ask('POST', `${path}${query}`, { spec });

async function policy(resources: string[], validations: JsonObject[]): Promise<void> {
  await admission.configure('validatingadmissionpolicies', 'p', {
    spec: {
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources }],
      },
      validations,
    },
  });
  await admission.configure('validatingadmissionpolicybindings', 'b', {
    spec: { policyName: 'p', validationActions: ['Deny'] },
  });
}

test('a validating policy limits the lifetime of tokens and sees the defaulted request', async () => {
  await policy(
    ['serviceaccounts/token'],
    [
      { expression: 'object.spec.expirationSeconds <= 1200', message: 'at most twenty minutes' },
      { expression: "object.spec.audiences == ['https://issuer'] && object.metadata.name == 'robot'" },
      {
        expression: "request.kind.kind == 'TokenRequest' && request.subResource == 'token' && request.name == 'robot'",
      },
    ],
  );
  expect((await ask({ expirationSeconds: 600 })).status).toBe(201);
  const refused = await ask({ expirationSeconds: 1800 });
  expect([refused.status, refused.body['message']]).toEqual([
    422,
    "serviceaccounts \"robot\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: at most twenty minutes",
  ]);
});

test('rules for service accounts do not match token requests', async () => {
  await policy(['serviceaccounts'], [{ expression: 'false' }]);
  expect((await ask({})).status).toBe(201);
});

test('a webhook is called for token requests, including dry runs', async () => {
  await admission.configure('validatingwebhookconfigurations', 'w', { webhooks: [hook()] });
  expect((await ask({ audiences: ['a'] }, '?dryRun=All')).status).toBe(201);
  const token = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' };
  expect(requests).toMatchObject([
    {
      kind: token,
      requestKind: token,
      resource: { group: '', version: 'v1', resource: 'serviceaccounts' },
      subResource: 'token',
      requestSubResource: 'token',
      name: 'robot',
      namespace: 'default',
      operation: 'CREATE',
      dryRun: true,
      object: {
        kind: 'TokenRequest',
        metadata: { name: 'robot', namespace: 'default', uid: 'u1' },
        spec: { audiences: ['a'] },
      },
      oldObject: null,
      options: { kind: 'CreateOptions', dryRun: ['All'] },
    },
  ]);
});

test('a mutating webhook changes the request, but not its kind', async () => {
  await admission.configure('mutatingwebhookconfigurations', 'w', { webhooks: [hook()] });
  patch = [{ op: 'add', path: '/spec/expirationSeconds', value: 700 }];
  expect((await ask({ expirationSeconds: 6000 })).body).toMatchObject({ spec: { expirationSeconds: 700 } });
  patch = [{ op: 'add', path: '/spec/expirationSeconds', value: 'long' }];
  expect((await ask({})).status).toBe(500);
});

test('a mutating policy changes the request', async () => {
  await admission.configure('mutatingadmissionpolicies', 'm', {
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['serviceaccounts/token'] },
        ],
      },
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: { expression: 'Object{spec: Object.spec{expirationSeconds: 900}}' },
        },
      ],
    },
  });
  await admission.configure('mutatingadmissionpolicybindings', 'm', { spec: { policyName: 'm' } });
  expect((await ask({ expirationSeconds: 6000 })).body).toMatchObject({ spec: { expirationSeconds: 900 } });
});

test('invalid requests are rejected before admission', async () => {
  await admission.configure('validatingwebhookconfigurations', 'w', { webhooks: [hook()] });
  expect((await ask({ expirationSeconds: 5 })).status).toBe(422);
  expect(requests).toEqual([]);
});
