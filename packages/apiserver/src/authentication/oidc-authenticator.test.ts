import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { FieldPath, type JsonObject } from '@multiplane/apimachinery';
import {
  AddressPolicy,
  makeOidcAuthenticator,
  readJwtConfiguration,
  validateJwt,
  WebhookClient,
  type OidcAuthenticator,
} from '@multiplane/generic-server';
import { OidcIssuer } from '@multiplane/testing/serving';
import { JwtCelCompiler } from './jwt-cel-compiler.ts';
import { FakeClock } from '@multiplane/testing';

const expressions = new JwtCelCompiler();
let issuer: OidcIssuer;
let clock: FakeClock;
let client: WebhookClient;
beforeAll(async () => {
  issuer = await OidcIssuer.start();
});
afterAll(() => issuer.stop());
beforeEach(() => {
  issuer.broken = false;
  issuer.claimedUrl = issuer.url;
  issuer.keysUrl = `${issuer.url}/keys`;
  issuer.moved = undefined;
  issuer.server.calls.length = 0;
  clock = new FakeClock();
  client = new WebhookClient({}, { policy: new AddressPolicy({ allowed: ['127.0.0.1'], denied: [] }), clock });
});
afterEach(() => client.close());

const plainMappings = { username: { claim: 'sub', prefix: 'x:' }, groups: { claim: 'groups', prefix: 'g:' } };

function authenticator(more: JsonObject = {}, issuerMore: JsonObject = {}, checksAudiences = false): OidcAuthenticator {
  const configuration = readJwtConfiguration({
    issuer: { url: issuer.url, certificateAuthority: issuer.ca, audiences: ['a'], ...issuerMore },
    claimMappings: plainMappings,
    ...more,
  });
  const { errors, compiled } = validateJwt(configuration, FieldPath.of('jwt'), { expressions, disallowedIssuers: [] });
  expect(errors).toEqual([]);
  return makeOidcAuthenticator(
    { configuration, compiled, tenant: 't', signal: new AbortController().signal, checksAudiences },
    { client, expressions, clock },
  );
}

async function userOf(oidc: OidcAuthenticator, claims: Parameters<OidcIssuer['token']>[0]): Promise<unknown> {
  return (await oidc.authenticateToken(await issuer.token(claims, clock.now()), ['api']))?.user;
}
const refusal = (oidc: OidcAuthenticator, claims: Parameters<OidcIssuer['token']>[0]): Promise<string> =>
  userOf(oidc, claims).then(
    () => 'accepted',
    (error: Error) => error.message,
  );

describe('whom a token stands for', () => {
  test('by claims and prefixes', async () => {
    expect(await userOf(authenticator(), { groups: ['one', 'two'] })).toMatchObject({
      name: 'x:ann',
      groups: ['g:one', 'g:two'],
      uid: '',
    });
    expect(await userOf(authenticator(), { groups: 'one' })).toMatchObject({ groups: ['g:one'] });
  });

  test('by expressions', async () => {
    const oidc = authenticator({
      claimMappings: {
        username: { expression: '"oidc:" + claims.sub' },
        groups: { expression: 'claims.roles.map(r, "role:" + r)' },
        uid: { expression: 'claims.oid' },
        extra: [
          { key: 'example.org/tenant', valueExpression: 'claims.tenant' },
          { key: 'example.org/nothing', valueExpression: 'has(claims.nothing) ? claims.nothing : ""' },
        ],
      },
    });
    expect(await userOf(oidc, { roles: ['a', ''], oid: 'u-1', tenant: 'acme' })).toEqual({
      name: 'oidc:ann',
      uid: 'u-1',
      groups: ['role:a', 'role:'],
      extra: Object.assign(Object.create(null) as object, { 'example.org/tenant': ['acme'] }),
    });
  });

  test('tokens of others are not looked at', async () => {
    const oidc = authenticator();
    expect(await userOf(oidc, { iss: 'https://elsewhere.example.com' })).toBeUndefined();
    for (const token of ['opaque', 'a.b.c', '..']) expect(await oidc.authenticateToken(token, [])).toBeUndefined();
    expect(issuer.server.calls).toEqual([]);
  });
});

describe('expressions that cost too much', () => {
  const every = (depth: number): string => (depth === 0 ? 'true' : `claims.many.all(x${depth}, ${every(depth - 1)})`);
  const many = Array.from({ length: 60 }, (_, n) => n);

  test('refuse the token, alone or together, without taking the time that they would', async () => {
    const costly = authenticator({ claimValidationRules: [{ expression: every(4), message: 'm' }] });
    expect(await refusal(costly, { many })).toContain('actual cost limit exceeded');
    // Each alone is far below the limit of Kubernetes, and below that of one token.
    const rules = Array.from({ length: 40 }, (_, n) => ({ expression: `${every(2)} || ${n} == 0`, message: 'm' }));
    expect(await refusal(authenticator({ claimValidationRules: rules }), { many })).toContain(
      'actual cost limit exceeded',
    );
    expect(await refusal(authenticator({ claimValidationRules: rules.slice(0, 1) }), { many })).toBe('accepted');
  });

  test('rules over the user count, too', async () => {
    const groups = Array.from({ length: 200 }, (_, n) => `g-${n}`);
    const oidc = authenticator({
      userValidationRules: [{ expression: 'user.groups.all(a, user.groups.all(b, a != "" && b != ""))', message: 'm' }],
    });
    expect(await refusal(oidc, { groups })).toContain('actual cost limit exceeded');
    expect(await refusal(oidc, { groups: groups.slice(0, 10) })).toBe('accepted');
  });
});

describe('what is refused', () => {
  test.each<[string, JsonObject, JsonObject, string]>([
    ['another audience', {}, { aud: ['b', 'c'] }, 'oidc: verify token: oidc: expected audience in ["a"] got ["b" "c"]'],
    ['no user name', {}, { sub: undefined as never }, 'oidc: parse username claims "sub": claim not present'],
    ['a user name that is no text', {}, { sub: 3 }, 'oidc: parse username claims "sub": the claim is not a string'],
    [
      'an unverified address',
      { claimMappings: { username: { claim: 'email', prefix: '' } } },
      { email: 'a@example.com', email_verified: false },
      'oidc: email not verified',
    ],
    [
      'a required claim that is missing',
      { claimValidationRules: [{ claim: 'hd', requiredValue: 'example.com' }] },
      {},
      'oidc: required claim hd not present in ID token',
    ],
    [
      'a required claim of another value',
      { claimValidationRules: [{ claim: 'hd', requiredValue: 'example.com' }] },
      { hd: 'evil.example.com' },
      'oidc: required claim hd value does not match. Got = evil.example.com, want = example.com',
    ],
    [
      'a rule over claims',
      { claimValidationRules: [{ expression: 'claims.exp - claims.iat <= 60', message: 'too long' }] },
      {},
      "oidc: error evaluating claim validation expression: validation expression 'claims.exp - claims.iat <= 60' failed: too long",
    ],
    [
      'a rule over the user',
      { userValidationRules: [{ expression: "!user.username.startsWith('x:')", message: 'no x' }] },
      {},
      "oidc: error evaluating user info validation rule: validation expression '!user.username.startsWith('x:')' failed: no x",
    ],
    [
      'a user name that an expression does not make',
      { claimMappings: { username: { expression: 'claims.missing' } } },
      {},
      'oidc: error evaluating username claim expression: no such key: missing',
    ],
    [
      'an empty user name',
      { claimMappings: { username: { expression: 'claims.name' } } },
      { name: '' },
      'oidc: the user name of the token is empty',
    ],
  ])('%s', async (_what, more, claims, message) => {
    expect(await refusal(authenticator(more), claims)).toBe(message);
  });

  test('tokens that are over, never end, or begin later', async () => {
    const oidc = authenticator();
    const now = Math.floor(clock.now() / 1000);
    expect(await refusal(oidc, { exp: now - 1 })).toContain('oidc: token is expired');
    expect(await refusal(oidc, { exp: undefined })).toContain('oidc: token is expired');
    expect(await refusal(oidc, { nbf: now + 301 })).toContain('before the nbf');
    expect(await refusal(oidc, { nbf: now + 299 })).toBe('accepted');
  });

  test('tokens without a signature, or with one of another key', async () => {
    const oidc = authenticator();
    const token = await issuer.token({}, clock.now());
    const [, payload] = token.split('.');
    const header = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    await expect(oidc.authenticateToken(`${header({ alg: 'none' })}.${payload}.`, [])).rejects.toThrow(
      'unsupported algorithm',
    );
    await expect(oidc.authenticateToken(`${header({ alg: 'HS256' })}.${payload}.AAAA`, [])).rejects.toThrow(
      'unsupported algorithm',
    );
    await expect(oidc.authenticateToken(`${token.slice(0, -8)}AAAAAAAA`, [])).rejects.toThrow(
      'failed to verify signature',
    );
  });

  test('the audience of the server where it counts', async () => {
    const oidc = authenticator({}, {}, true);
    expect(await refusal(oidc, {})).toBe('token audiences ["a"] is invalid for the target audiences ["api"]');
    expect(await refusal(oidc, { aud: ['a', 'api'] })).toBe('accepted');
  });
});

describe('keys of the issuer', () => {
  test('are fetched once for all who wait, and not again', async () => {
    const oidc = authenticator();
    await Promise.all([1, 2, 3].map(() => userOf(oidc, {})));
    await userOf(oidc, {});
    expect(issuer.keyFetches).toBe(1);
  });

  test('are fetched again for an unknown key, but not for each made-up one', async () => {
    const oidc = authenticator();
    await userOf(oidc, {});
    await clock.advance(10_000);
    issuer.rotate('second');
    expect(await userOf(oidc, {})).toMatchObject({ name: 'x:ann' });
    expect(issuer.keyFetches).toBe(2);
    for (const kid of ['made', 'up']) {
      const token = await issuer.token({}, clock.now(), { kid });
      await expect(oidc.authenticateToken(token, [])).rejects.toThrow('failed to verify signature');
    }
    expect(issuer.keyFetches).toBe(2);
  });

  test('an issuer that fails is left in peace for a while, and then asked again', async () => {
    const oidc = authenticator();
    issuer.broken = true;
    for (let i = 0; i < 3; i++) expect(await refusal(oidc, {})).toBe('oidc: authenticator not initialized');
    expect(issuer.server.calls).toHaveLength(1);
    issuer.broken = false;
    await clock.advance(10_000);
    expect(await refusal(oidc, {})).toBe('accepted');
  });

  test('of an issuer that says it is another are not taken', async () => {
    issuer.claimedUrl = 'https://elsewhere.example.com';
    expect(await refusal(authenticator(), {})).toBe('oidc: authenticator not initialized');
    expect(issuer.keyFetches).toBe(0);
  });

  test.each(['/.well-known/openid-configuration', '/keys'])(
    'are not fetched through a redirect of %s',
    async (path) => {
      issuer.moved = { path, to: `${issuer.url}/elsewhere` };
      expect(await refusal(authenticator(), {})).toBe('oidc: authenticator not initialized');
      expect(issuer.server.calls.map(({ url }) => url)).not.toContain('/elsewhere');
    },
  );

  test('are not taken from a server that the authority of the issuer does not know', async () => {
    const other = await OidcIssuer.start();
    try {
      issuer.keysUrl = other.keysUrl;
      expect(await refusal(authenticator(), {})).toBe('oidc: authenticator not initialized');
      expect(other.server.calls).toEqual([]);
      // Neither does the issuer itself count with another authority than the one that was named.
      expect(await refusal(authenticator({}, { certificateAuthority: other.ca }), {})).toBe(
        'oidc: authenticator not initialized',
      );
    } finally {
      await other.stop();
    }
  });

  test.each(['http://127.0.0.1/keys', 'https://169.254.169.254/keys', 'https://10.0.0.1/keys', 'file:///keys', 'keys'])(
    'are not fetched from %s, whatever the issuer says',
    async (keysUrl) => {
      issuer.keysUrl = keysUrl;
      expect(await refusal(authenticator(), {})).toBe('oidc: authenticator not initialized');
    },
  );

  test('are not fetched from addresses that the policy denies', async () => {
    client.close();
    client = new WebhookClient({}, { policy: new AddressPolicy({ allowed: [], denied: [] }), clock });
    expect(await refusal(authenticator(), {})).toBe('oidc: authenticator not initialized');
    expect(issuer.server.calls).toEqual([]);
  });
});
