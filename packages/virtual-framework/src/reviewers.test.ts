import { describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject, UserInfo } from '@multiplane/apimachinery';
import type { AuthorizationAttributes, Authorizer } from '@multiplane/generic-server';
import { AccessReviewer } from './access-reviewer.ts';
import type { ShardConnection } from './shard-connection.ts';
import { TestExchange } from '../test/test-exchange.ts';
import { TokenReviewer } from './token-reviewer.ts';
import { FakeClock } from '@multiplane/testing';

const ann: UserInfo = { name: 'ann', uid: '1', groups: ['team'], extra: { a: ['b'] } };
const asked = {
  verb: 'initialize',
  group: 'tenancy.kcp.io',
  version: 'v1alpha1',
  resource: 'workspacetypes',
  subresource: '',
  namespace: '',
  name: 'mine',
};
const parent = new TestExchange('GET', '/');

/** A shard that responds to reviews and records their URLs. */
function shardRespondingWith(respond: () => { status: number; body: JsonObject }): {
  urls: string[];
  connection: ShardConnection;
} {
  const urls: string[] = [];
  return {
    urls,
    connection: {
      forward: async (exchange, { url }) => {
        urls.push(url);
        const { status, body } = respond();
        exchange.respond(status, JSON.stringify(body));
      },
    },
  };
}

describe('AccessReviewer', () => {
  test('sends the review to the cluster of the object and caches the decision', async () => {
    const clock = new FakeClock();
    let allowed = false;
    const { urls, connection } = shardRespondingWith(() => ({ status: 201, body: { status: { allowed } } }));
    const reviewer = new AccessReviewer({ allowedTtl: 10_000, deniedTtl: 5_000 }, { connection, clock });
    const decide = async (cluster = 'root:org'): Promise<string> =>
      (await reviewer.review(parent, ann, cluster, asked)).decision;
    expect([await decide(), await decide()]).toEqual(['noOpinion', 'noOpinion']);
    expect(urls).toEqual(['/clusters/root:org/apis/authorization.k8s.io/v1/subjectaccessreviews']);
    allowed = true;
    await clock.advance(5_001);
    expect([await decide(), await decide()]).toEqual(['allow', 'allow']);
    allowed = false;
    await clock.advance(10_001);
    expect(await decide()).toBe('noOpinion');
    expect(urls).toHaveLength(3);
    expect(await decide('other')).toBe('noOpinion');
    expect(urls).toHaveLength(4);
  });

  test('reviews non-resource paths', async () => {
    const bodies: JsonObject[] = [];
    const connection: ShardConnection = {
      forward: async (exchange) => {
        bodies.push(JSON.parse((await exchange.readBody(10_000)).toString()) as JsonObject);
        exchange.respond(201, '{"status":{"allowed":true}}');
      },
    };
    const reviewer = new AccessReviewer({ allowedTtl: 0, deniedTtl: 0 }, { connection, clock: new FakeClock() });
    const metrics = { verb: 'get', path: '/metrics' };
    expect((await reviewer.review(parent, ann, 'root', metrics)).decision).toBe('allow');
    expect(bodies).toMatchObject([{ spec: { user: 'ann', groups: ['team'], nonResourceAttributes: metrics } }]);
  });

  test('has no opinion on a missing cluster, and returns the error of an unavailable shard', async () => {
    const clock = new FakeClock();
    const missing = shardRespondingWith(() => ({
      status: 404,
      body: { kind: 'Status', code: 404, reason: 'NotFound' },
    }));
    const options = { allowedTtl: 0, deniedTtl: 0 };
    const missingCluster = await new AccessReviewer(options, { ...missing, clock }).review(parent, ann, 'gone', asked);
    expect([missingCluster.decision, missingCluster.error]).toEqual(['noOpinion', undefined]);
    const unavailable = shardRespondingWith(() => ({
      status: 503,
      body: { kind: 'Status', code: 503, message: 'unavailable' },
    }));
    const unknown = await new AccessReviewer(options, { ...unavailable, clock }).review(parent, ann, 'root', asked);
    expect([unknown.decision, unknown.error?.message]).toEqual(['noOpinion', 'unavailable']);
  });

  test.each(['*', '', 'root:x?y', 'a/b', '..', 'x'.repeat(2_000)])(
    'has no opinion about %s, and does not ask a shard',
    async (cluster) => {
      const { urls, connection } = shardRespondingWith(() => ({ status: 400, body: {} }));
      const reviewer = new AccessReviewer({ allowedTtl: 0, deniedTtl: 0 }, { connection, clock: new FakeClock() });
      const { decision, error } = await reviewer.review(parent, ann, cluster, asked);
      expect([decision, error, urls]).toEqual(['noOpinion', undefined, []]);
    },
  );

  test('allows system:masters without a review', async () => {
    const { urls, connection } = shardRespondingWith(() => ({ status: 500, body: {} }));
    const reviewer = new AccessReviewer({ allowedTtl: 0, deniedTtl: 0 }, { connection, clock: new FakeClock() });
    const root = { ...ann, groups: ['system:masters'] };
    expect((await reviewer.review(parent, root, 'root', asked)).decision).toBe('allow');
    expect(urls).toEqual([]);
  });
});

describe('AccessReviewer in the process of the shard', () => {
  test('asks its authorizer about logical clusters by name, and sends reviews for paths', async () => {
    const clock = new FakeClock();
    const { urls, connection } = shardRespondingWith(() => ({ status: 201, body: { status: { allowed: true } } }));
    const seen: AuthorizationAttributes[] = [];
    const authorizer: Authorizer = {
      authorize: async (attributes) => {
        seen.push(attributes);
        return { decision: attributes.cluster === '1a2b' ? 'allow' : 'noOpinion', reason: 'rule' };
      },
    };
    const options = { allowedTtl: 0, deniedTtl: 0, deep: true };
    const reviewer = new AccessReviewer(options, { connection, clock, authorizer });
    expect(await reviewer.review(parent, ann, '1a2b', asked)).toEqual({ decision: 'allow', reason: 'rule' });
    expect((await reviewer.review(parent, ann, 'other', { verb: 'get', path: '/metrics' })).decision).toBe('noOpinion');
    expect(urls).toEqual([]);
    expect(seen).toMatchObject([
      { user: ann, cluster: '1a2b', isResourceRequest: true, deep: true, ...asked },
      { user: ann, cluster: 'other', isResourceRequest: false, verb: 'get', path: '/metrics' },
    ]);
    expect((await reviewer.review(parent, ann, 'root:org', asked)).decision).toBe('allow');
    expect(urls).toEqual(['/clusters/root:org/apis/authorization.k8s.io/v1/subjectaccessreviews']);
  });

  test('a review of reviews is not deep', async () => {
    const deep: unknown[] = [];
    const authorizer: Authorizer = {
      authorize: async (attributes) => {
        deep.push(attributes.deep);
        return { decision: 'allow', reason: '' };
      },
    };
    const { connection } = shardRespondingWith(() => ({ status: 500, body: {} }));
    const reviewer = new AccessReviewer(
      { allowedTtl: 0, deniedTtl: 0, deep: true },
      { connection, clock: new FakeClock(), authorizer },
    );
    await reviewer.review(parent, ann, '1a2b', { ...asked, group: 'authorization.k8s.io' });
    expect(deep).toEqual([false]);
  });
});

test('TokenReviewer caches accepted and rejected tokens', async () => {
  const clock = new FakeClock();
  const tokens: unknown[] = [];
  const reviewer = new TokenReviewer(
    { ttl: 10_000 },
    {
      clock,
      client: {
        create: async (_resource, cluster, object: KubeObject) => {
          tokens.push([cluster, (object['spec'] as JsonObject)['token']]);
          const authenticated = (object['spec'] as JsonObject)['token'] === 'good';
          const user = { username: 'ann', uid: '1', groups: ['team'] };
          return { ...object, status: authenticated ? { authenticated, user } : { authenticated } };
        },
      },
    },
  );
  const usernameOf = async (token: string): Promise<string | undefined> =>
    (await reviewer.authenticateToken(token, []))?.user.name;
  expect([
    await usernameOf('good'),
    await usernameOf('good'),
    await usernameOf('bad'),
    await usernameOf('bad'),
  ]).toEqual(['ann', 'ann', undefined, undefined]);
  expect(tokens).toEqual([
    ['system:admin', 'good'],
    ['system:admin', 'bad'],
  ]);
  await clock.advance(10_001);
  await usernameOf('good');
  expect(tokens).toHaveLength(3);
});
