import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { echoOf, ProxyFixture } from '../../test/proxy-fixture.ts';

const reviews = '/clusters/team1/apis/authentication.k8s.io/v1/tokenreviews';
const user = {
  username: 'oidc:bob',
  groups: ['oidc:developers', 'system:authenticated'],
  extra: { 'authentication.kcp.io/scopes': ['cluster:team1'], 'authentication.kcp.io/cluster-name': ['team1'] },
};

let proxy: ProxyFixture;
/** How the shard of `root:org:team` answers a review of a token. */
let status: object | 'none';
beforeEach(async () => {
  proxy = await ProxyFixture.start(['--feature-gates=WorkspaceAuthentication=true'], {
    mappings: ['- path: /e2e/clusters/{cluster}/', '  backend: BACKEND', '  TLS', ''].join('\n'),
  });
  proxy.root.answer = (exchange) => {
    if (exchange.url !== reviews) return undefined;
    exchange.setHeader('content-type', 'application/json');
    if (status === 'none') exchange.respond(503, '');
    else exchange.respond(201, JSON.stringify({ kind: 'TokenReview', status }));
    return Promise.resolve();
  };
});
afterEach(() => proxy.stop());

const ask = (token: string, more: Readonly<Record<string, string>> = {}) =>
  proxy.ask('/e2e/clusters/root:org:team/x', { headers: { authorization: `Bearer ${token}`, ...more } });

test('a token of an issuer of the workspace becomes identity headers for a backend', async () => {
  status = { authenticated: true, user };
  const echo = echoOf(await ask('good', { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' }));
  expect(echo).toMatchObject({ shard: 'b', url: '/e2e/clusters/root:org:team/x' });
  expect(echo.headers).toMatchObject({
    'x-remote-user': 'oidc:bob',
    'x-remote-extra-authentication.kcp.io%2fscopes': 'cluster:team1',
    'x-remote-extra-authentication.kcp.io%2fcluster-name': 'team1',
  });
  expect([echo.headers['x-remote-group']].flat().join()).toBe('oidc:developers,system:authenticated');
  expect(echo.headers).not.toHaveProperty('authorization');
  await ask('good');
  await ask('other');
  expect(proxy.root.requests.filter(({ url }) => url === reviews)).toHaveLength(2);
});

test('a token that is not valid there gives no identity', async () => {
  status = { authenticated: false };
  const { headers } = echoOf(await ask('bad', { 'x-remote-user': 'admin' }));
  expect(Object.keys(headers).filter((name) => name.startsWith('x-remote-'))).toEqual([]);
  status = { authenticated: true };
  expect(echoOf(await ask('without a user')).headers).not.toHaveProperty('x-remote-user');
});

test('a token that cannot be reviewed is answered with 503', async () => {
  status = 'none';
  const answer = await ask('any');
  expect([answer.status, proxy.b.requests.length]).toEqual([503, 0]);
});

test('requests to shards are not reviewed', async () => {
  const { headers } = echoOf(
    await proxy.ask('/clusters/root:org:team/x', { headers: { authorization: 'Bearer any' } }),
  );
  expect(headers['authorization']).toBe('Bearer any');
  expect(proxy.root.requests.filter(({ url }) => url === reviews)).toEqual([]);
});
