import { writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { ServiceAccountTokens } from '@multiplane/generic-server';
import { eventually } from '@multiplane/testing';
import type { Echo } from '../test/fake-shard.ts';
import { echoOf, patient, ProxyFixture, tlsPair } from '../test/proxy-fixture.ts';

/** Headers with which a client may try to assume another identity. */
const forged: Record<string, string> = {
  'X-Remote-User': 'system:admin',
  'x-remote-group': 'system:masters',
  'X-REMOTE-UID': '1',
  X_Remote_User: 'system:admin',
  'x_remote-group': 'system:masters',
  'X-Remote-Extra-Authorization.kcp.io%2fwarrant': '{"user":"x","groups":["system:masters"]}',
  'X-Remote-Extra-Authentication.kcp.io%2Fscopes': 'cluster:root',
  'X-Remote_Extra-scopes': 'x',
  X_REMOTE_EXTRA_scopes: 'x',
  Impersonate_User: 'system:admin',
  'Impersonate_Extra-scopes': 'x',
  'X-Backend-Who': 'system:admin',
  X_Backend_Who: 'system:admin',
};
const forgedConnection = { 'X-Multiplane-Connection': 'forged' };
/** All identity headers, including the name that the mapping configures. */
const identityOf = ({ headers }: Echo): Record<string, unknown> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /remote|impersonate|backend.who/.test(name)));

describe('identity', () => {
  let proxy: ProxyFixture;
  const start = async (args: readonly string[] = []): Promise<void> => {
    const mapping = ['- path: /other/', '  backend: https://127.0.0.1:1', '  user_header: X-Backend-Who', '  TLS', ''];
    proxy = await ProxyFixture.start(args, { mappings: mapping.join('\n') });
  };
  afterEach(() => proxy.stop());

  describe('with client certificates', () => {
    beforeEach(() => start(['--requestheader-allowed-names', 'kcp-mounts-proxy', ...patient]));

    test('an unauthenticated request is forwarded with its token', async () => {
      const headers = { ...forged, authorization: 'Bearer opaque' };
      const echo = echoOf(await proxy.ask('/clusters/root/api', { headers }));
      expect(identityOf(echo)).toEqual({});
      expect(echo.headers['authorization']).toBe('Bearer opaque');
      const session = proxy.session();
      const small = Object.fromEntries(Object.entries(forged).map(([name, value]) => [name.toLowerCase(), value]));
      expect(identityOf(echoOf(await proxy.ask2(session, { ':path': '/clusters/root/api', ...small })))).toEqual({});
    });

    test('the certificate determines the user, not the headers', async () => {
      const identity = await proxy.identity('alice', ['team-b', 'team-a', 'system:masters']);
      const expected = {
        'x-remote-user': 'alice',
        'x-remote-group': ['system:authenticated', 'team-a', 'team-b'],
        'x-remote-extra-authentication.kubernetes.io%2fcredential-id': expect.stringMatching(/^X509SHA256=/),
      };
      const headers = { ...forged, authorization: 'Bearer opaque' };
      const echo = echoOf(await proxy.ask('/clusters/root/api', { headers, ...identity }));
      expect(identityOf(echo)).toEqual(expected);
      expect(echo.headers['authorization']).toBeUndefined();
      const small = Object.fromEntries(Object.entries(forged).map(([name, value]) => [name.toLowerCase(), value]));
      const over2 = await proxy.ask2(proxy.session(identity), { ':path': '/clusters/root/api', ...small });
      expect(identityOf(echoOf(over2))).toEqual(expected);
    });

    test('the shard is told which connection a request is from', async () => {
      const identity = await proxy.identity('alice');
      const connectionOf = ({ headers }: Echo): unknown => headers['x-multiplane-connection'];
      const [one, two] = [proxy.session(identity), proxy.session()];
      const ask = async (session: typeof one, headers = {}): Promise<unknown> =>
        connectionOf(echoOf(await proxy.ask2(session, { ':path': '/clusters/root/api', ...headers })));
      const name = await ask(one);
      expect(name).toMatch(/^[\w-]{12}-\d+$/);
      expect(await ask(one, { 'x-multiplane-connection': 'forged' })).toBe(name);
      const anonymous = await ask(two, { 'x-multiplane-connection': 'forged' });
      expect(anonymous).toMatch(/^[\w-]{12}-\d+$/);
      const over1 = connectionOf(
        echoOf(await proxy.ask('/clusters/root/api', { headers: forgedConnection, ...identity })),
      );
      expect(new Set([name, anonymous, over1, 'forged']).size).toBe(4);
      // Another front-proxy, or a server of this control plane, knows the connections of its clients.
      const trusted = tlsPair(await proxy.proxyAuthority.issueClient({ user: 'kcp-mounts-proxy' }));
      const server = await proxy.identity('virtual-workspaces', ['system:kcp:external-logical-cluster-admin']);
      for (const from of [trusted, server])
        expect(
          connectionOf(
            echoOf(await proxy.ask('/clusters/root/api', { headers: { 'x-multiplane-connection': 'known' }, ...from })),
          ),
        ).toBe('known');
    });

    test('the same for upgrades', async () => {
      const identity = await proxy.identity('alice');
      const lines = Object.entries(forged).map(([name, value]) => `${name}: ${value}`);
      const request = (upgrade: string): string =>
        `GET /clusters/root/x HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: ${upgrade}\r\n${lines.join('\r\n')}\r\n\r\n`;
      for (const upgrade of ['websocket', 'SPDY/3.1', 'h2c']) await proxy.raw(request(upgrade), identity);
      await proxy.raw(request('websocket'));
      expect(proxy.root.requests.map(identityOf)).toEqual([
        ...Array.from({ length: 3 }, () => expect.objectContaining({ 'x-remote-user': 'alice' })),
        {},
      ]);
      for (const { headers } of proxy.root.requests.slice(0, 3)) {
        expect(headers['x-remote-group']).toBe('system:authenticated');
        expect(Object.keys(headers).some((name) => name.includes('_'))).toBe(false);
      }
    });

    test('the Connection header can neither remove nor add identity headers', async () => {
      const identity = await proxy.identity('alice');
      const connection = 'close, X-Remote-User, x-remote-group, X-Remote-Extra-Scopes, x-secret';
      const request = ['GET /clusters/root/api HTTP/1.1', 'host: x', `connection: ${connection}`, 'x-secret: 1'];
      await proxy.raw(`${[...request, 'te: trailers', 'keep-alive: timeout=5'].join('\r\n')}\r\n\r\n`, identity);
      const [echo] = proxy.root.requests as [Echo];
      expect(identityOf(echo)).toMatchObject({ 'x-remote-user': 'alice', 'x-remote-group': 'system:authenticated' });
      expect(echo.headers).not.toHaveProperty('x-secret');
      expect(echo.headers).not.toHaveProperty('te');
    });

    test('repeated identity headers are removed', async () => {
      const lines = ['x-remote-user: a', 'X-Remote-User: b', 'X-REMOTE-GROUP: c', 'x-remote-group: d'];
      await proxy.raw(
        `GET /clusters/root/api HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${lines.join('\r\n')}\r\n\r\n`,
      );
      expect(proxy.root.requests.map(identityOf)).toEqual([{}]);
    });

    test('a certificate of an unknown CA is rejected', async () => {
      const otherAuthority = tlsPair(await proxy.servingAuthority.issueClient({ user: 'alice' }));
      expect((await proxy.ask('/clusters/root/api', otherAuthority)).status).toBe(401);
      const unlisted = tlsPair(await proxy.proxyAuthority.issueClient({ user: 'kcp-front-proxy' }));
      expect((await proxy.ask('/clusters/root/api', { ...unlisted, headers: forged })).status).toBe(401);
      expect(proxy.root.requests).toEqual([]);
    });

    test.each([
      { user: 'system:serviceaccount:default:builder' },
      { user: 'alice', groups: ['system:cluster:org1'] },
      { user: 'alice', groups: ['system:serviceaccounts:default'] },
    ])('a certificate for %j is rejected', async (identity) => {
      const certificate = tlsPair(await proxy.clientAuthority.issueClient(identity));
      const before = proxy.root.requests?.length;
      expect((await proxy.ask('/clusters/root/api', { ...certificate })).status).toBe(401);
      expect(proxy.root.requests?.length).toBe(before);
    });

    test('a trusted proxy asserts users, and its certificate is no credential', async () => {
      const mounts = tlsPair(await proxy.proxyAuthority.issueClient({ user: 'kcp-mounts-proxy' }));
      const headers = {
        'x-remote-user': 'Jürgen',
        'x-remote-uid': 'u1',
        'x-remote-group': ['team', 'system:kcp:initializer:root'],
        'x-remote-extra-a%2fb': 'x',
      };
      const echo = echoOf(
        await proxy.ask('/clusters/root/api', {
          ...mounts,
          headers: { ...headers, 'x-remote-user': Buffer.from(headers['x-remote-user']).toString('latin1') },
        }),
      );
      expect(identityOf(echo)).toMatchObject({
        'x-remote-uid': 'u1',
        'x-remote-group': ['system:authenticated', 'team'],
        'x-remote-extra-a%2fb': 'x',
      });
      expect(Buffer.from(String(echo.headers['x-remote-user']), 'latin1').toString()).toContain('rgen');
      expect(identityOf(echoOf(await proxy.ask('/clusters/root/api', mounts)))).toEqual({});
    });

    test('impersonation is forwarded, except for extra fields of kcp that the shard does not limit', async () => {
      const identity = await proxy.identity('alice');
      const ask = async (headers: Record<string, string>) => proxy.ask('/clusters/root/api', { ...identity, headers });
      const plain = {
        'impersonate-user': 'bob',
        'impersonate-extra-team': 'x',
        'impersonate-extra-authentication.kcp.io%2fscopes': 'cluster:org1',
        'impersonate-extra-authorization.kcp.io%2fwarrant': '{"user":"carol"}',
      };
      expect(identityOf(echoOf(await ask(plain)))).toMatchObject(plain);
      for (const key of ['Authentication.KCP.io%2fother', 'x.kcp.io']) {
        const answer = await ask({ ...plain, [`Impersonate-Extra-${key}`]: 'x' });
        expect([answer.status, answer.body.toString()]).toEqual([403, expect.stringContaining('impersonation is not')]);
      }
      expect(proxy.root.requests.length).toBe(1);
    });

    test('identities of concurrent requests are not mixed up', async () => {
      const [alice, bob] = await Promise.all([proxy.identity('alice', ['a']), proxy.identity('bob', ['b'])]);
      const sessions = [proxy.session(alice), proxy.session(bob)] as const;
      const answers = await Promise.all(
        Array.from({ length: 500 }, async (_, n) => {
          const echo = echoOf(await proxy.ask2(sessions[n % 2 === 0 ? 0 : 1], { ':path': `/clusters/root/${n}` }));
          return `${n % 2} ${String(echo.headers['x-remote-user'])} ${String(echo.headers['x-remote-group'])}`;
        }),
      );
      expect(new Set(answers)).toEqual(new Set(['0 alice a,system:authenticated', '1 bob b,system:authenticated']));
    });
  });

  test('groups are passed on and dropped', async () => {
    await start(['--authentication-pass-on-groups', 'team-*,admins', '--authentication-drop-groups', 'team-x*']);
    const identity = await proxy.identity('alice', ['team-b', 'team-xy', 'other', 'admins', 'system:masters']);
    const echo = echoOf(await proxy.ask('/clusters/root/api', identity));
    expect(echo.headers['x-remote-group']).toEqual(['admins', 'team-b']);
  });

  test('with a token file every request must be authenticated', async () => {
    proxy = await ProxyFixture.start([]);
    await writeFile(proxy.path('tokens.csv'), 'secret,carol,u7,"team-a,team-b"\n');
    const args = ['--token-auth-file', proxy.path('tokens.csv')];
    const other = await ProxyFixture.start(args);
    try {
      const ask = (headers: Record<string, string>) => other.ask('/clusters/root/api', { headers });
      const echo = echoOf(await ask({ authorization: 'Bearer secret' }));
      expect(identityOf(echo)).toEqual({
        'x-remote-user': 'carol',
        'x-remote-uid': 'u7',
        'x-remote-group': ['system:authenticated', 'team-a', 'team-b'],
      });
      expect(echo.headers['authorization']).toBeUndefined();
      const unauthenticated: Record<string, string>[] = [
        {},
        { authorization: 'Bearer wrong' },
        { authorization: 'Bearer ' },
      ];
      for (const headers of unauthenticated) {
        const answer = await ask(headers);
        expect([answer.status, JSON.parse(answer.body.toString())]).toMatchObject([401, { reason: 'Unauthorized' }]);
      }
    } finally {
      await other.stop();
    }
  });

  test('with workspace authentication, unknown tokens are forwarded to the shard', async () => {
    proxy = await ProxyFixture.start([]);
    await writeFile(proxy.path('tokens.csv'), 'secret,carol,u7\n');
    const gate = '--feature-gates=WorkspaceAuthentication=true';
    const other = await ProxyFixture.start(['--token-auth-file', proxy.path('tokens.csv'), gate]);
    try {
      const ask = (headers: Record<string, string>) => other.ask('/clusters/root/api', { headers });
      const echo = echoOf(await ask({ 'x-remote-user': 'system:admin', authorization: 'Bearer of-a-workspace' }));
      expect(identityOf(echo)).toEqual({});
      expect(echo.headers['authorization']).toBe('Bearer of-a-workspace');
      expect(identityOf(echoOf(await ask({ authorization: 'Bearer secret' })))).toMatchObject({
        'x-remote-user': 'carol',
      });
      expect((await ask({})).status).toBe(401);
      const otherAuthority = tlsPair(await other.servingAuthority.issueClient({ user: 'alice' }));
      const headers = { authorization: 'Bearer of-a-workspace' };
      expect((await other.ask('/clusters/root/api', { ...otherAuthority, headers })).status).toBe(401);
    } finally {
      await other.stop();
    }
  });

  test('a service account is authenticated while it exists on its shard', async () => {
    const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    proxy = await ProxyFixture.start([]);
    await writeFile(proxy.path('sa.pub'), keys.publicKey.export({ type: 'spki', format: 'pem' }));
    const other = await ProxyFixture.start(['--service-account-key-file', proxy.path('sa.pub')]);
    try {
      const tokens = new ServiceAccountTokens(
        { issuers: ['https://kcp.default.svc'], signingKey: keys.privateKey, now: () => Date.now() },
        { getter: { serviceAccount: () => undefined, secret: () => undefined } },
      );
      const issue = async (name: string): Promise<string> => {
        const issued = await tokens.issue({
          cluster: 'org1' as LogicalClusterName,
          namespace: 'default',
          serviceAccount: { name, uid: 'u1' },
          audiences: ['https://kcp.default.svc'],
          expirationSeconds: 600,
        });
        return issued.token;
      };
      other.b.answer = (exchange) => {
        if (!exchange.url.includes('/serviceaccounts/')) return undefined;
        const lives = exchange.url.endsWith('/clusters/org1/api/v1/namespaces/default/serviceaccounts/robot');
        exchange.setHeader('content-type', 'application/json');
        exchange.respond(lives ? 200 : 404, JSON.stringify({ kind: 'ServiceAccount', metadata: { uid: 'u1' } }));
        return Promise.resolve();
      };
      const ask = async (path: string, token: string) =>
        other.ask(path, { headers: { authorization: `Bearer ${token}` } });
      const echo = echoOf(await ask('/clusters/root/api', await issue('robot')));
      expect(identityOf(echo)).toMatchObject({
        'x-remote-user': 'system:serviceaccount:default:robot',
        'x-remote-uid': 'u1',
        'x-remote-extra-authentication.kcp.io%2fcluster-name': 'org1',
      });
      expect(echo.headers['authorization']).toBeUndefined();
      expect((await ask('/clusters/root/api', await issue('gone'))).status).toBe(401);
      expect((await ask('/clusters/root/api', `${await issue('robot')}x`)).status).toBe(401);
      // In-cluster clients send no /clusters/; the token names the logical cluster.
      expect(echoOf(await ask('/api/v1/namespaces', await issue('robot')))).toMatchObject({
        shard: 'b',
        url: '/clusters/org1/api/v1/namespaces',
      });
    } finally {
      await other.stop();
    }
  });

  test('a mount gets the identity but no token', async () => {
    await start(['--webhook-allowed-networks=127.0.0.0/8,::1']);
    const mountUrl = proxy.b.url.replace('127.0.0.1', 'localhost');
    proxy.root.putWorkspace('root', 'mounted', { mount: { ref: {} }, URL: `${mountUrl}/clusters/x` });
    proxy.root.putWorkspace('root', 'own', { mount: { ref: {} }, URL: `${proxy.b.url}/clusters/org1` });
    const headers = { ...forged, authorization: 'Bearer opaque' };
    const echo = await eventually(async () => {
      const answer = await proxy.ask('/clusters/root:mounted:child/api?a=b', { headers });
      expect(answer.status).toBe(200);
      return echoOf(answer);
    });
    expect(echo).toMatchObject({ shard: 'b', url: '/clusters/x:child/api?a=b' });
    expect(echo.headers['authorization']).toBeUndefined();
    expect(identityOf(echo)).toEqual({});
    const known = echoOf(await proxy.ask('/clusters/root:mounted/api', await proxy.identity('alice')));
    expect(known).toMatchObject({ url: '/clusters/x/api' });
    expect(known.headers['x-remote-user']).toBe('alice');
    // A mount of this control plane is routed like a request to its logical cluster; a token that only shards know is refused.
    const own = await eventually(async () => {
      const answer = await proxy.ask('/clusters/root:own/api?a=b', await proxy.identity('alice'));
      expect(answer.status).toBe(200);
      return echoOf(answer);
    });
    expect(own).toMatchObject({ shard: 'b', url: '/clusters/org1/api?a=b' });
    expect(own.headers['x-remote-user']).toBe('alice');
    expect((await proxy.ask('/clusters/root:own/api', { headers })).status).toBe(401);
    expect(
      echoOf(await proxy.ask('/clusters/root:own/api', { headers: forged })).headers['x-remote-user'],
    ).toBeUndefined();
  });

  test('mounts cannot be told apart by why they are not reached', async () => {
    await start();
    const port = new URL(proxy.b.url).port;
    const urls = [
      // Refused addresses, by number and by name; a name without address; other paths of this control plane.
      `https://127.0.0.2:${port}/clusters/x`,
      'https://127.0.0.1:1/clusters/x',
      'https://10.0.0.1/clusters/x',
      `https://localhost:${port}/clusters/x`,
      'https://nowhere.invalid/clusters/x',
      `${proxy.b.url}/services/cache`,
      `${proxy.b.url}/metrics`,
      `${proxy.b.url}/clusters/*`,
    ];
    for (const [index, url] of urls.entries())
      proxy.root.putWorkspace('root', `mount-${index}`, { mount: { ref: {} }, URL: url });
    for (const index of urls.keys()) {
      const answer = await eventually(async () => {
        const asked = await proxy.ask(`/clusters/root:mount-${index}/api`, await proxy.identity('alice'));
        expect(asked.status).toBe(503);
        return asked;
      });
      const { message } = JSON.parse(answer.body.toString()) as { message: string };
      expect([urls[index], message]).toEqual([urls[index], 'the target of the workspace mount cannot be reached']);
    }
    expect(proxy.b.requests.filter(({ url }) => url.includes('/x'))).toEqual([]);
  });

  test.each(['http://127.0.0.1:1/clusters/x', 'https://169.254.169.254/clusters/x', 'https://[fe80::1]/', 'nonsense'])(
    'a mount of %s goes nowhere',
    async (url) => {
      await start();
      proxy.root.putWorkspace('root', 'mounted', { mount: { ref: {} }, URL: url });
      await eventually(async () => expect((await proxy.ask('/clusters/root:mounted/api')).status).toBe(503));
    },
  );
});
