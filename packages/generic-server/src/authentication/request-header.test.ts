import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { UserInfo } from '@multiplane/apimachinery';
import type { Certificate } from '@multiplane/component-base';
import { TlsFixture } from '@multiplane/testing/serving';
import type { Headers } from '../server/exchange.ts';
import { TrustedProxy } from '../../test/trusted-proxy.ts';
import { defaultIdentityHeaders, RequestHeaderAuthenticator } from './request-header.ts';

let fixture: TlsFixture;
let proxy: TrustedProxy;
beforeAll(async () => {
  fixture = await TlsFixture.create();
  proxy = await TrustedProxy.create();
});
afterEach(() => fixture.cleanUp());

interface Seen {
  readonly user: UserInfo | undefined;
  readonly headers: Headers;
  readonly error: unknown;
}

const trusting = (allowedNames = ['front-proxy'], modules: Partial<TrustedProxy> = proxy): RequestHeaderAuthenticator =>
  new RequestHeaderAuthenticator({ ...defaultIdentityHeaders, allowedNames, now: () => Date.now() }, modules);

/** The response of the authenticator and the remaining headers. */
async function ask(
  headers: Record<string, string | string[]>,
  options: { certificate?: Certificate; allowedNames?: string[]; trusted?: boolean; protocol?: 1 | 2 } = {},
  authenticator = trusting(options.allowedNames, options.trusted === false ? {} : proxy),
): Promise<Seen> {
  let seen: Seen | undefined;
  const server = await fixture.serve(async (exchange) => {
    let user: UserInfo | undefined;
    let error: unknown;
    try {
      user = (await authenticator.authenticate(exchange))?.user;
    } catch (failure) {
      error = failure;
    }
    seen = { user, error, headers: { ...exchange.headers } };
    exchange.respond(200, '');
  });
  const { certificate } = options;
  if (options.protocol === 2) {
    await fixture.ask2(fixture.session2(server, certificate), { ':path': '/', ...headers });
  } else {
    const identity =
      certificate === undefined ? {} : { cert: certificate.certificatePem, key: certificate.privateKeyPem };
    await fixture.ask1(server, '/', { headers, ...identity });
  }
  if (seen === undefined) throw new Error('nothing was asked');
  return seen;
}

const left = ({ headers }: Seen): string[] =>
  Object.keys(headers).filter((name) => headers[name] !== undefined && /remote/.test(name));
const forged = {
  'X-Remote-User': 'boss',
  'X-REMOTE-GROUP': ['system:masters', 'more'],
  'x-remote-uid': '1',
  'X-Remote-Extra-Authorization.kcp.io%2Fwarrant': '{"user":"boss"}',
  X_Remote_User: 'boss',
  'X-Remote_Extra-scopes': 'x',
};

describe('identity headers', () => {
  test.each([1, 2] as const)('of a trusted proxy authenticate (HTTP/%i)', async (protocol) => {
    const seen = await ask(
      {
        'x-remote-user': 'alice',
        'x-remote-group': ['a', 'b,c'],
        'x-remote-uid': 'u-1',
        'x-remote-extra-authentication.kcp.io%2fscopes': ['cluster:one', 'cluster:two'],
        'x-remote-extra-__proto__': 'harmless',
      },
      { certificate: proxy.certificate, protocol },
    );
    expect(seen.user).toMatchObject({ name: 'alice', uid: 'u-1', groups: ['a', 'b,c'] });
    expect(Object.entries(seen.user?.extra ?? {})).toEqual([
      ['authentication.kcp.io/scopes', ['cluster:one', 'cluster:two']],
      ['__proto__', ['harmless']],
    ]);
    expect(left(seen)).toEqual([]);
  });

  test('are UTF-8, so that a user has the same name with and without a proxy', async () => {
    const sent = Buffer.from('Jürgen 猫').toString('latin1');
    const seen = await ask({ 'x-remote-user': sent, 'x-remote-group': [sent] }, { certificate: proxy.certificate });
    expect(seen.user).toMatchObject({ name: 'Jürgen 猫', groups: ['Jürgen 猫'] });
  });

  test.each([
    ['no certificate', () => ({})],
    ['a certificate of another authority', () => ({ certificate: fixture.client })],
    ['no trusted authority', () => ({ certificate: proxy.certificate, trusted: false })],
    ['a name that is not allowed', () => ({ certificate: proxy.certificate, allowedNames: ['other'] })],
  ] as const)('with %s count for nothing and go no further', async (_why, options) => {
    for (const protocol of [1, 2] as const) {
      const seen = await ask(forged, { ...options(), protocol });
      expect([seen.user, seen.error, left(seen)]).toEqual([undefined, undefined, []]);
    }
  });

  test('of any certificate of the authorities are trusted without allowed names', async () => {
    expect(
      (await ask({ 'x-remote-user': 'alice' }, { certificate: proxy.certificate, allowedNames: [] })).user?.name,
    ).toBe('alice');
  });

  test('without a user, or with similar names, do not authenticate, even from the proxy', async () => {
    const seen = await ask(
      { x_remote_user: 'boss', 'x-remote-group': 'system:masters' },
      { certificate: proxy.certificate },
    );
    expect([seen.user, left(seen)]).toEqual([undefined, []]);
  });

  test('yield the same user object if and only if they are equal', async () => {
    const authenticator = trusting();
    const userOf = async (headers: Record<string, string | string[]>): Promise<UserInfo | undefined> =>
      (await ask(headers, { certificate: proxy.certificate }, authenticator)).user;
    const alice = { 'x-remote-user': 'alice', 'x-remote-group': ['a', 'b'] };
    const first = await userOf(alice);
    expect(await userOf(alice)).toBe(first);
    expect(await userOf({ ...alice, 'x-remote-group': 'a, b' })).toMatchObject({ name: 'alice', groups: ['a, b'] });
    expect(await userOf({ ...alice, 'x-remote-uid': '7' })).toMatchObject({ name: 'alice', uid: '7' });
    expect((await ask(alice, { certificate: fixture.client }, authenticator)).user).toBeUndefined();
    expect(first).toMatchObject({ name: 'alice', groups: ['a', 'b'] });
  });

  test('with two users are an invalid credential', async () => {
    const seen = await ask({ 'x-remote-user': ['alice', 'bob'] }, { certificate: proxy.certificate });
    expect(seen.user).toBeUndefined();
    expect(String(seen.error)).toContain('repeated');
  });
});
