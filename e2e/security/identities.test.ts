import { createPrivateKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import { connect } from 'node:http2';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually, testCertificates } from '@multiplane/testing';
import { HostileServer } from '../harness/hostile-server.ts';
import { decodeJwt } from '../harness/jwt.ts';
import type { Response } from '../harness/requests.ts';
import { testTokens } from '../harness/local-cluster.ts';

let server: HostileServer;

beforeAll(async () => {
  server = await HostileServer.start();
}, 240_000);
afterAll(() => server?.[Symbol.asyncDispose]());
afterEach(() => server.mustBeWell());

const whoAmI = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const review = (as: string, headers: Record<string, string | readonly string[]> = {}): Promise<Response> =>
  server.workspace.send({ as, method: 'POST', path: whoAmI, headers, body: {} });
const userOf = ({ json }: Response): Record<string, unknown> | undefined =>
  (json['status'] as { userInfo?: Record<string, unknown> } | undefined)?.userInfo;

describe('identity headers of a proxy', () => {
  const spellings = [
    'X-Remote-User',
    'x-remote-user',
    'X_Remote_User',
    'X-REMOTE-USER',
    'X-Remote-Username',
    'X-Forwarded-User',
    'Remote-User',
  ];

  test.each(spellings)('%s grants no other identity', async (name) => {
    const headers = {
      [name]: 'admin',
      'X-Remote-Group': ['system:masters', 'system:kcp:admin'],
      'X-Remote-Extra-Authorization.kcp.io%2fwarrant': '{"user":"admin","groups":["system:masters"]}',
      'X-Remote-Extra-Scopes': 'cluster:root',
    };
    const user = await review('user-1', headers);
    expect(userOf(user)).toMatchObject({ username: 'user-1', groups: ['system:authenticated'] });
    expect(userOf(user)?.['extra']).toBeUndefined();
    expect((await review('anonymous', headers)).status).toBe(403);
    expect((await server.workspace.send({ as: 'user-1', path: '/api/v1/secrets', headers })).status).toBe(403);
    expect((await server.workspace.send({ as: 'anonymous', path: '/api/v1/secrets', headers })).status).toBe(403);
  });

  test('nor over HTTP/2, nor on an upgrade', async () => {
    const answer = await overHttp2({
      ':path': `/clusters/${server.path}/api/v1/secrets`,
      authorization: `Bearer ${testTokens['user-1']}`,
      'x-remote-user': 'admin',
      'x-remote-group': 'system:masters',
    });
    expect(answer.status).toBe(403);
    const upgrade = await server.workspace.send({
      as: 'user-1',
      path: '/api/v1/secrets?watch=1',
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'x-remote-user': 'admin',
        'x-remote-group': 'system:masters',
      },
    });
    expect(upgrade.status).toBe(403);
  });
});

describe('impersonation', () => {
  test('needs the right for each part', async () => {
    for (const headers of [
      { 'Impersonate-User': 'admin' },
      { 'Impersonate-User': 'user-1', 'Impersonate-Group': 'system:masters' },
      { 'Impersonate-User': 'user-1', 'Impersonate-Uid': '1' },
      {
        'Impersonate-User': 'user-1',
        'Impersonate-Extra-Authorization.kcp.io%2fwarrant': '{"user":"admin","groups":["system:masters"]}',
      },
      { 'Impersonate-User': 'system:serviceaccount:kube-system:admin' },
      { 'impersonate-user': ['user-1', 'admin'] },
    ]) {
      const answer = await review('user-1', headers);
      expect([headers, answer.status]).toEqual([headers, 403]);
    }
    expect((await review('anonymous', { 'Impersonate-User': 'admin' })).status).toBe(403);
  });

  test('naming the headers in Connection does not make them vanish after they were looked at', async () => {
    // A hop that strips what Connection names would go on as admin; so the request must end up as user-2 or refused.
    for (const connection of [
      'Impersonate-User',
      'close, Impersonate-User',
      'Impersonate-User, Impersonate-Group',
      'Authorization',
    ]) {
      const answer = await review('masters', { connection, 'Impersonate-User': 'user-2' });
      expect([connection, answer.status === 201 ? userOf(answer)?.['username'] : 'user-2']).toEqual([
        connection,
        'user-2',
      ]);
      expect([201, 400]).toContain(answer.status);
      expect((await review('user-1', { connection, 'Impersonate-User': 'admin' })).status).toBeGreaterThanOrEqual(400);
    }
  });

  test('without a user name, or with a broken key, is a bad request', async () => {
    expect((await review('masters', { 'Impersonate-Group': 'g' })).json).toMatchObject({
      code: 400,
      message: expect.stringMatching(/^requested .* without impersonating a user name$/),
    });
    expect((await review('masters', { 'Impersonate-Extra-x': 'y' })).status).toBe(400);
    const broken = await review('masters', { 'Impersonate-User': 'user-2', 'Impersonate-Extra-%zz': 'y' });
    expect([broken.status, broken.status === 201 ? Object.keys(userOf(broken)?.['extra'] as object) : []]).toEqual([
      201,
      expect.arrayContaining(['%zz']),
    ]);
    const names = await review('masters', {
      'Impersonate-User': 'user-2',
      'Impersonate-Extra-__proto__': 'x',
      'Impersonate-Extra-constructor': 'y',
    });
    expect(names.text).toContain('"__proto__":["x"]');
    expect(names.text).toContain('"constructor":["y"]');
  });

  test('does not last: the next request on the connection is its own user again', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: server.cluster.ca });
    const seen: string[] = [];
    for (let i = 0; i < 20; i++)
      seen.push(await nameOverAgent(agent, i % 2 === 0 ? { 'impersonate-user': 'user-2' } : {}));
    agent.destroy();
    expect(seen).toEqual(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? 'user-2' : 'admin')));
  });
});

describe('credentials', () => {
  test.each([
    ['a Bearer scheme with nothing behind it', 'Bearer'],
    ['an empty token', 'Bearer '],
    ['blanks for a token', 'Bearer     '],
    ['another scheme', 'Basic YTpi'],
    ['the token without a scheme', testTokens.masters],
    ['a token with a NUL', 'Bearer masters-token%00'],
    ['the beginning of a token', 'Bearer masters'],
    ['more than a token', 'Bearer masters-tokenx'],
    ['a token of half a million bytes', `Bearer ${'x'.repeat(100_000)}`],
  ])('%s is no identity', async (_what, authorization) => {
    // Both are Kubernetes' own answers: wrong credentials, or none that it knows the scheme of.
    expect([401, 403]).toContain(
      (await server.workspace.send({ as: 'x', path: '/api/v1/secrets', headers: { authorization } })).status,
    );
  });

  test('two Authorization headers never mean the stronger one', async () => {
    for (const authorization of [
      [`Bearer ${testTokens['user-1']}`, `Bearer ${testTokens.masters}`],
      ['Bearer nope', `Bearer ${testTokens.masters}`],
      ['', `Bearer ${testTokens.masters}`],
    ]) {
      expect([401, 403]).toContain(
        (await server.workspace.send({ as: 'x', path: '/api/v1/secrets', headers: { authorization } })).status,
      );
    }
    const answer = await overHttp2({
      ':path': `/clusters/${server.path}/api/v1/secrets`,
      authorization: ['Bearer nope', `Bearer ${testTokens.masters}`] as unknown as string,
    });
    expect([0, 400, 401, 403]).toContain(answer.status);
  });

  test('a client certificate of a stranger is 401, whatever it says', async () => {
    const { certificatePem, privateKeyPem } = await (
      await testCertificates('stranger')
    ).client('admin', ['system:masters']);
    const agent = new Agent({ ca: server.cluster.ca, cert: certificatePem, key: privateKeyPem });
    const status = await new Promise<number>((resolve, reject) => {
      httpsRequest(`${server.cluster.url}/clusters/${server.path}/api/v1/secrets`, { agent }, (response) =>
        resolve(response.resume().statusCode ?? 0),
      )
        .on('error', reject)
        .end();
    });
    agent.destroy();
    expect(status).toBe(401);
  });

  describe('tokens of service accounts', () => {
    const accounts = '/api/v1/namespaces/e2e/serviceaccounts';
    let token: string;
    let signingKey: KeyObject;

    beforeAll(async () => {
      await server.workspace.must({
        method: 'POST',
        path: accounts,
        body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } },
      });
      token = await tokenOf({});
      signingKey = createPrivateKey(readFileSync(server.cluster.path('root', 'sa.key')));
    });

    async function tokenOf(spec: object): Promise<string> {
      const answer = await server.workspace.must({
        method: 'POST',
        path: `${accounts}/robot/token`,
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec },
      });
      return (answer.json['status'] as { token: string }).token;
    }

    /** The good token with other claims or header fields, signed by any key. */
    function forged(
      claims: object,
      { header = {}, key = signingKey }: { header?: object; key?: KeyObject } = {},
    ): string {
      const first = JSON.parse(Buffer.from(token.split('.')[0] as string, 'base64url').toString()) as object;
      const body = [
        { ...first, ...header },
        { ...decodeJwt(token), ...claims },
      ]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.');
      return `${body}.${sign('sha256', Buffer.from(body), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
    }

    const now = (): number => Math.floor(Date.now() / 1000);

    test('signed anew without a change works, so that what follows fails for its own reason', async () => {
      expect(userOf(await review(forged({})))).toMatchObject({ username: 'system:serviceaccount:e2e:robot' });
    });

    test('expired, not yet valid, of another audience or issuer: 401', async () => {
      for (const claims of [
        { exp: now() - 60, iat: now() - 3600, nbf: now() - 3600 },
        { nbf: now() + 3600 },
        { aud: ['another-audience'] },
        { iss: 'https://evil.example.com' },
      ]) {
        const answer = await server.workspace.send({ as: forged(claims), path: '/api/v1/namespaces' });
        expect([claims, answer.status, answer.json['message']]).toEqual([claims, 401, 'Unauthorized']);
      }
    });

    test('forged: another key, no algorithm, a cut signature, a changed subject', async () => {
      const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
      const [head, body, signature] = token.split('.') as [string, string, string];
      const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
      const masters = Buffer.from(JSON.stringify({ ...decodeJwt(token), sub: 'admin' })).toString('base64url');
      for (const bad of [
        forged({}, { key: foreign }),
        `${none}.${body}.`,
        `${none}.${body}.${signature}`,
        `${head}.${body}.`,
        `${head}.${body}.${signature.slice(0, -8)}`,
        `${head}.${masters}.${signature}`,
        `${head}.${body}`,
        `..${signature}`,
        forged({}, { header: { alg: 'HS256' } }),
      ]) {
        expect((await server.workspace.send({ as: bad, path: '/api/v1/namespaces' })).status).toBe(401);
      }
    });

    test('claims of a wrong shape are 401, not a fault', async () => {
      for (const claims of [
        { 'kubernetes.io': null },
        { 'kubernetes.io': [] },
        { 'kubernetes.io': { namespace: 5 } },
        { sub: 5 },
        { sub: 'admin' },
        { exp: 'never' },
        { exp: -1 },
        { 'kubernetes.io': { namespace: '../x', serviceaccount: { name: '..', uid: '' } } },
      ]) {
        expect([
          claims,
          (await server.workspace.send({ as: forged(claims), path: '/api/v1/namespaces' })).status,
        ]).toEqual([claims, 401]);
      }
    });

    test('bound to a secret: gone with the secret; another secret of the name does not bring it back', async () => {
      const secrets = '/api/v1/namespaces/e2e/secrets';
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'bound' } };
      await server.workspace.must({ method: 'POST', path: secrets, body: secret });
      const bound = await tokenOf({ boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: 'bound' } });
      expect((await review(bound)).status).toBe(201);
      await server.workspace.must({ method: 'DELETE', path: `${secrets}/bound` });
      expect((await review(bound)).status).toBe(401);
      await server.workspace.must({ method: 'POST', path: secrets, body: secret });
      expect((await review(bound)).status).toBe(401);
    });

    test('of one workspace: an unprivileged user in another', async () => {
      const answer = await server.requests.send({ as: token, path: '/clusters/root/api/v1/namespaces' });
      expect(answer.status).toBe(403);
      expect(answer.text).not.toContain(
        'system:serviceaccount:e2e:robot" cannot list resource "namespaces" in API group "" at the cluster scope: access granted',
      );
    });

    test('dead with its account, also when another of the name follows', async () => {
      await server.workspace.must({ method: 'DELETE', path: `${accounts}/robot` });
      expect((await review(token)).status).toBe(401);
      await server.workspace.must({
        method: 'POST',
        path: accounts,
        body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } },
      });
      expect((await review(token)).status).toBe(401);
    });
  });
});

function nameOverAgent(agent: Agent, headers: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      `${server.cluster.url}/clusters/${server.path}${whoAmI}`,
      {
        agent,
        method: 'POST',
        headers: { authorization: `Bearer ${testTokens.masters}`, 'content-type': 'application/json', ...headers },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.once('end', () =>
          resolve((JSON.parse(text) as { status: { userInfo: { username: string } } }).status.userInfo.username),
        );
      },
    );
    request.on('error', reject).end('{}');
  });
}

/** One GET over HTTP/2; status 0 when the server ends the stream without an answer. */
function overHttp2(headers: Record<string, string>): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const session = connect(server.cluster.url, { ca: server.cluster.ca });
    session.on('error', reject);
    let stream;
    try {
      stream = session.request({ ':method': 'GET', ...headers });
    } catch {
      // Node's client itself refuses to send it.
      session.destroy();
      resolve({ status: 0, text: '' });
      return;
    }
    const answer = { status: 0, text: '' };
    stream.on('response', (response) => (answer.status = response[':status'] ?? 0));
    stream.setEncoding('utf8').on('data', (chunk: string) => (answer.text += chunk));
    stream.on('error', () => undefined);
    stream.on('close', () => {
      session.close();
      resolve(answer);
    });
    stream.end();
  });
}

describe('paths that lead around authorization', () => {
  test('the metrics of the server are not those of a workspace, whatever its administrator may do', async () => {
    const administrator = { 'impersonate-user': 'tenant-admin' };
    await server.workspace.must({
      method: 'POST',
      path: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
      body: {
        metadata: { name: 'tenant-admin' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'user-3' }],
      },
    });
    await eventually(() => server.workspace.must({ as: 'user-3', path: '/api/v1/secrets' }));
    for (const [requests, path] of [
      [server.workspace, '/metrics'],
      [server.requests, '/metrics'],
      [server.requests, '/clusters/*/metrics'],
      [server.requests, '/services/cache/metrics'],
    ] as const) {
      const { status, text } = await requests.send({ as: 'user-3', path });
      expect([path, status >= 400, text.includes('apiserver_request_total')]).toEqual([path, true, false]);
    }
    expect((await server.requests.send({ as: 'user-3', path: '/metrics', headers: administrator })).status).toBe(403);
  });

  test('an object of the whole workspace is not found by the path of a namespace', async () => {
    const roles = '/apis/rbac.authorization.k8s.io/v1';
    await server.workspace.must({
      method: 'POST',
      path: `${roles}/clusterroles`,
      body: { metadata: { name: 'wide' }, rules: [] },
    });
    for (const path of ['/clusterroles', '/clusterroles/wide'])
      for (const method of ['GET', 'DELETE'])
        expect((await server.workspace.send({ method, path: `${roles}/namespaces/e2e${path}` })).status).toBe(404);
    await server.workspace.must({ path: `${roles}/clusterroles/wide` });
  });
});
