import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { UserInfo } from '@multiplane/apimachinery';
import { TlsFixture } from '@multiplane/testing/serving';
import { TrustedProxy } from '../../test/trusted-proxy.ts';
import { defaultIdentityHeaderNames, identityHeaders } from './identity-headers.ts';
import { defaultIdentityHeaders, RequestHeaderAuthenticator } from './request-header.ts';

let fixture: TlsFixture;
let proxy: TrustedProxy;
beforeAll(async () => {
  fixture = await TlsFixture.create();
  proxy = await TrustedProxy.create();
});
afterAll(() => fixture.cleanUp());

/** The user that an upstream server reads from the headers. */
async function roundTrip(user: UserInfo): Promise<UserInfo | undefined> {
  const authenticator = new RequestHeaderAuthenticator(
    { ...defaultIdentityHeaders, allowedNames: ['front-proxy'], now: () => Date.now() },
    proxy,
  );
  let seen: UserInfo | undefined;
  const server = await fixture.serve(async (exchange) => {
    seen = (await authenticator.authenticate(exchange))?.user;
    exchange.respond(200, '');
  });
  const headers: Record<string, string[]> = {};
  const list = identityHeaders(user, defaultIdentityHeaderNames) ?? [];
  for (let i = 0; i < list.length; i += 2) (headers[list[i] as string] ??= []).push(list[i + 1] as string);
  await fixture.ask1(server, '/', {
    headers,
    cert: proxy.certificate.certificatePem,
    key: proxy.certificate.privateKeyPem,
  });
  return seen;
}

describe('a user asserted to an upstream server', () => {
  test.each<[string, UserInfo]>([
    ['with everything', { name: 'alice', uid: 'u-1', groups: ['a', 'b c', 'x,y'], extra: { scopes: ['1', '2'] } }],
    ['of other scripts', { name: 'ålice 中', uid: '', groups: ['größe'], extra: { ключ: ['значение'] } }],
    [
      'with keys that headers do not bear',
      { name: 'a', uid: '', groups: [], extra: { 'authentication.kcp.io/scopes': ['cluster:x'], 'a%2fb c': ['y'] } },
    ],
  ])('%s is the same user', async (_what, user) => {
    const seen = await roundTrip(user);
    expect({ ...seen, extra: { ...seen?.extra } }).toEqual(user);
  });

  test('with control characters is not asserted', () => {
    const user = { name: 'a\r\nX-Remote-Group: system:masters', uid: '', groups: [], extra: {} };
    expect(identityHeaders(user, defaultIdentityHeaderNames)).toBeUndefined();
  });
});
