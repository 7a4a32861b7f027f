import { generateKeyPairSync } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Exchange } from '../server/exchange.ts';
import type { RequestInfo } from '../request/request-info.ts';
import { BearerTokenAuthenticator, bearerToken, UnionTokenAuthenticator } from './bearer-token.ts';
import { ServiceAccountTokens } from './service-account-tokens.ts';
import { parseTokenFile, StaticTokenAuthenticator } from './static-tokens.ts';
import { UnionAuthenticator } from './union-authenticator.ts';

const info = {} as RequestInfo;
const withHeaders = (headers: Exchange['headers']): Exchange => ({ headers }) as Exchange;
const alice = { name: 'alice', uid: '1', groups: ['team'], extra: {} };

function authenticator(anonymous = true): UnionAuthenticator {
  const tokens = new StaticTokenAuthenticator();
  tokens.add('secret', alice);
  tokens.add('', { ...alice, name: 'nobody' });
  return new UnionAuthenticator(
    { anonymous },
    { authenticators: [new BearerTokenAuthenticator({ audiences: ['api'] }, { tokens })] },
  );
}

describe('bearer tokens', () => {
  test('a known token authenticates its user', async () => {
    const response = await authenticator().authenticate(withHeaders({ authorization: 'bearer  secret' }), info);
    expect(response?.user).toMatchObject({ name: 'alice', groups: ['team', 'system:authenticated'] });
  });

  test.each([['Bearer wrong'], ['Bearer a b']])(
    '%s is an invalid credential, never anonymous',
    async (authorization) => {
      const attempt = async (): Promise<unknown> => authenticator().authenticate(withHeaders({ authorization }), info);
      await expect(attempt()).rejects.toThrow('no authenticator accepted');
    },
  );

  test.each([['Bearer '], ['Bearer'], ['Basic YTpi'], ['']])(
    '%j is no credential: anonymous, never another user',
    async (authorization) => {
      expect((await authenticator().authenticate(withHeaders({ authorization }), info))?.user.name).toBe(
        'system:anonymous',
      );
      expect(await authenticator(false).authenticate(withHeaders({ authorization }), info)).toBeUndefined();
    },
  );

  test('a repeated header is rejected', async () => {
    const exchange = withHeaders({ authorization: ['Bearer secret', 'Bearer secret'] });
    const attempt = async (): Promise<unknown> => authenticator().authenticate(exchange, info);
    await expect(attempt()).rejects.toThrow('no authenticator accepted');
  });

  test('a request without credentials is anonymous if allowed, else unauthenticated', async () => {
    expect((await authenticator().authenticate(withHeaders({}), info))?.user).toMatchObject({
      name: 'system:anonymous',
      groups: ['system:unauthenticated'],
    });
    expect(await authenticator(false).authenticate(withHeaders({}), info)).toBeUndefined();
  });

  test('an oversized token is not hashed', () => {
    expect(() => bearerToken(`Bearer ${'x'.repeat(100_000)}`)).toThrow('too long');
  });
});

describe('token file', () => {
  test('reads groups in quotes, skips blanks, and keeps the last of two equal tokens', async () => {
    const tokens = new StaticTokenAuthenticator();
    for (const { token, user } of parseTokenFile('t1,u1,1\n\n,blank,2\nt2,u2,2,"a, b"\nt1,u3,3\n'))
      tokens.add(token, user);
    expect((await tokens.authenticateToken('t2'))?.user).toEqual({
      name: 'u2',
      uid: '2',
      groups: ['a', 'b'],
      extra: {},
    });
    expect((await tokens.authenticateToken('t1'))?.user.name).toBe('u3');
    expect(await tokens.authenticateToken('')).toBeUndefined();
  });

  test('errors name the line', () => {
    expect(() => parseTokenFile('t1,u1,1\nt2,u2\n')).toThrow('line 2');
    expect(() => parseTokenFile('t1,u1,1,"a\n')).toThrow('line 1');
  });
});

describe('service account tokens', () => {
  const cluster = 'abc' as LogicalClusterName;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  let now: number;
  let objects: Map<string, KubeObject>;
  let tokens: ServiceAccountTokens;
  const object = (kind: string, name: string, uid: string, more: Partial<KubeObject> = {}): KubeObject => ({
    apiVersion: 'v1',
    kind,
    metadata: { name, namespace: 'ns', uid },
    ...more,
  });

  beforeEach(() => {
    now = Date.UTC(2030, 0, 1);
    objects = new Map([['abc/ns/sa/r', object('ServiceAccount', 'r', 'uid-1')]]);
    tokens = new ServiceAccountTokens(
      { issuers: ['https://issuer'], signingKey: privateKey, now: () => now },
      {
        getter: {
          serviceAccount: (c, namespace, name) => objects.get(`${c}/${namespace}/sa/${name}`),
          secret: (c, namespace, name) => objects.get(`${c}/${namespace}/secret/${name}`),
        },
      },
    );
  });
  const issue = (audiences = ['api']): Promise<{ token: string }> =>
    tokens.issue({
      cluster,
      namespace: 'ns',
      serviceAccount: { name: 'r', uid: 'uid-1' },
      audiences,
      expirationSeconds: 600,
    });

  test('authenticate the account with its groups and logical cluster', async () => {
    const { token } = await issue();
    expect(await tokens.authenticateToken(token, ['api', 'other'])).toMatchObject({
      user: {
        name: 'system:serviceaccount:ns:r',
        uid: 'uid-1',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:ns'],
        extra: { 'authentication.kcp.io/cluster-name': ['abc'] },
      },
      audiences: ['api'],
    });
  });

  test('expire, with a leeway of a minute', async () => {
    const { token } = await issue();
    now += 650_000;
    expect(await tokens.authenticateToken(token, ['api'])).toBeDefined();
    now += 20_000;
    await expect(tokens.authenticateToken(token, ['api'])).rejects.toThrow('expired');
  });

  test('are revoked by deleting or recreating the account', async () => {
    const { token } = await issue();
    expect(await tokens.authenticateToken(token, ['api'])).toBeDefined();
    objects.set('abc/ns/sa/r', object('ServiceAccount', 'r', 'uid-2'));
    await expect(tokens.authenticateToken(token, ['api'])).rejects.toThrow('replaced');
    objects.clear();
    await expect(tokens.authenticateToken(token, ['api'])).rejects.toThrow('does not exist');
  });

  test('are valid for their audiences only', async () => {
    const { token } = await issue(['other']);
    await expect(tokens.authenticateToken(token, ['api'])).rejects.toThrow('audiences');
  });

  test('a changed signature, another key and another issuer are rejected', async () => {
    const { token } = await issue();
    const forged = `${token.slice(0, -4)}AAAA`;
    await expect(tokens.authenticateToken(forged, ['api'])).rejects.toThrow('invalid service account token');
    const other = new ServiceAccountTokens(
      {
        issuers: ['https://else'],
        signingKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
        now: () => now,
      },
      { getter: { serviceAccount: () => undefined, secret: () => undefined } },
    );
    expect(await other.authenticateToken(token, ['api'])).toBeUndefined();
    expect(
      await new UnionTokenAuthenticator({ authenticators: [other] }).authenticateToken('no-jwt', ['api']),
    ).toBeUndefined();
  });

  test('a token of a Secret is valid while the Secret contains it', async () => {
    const token = await tokens.issueLegacy({
      cluster,
      namespace: 'ns',
      secretName: 's',
      serviceAccount: { name: 'r', uid: 'uid-1' },
    });
    objects.set(
      'abc/ns/secret/s',
      object('Secret', 's', 'uid-s', { data: { token: Buffer.from(token).toString('base64') } }),
    );
    expect((await tokens.authenticateToken(token, ['api']))?.user.name).toBe('system:serviceaccount:ns:r');
    objects.set('abc/ns/secret/s', object('Secret', 's', 'uid-s', { data: {} }));
    await expect(tokens.authenticateToken(token, ['api'])).rejects.toThrow('no longer holds');
  });
});
