import { describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject, UserInfo } from '@multiplane/apimachinery';
import { FakeClock } from '@multiplane/component-base';
import { AccessReviewer } from './access-reviewer.ts';
import type { ShardConnection } from './shard-connection.ts';
import { TestExchange } from './test-support/test-exchange.ts';
import { TokenReviewer } from './token-reviewer.ts';

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

/** A shard that answers reviews, and counts them. */
function shardThat(answer: () => { status: number; body: JsonObject }): {
  urls: string[];
  connection: ShardConnection;
} {
  const urls: string[] = [];
  return {
    urls,
    connection: {
      forward: async (exchange, { url }) => {
        urls.push(url);
        const { status, body } = answer();
        exchange.respond(status, JSON.stringify(body));
      },
    },
  };
}

describe('what somebody may do', () => {
  test('is asked where the object is, and remembered for a while', async () => {
    const clock = new FakeClock();
    let allowed = false;
    const { urls, connection } = shardThat(() => ({ status: 201, body: { status: { allowed } } }));
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
    expect(await decide('elsewhere')).toBe('noOpinion');
    expect(urls).toHaveLength(4);
  });

  test('is asked of paths, too', async () => {
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

  test('is nothing where nothing is, and unknown when nobody answers', async () => {
    const clock = new FakeClock();
    const missing = shardThat(() => ({ status: 404, body: { kind: 'Status', code: 404, reason: 'NotFound' } }));
    const options = { allowedTtl: 0, deniedTtl: 0 };
    const nowhere = await new AccessReviewer(options, { ...missing, clock }).review(parent, ann, 'gone', asked);
    expect([nowhere.decision, nowhere.error]).toEqual(['noOpinion', undefined]);
    const away = shardThat(() => ({ status: 503, body: { kind: 'Status', code: 503, message: 'away' } }));
    const unknown = await new AccessReviewer(options, { ...away, clock }).review(parent, ann, 'root', asked);
    expect([unknown.decision, unknown.error?.message]).toEqual(['noOpinion', 'away']);
  });

  test('is everything for system:masters, unasked', async () => {
    const { urls, connection } = shardThat(() => ({ status: 500, body: {} }));
    const reviewer = new AccessReviewer({ allowedTtl: 0, deniedTtl: 0 }, { connection, clock: new FakeClock() });
    const root = { ...ann, groups: ['system:masters'] };
    expect((await reviewer.review(parent, root, 'root', asked)).decision).toBe('allow');
    expect(urls).toEqual([]);
  });
});

test('whose token it is the shard says, once for a while, wrong ones too', async () => {
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
  const who = async (token: string): Promise<string | undefined> =>
    (await reviewer.authenticateToken(token, []))?.user.name;
  expect([await who('good'), await who('good'), await who('bad'), await who('bad')]).toEqual([
    'ann',
    'ann',
    undefined,
    undefined,
  ]);
  expect(tokens).toEqual([
    ['system:admin', 'good'],
    ['system:admin', 'bad'],
  ]);
  await clock.advance(10_001);
  await who('good');
  expect(tokens).toHaveLength(3);
});
