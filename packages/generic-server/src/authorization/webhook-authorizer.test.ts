import { beforeEach, describe, expect, test } from '@jest/globals';
import type { JsonObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { AuthorizationAttributes } from './authorizer.ts';
import { WebhookAuthorizer } from './webhook-authorizer.ts';
import { FakeClock } from '@multiplane/testing';

let clock: FakeClock;
let reviews: JsonObject[];
let status: JsonObject | Error;
beforeEach(() => {
  clock = new FakeClock();
  reviews = [];
});
const webhook = (version: 'v1' | 'v1beta1' = 'v1'): WebhookAuthorizer =>
  new WebhookAuthorizer(
    { version, authorizedTtlMs: 300_000, unauthorizedTtlMs: 30_000 },
    {
      clock,
      send: async (review) => {
        reviews.push(review);
        if (status instanceof Error) throw status;
        return { ...review, status };
      },
    },
  );
const attributes = (more: Partial<AuthorizationAttributes> = {}): AuthorizationAttributes => ({
  user: { name: 'ann', uid: 'u', groups: ['g'], extra: { key: ['v'] } },
  cluster: 'c1' as LogicalClusterName,
  verb: 'get',
  isResourceRequest: true,
  group: '',
  version: 'v1',
  namespace: 'ns',
  resource: 'configmaps',
  subresource: '',
  name: 'm',
  path: '/api/v1/namespaces/ns/configmaps/m',
  ...more,
});

describe('the review', () => {
  test('has the resource, the user and the logical cluster', async () => {
    status = { allowed: true };
    await webhook().authorize(attributes({ labelSelector: 'a=b' }));
    expect(reviews).toEqual([
      {
        kind: 'SubjectAccessReview',
        apiVersion: 'authorization.k8s.io/v1',
        metadata: { creationTimestamp: null },
        spec: {
          resourceAttributes: {
            namespace: 'ns',
            verb: 'get',
            version: 'v1',
            resource: 'configmaps',
            name: 'm',
            labelSelector: { rawSelector: 'a=b' },
          },
          user: 'ann',
          groups: ['g'],
          uid: 'u',
          extra: { key: ['v'], 'authorization.kcp.io/cluster-name': ['c1'] },
        },
        status: { allowed: false },
      },
    ]);
  });

  test('has the path, and the field for groups of v1beta1', async () => {
    status = { allowed: true };
    await webhook('v1beta1').authorize(attributes({ isResourceRequest: false, path: '/metrics', cluster: undefined }));
    expect(reviews[0]?.['spec']).toEqual({
      nonResourceAttributes: { path: '/metrics', verb: 'get' },
      user: 'ann',
      group: ['g'],
      uid: 'u',
      extra: { key: ['v'] },
    });
  });
});

describe('the response', () => {
  test.each<[JsonObject, string, string]>([
    [{ allowed: true, reason: 'because' }, 'allow', 'because'],
    [{ allowed: false, denied: true, reason: 'never' }, 'deny', 'never'],
    [{ allowed: false }, 'noOpinion', ''],
  ])('%j', async (given, decision, reason) => {
    status = given;
    expect(await webhook().authorize(attributes())).toEqual({ decision, reason });
  });

  test('contradictions and failures are no opinion, with an error', async () => {
    status = { allowed: true, denied: true };
    expect(await webhook().authorize(attributes())).toMatchObject({
      decision: 'noOpinion',
      error: {
        message: 'the authorization webhook: webhook subject access review returned both allow and deny response',
      },
    });
    status = new Error('connection refused');
    expect(await webhook().authorize(attributes())).toMatchObject({
      decision: 'noOpinion',
      error: { message: 'the authorization webhook: connection refused' },
    });
  });
});

test('decisions are cached, allow for longer; failures are not', async () => {
  const authorizer = webhook();
  const ask = async (): Promise<number> => {
    await authorizer.authorize(attributes());
    return reviews.length;
  };
  status = new Error('down');
  expect([await ask(), await ask()]).toEqual([1, 2]);
  status = { allowed: false };
  expect([await ask(), await ask()]).toEqual([3, 3]);
  await clock.advance(30_000);
  status = { allowed: true };
  expect(await ask()).toBe(4);
  await clock.advance(299_999);
  expect(await ask()).toBe(4);
  await clock.advance(1);
  expect(await ask()).toBe(5);
});
