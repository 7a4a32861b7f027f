import { X509Certificate } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import { parseOptions } from '@multiplane/component-base';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import { certificateAuthenticators, requestHeaderAuthenticator } from './certificate-authenticators.ts';
import type { CertificateAuthorities } from './client-certificate.ts';
import type { RequestInfo } from '../request/request-info.ts';
import type { Exchange } from '../server/exchange.ts';
import { requestHeaderOptionTable } from './request-header-options.ts';
import { UnionAuthenticator } from './union-authenticator.ts';

let one: X509Certificate;
let other: X509Certificate;
beforeAll(async () => {
  const make = async (commonName: string): Promise<X509Certificate> =>
    new X509Certificate((await CertificateAuthority.create({ commonName })).pem.certificatePem);
  [one, other] = [await make('one'), await make('other')];
});

const bundle = (...list: X509Certificate[]): CertificateAuthorities => ({ current: () => list });
const options = (...args: string[]) => parseOptions(requestHeaderOptionTable, { args }).values;
const now = (): number => Date.now();

test('a CA of users cannot sign proxies without allowed names', () => {
  const shared = { users: bundle(one), proxies: bundle(other, one), now };
  expect(() => requestHeaderAuthenticator(options(), shared)).toThrow(
    '--requestheader-client-ca-file shares a CA with --client-ca-file: --requestheader-allowed-names is required',
  );
  expect(() => requestHeaderAuthenticator(options('--requestheader-allowed-names=front-proxy'), shared)).not.toThrow();
  expect(() =>
    requestHeaderAuthenticator(options(), { users: bundle(one), proxies: bundle(other), now }),
  ).not.toThrow();
  expect(() => requestHeaderAuthenticator(options(), { proxies: bundle(one), now })).not.toThrow();
});

test('without user CAs only proxies are authenticated', () => {
  expect(certificateAuthenticators(options(), { proxies: bundle(one), now })).toHaveLength(1);
  expect(certificateAuthenticators(options(), { users: bundle(one), now })).toHaveLength(2);
});

test('the certificate of a proxy is no invalid credential of an anonymous request', async () => {
  const [users, proxies, workspaces] = await Promise.all(
    ['users', 'proxies', 'workspaces'].map((commonName) => CertificateAuthority.create({ commonName })),
  );
  const trusted = (authority: CertificateAuthority | undefined): CertificateAuthorities =>
    bundle(new X509Certificate(authority?.pem.certificatePem ?? ''));
  const authenticators = certificateAuthenticators(options('--requestheader-allowed-names=front-proxy'), {
    users: trusted(users),
    proxies: trusted(proxies),
    workspaces: trusted(workspaces),
    now,
  });
  const union = new UnionAuthenticator({ anonymous: true }, { authenticators });
  const asking = async (authority: CertificateAuthority | undefined): Promise<string | undefined> => {
    const issued = await authority?.issueClient({ user: 'front-proxy' });
    const peer = new X509Certificate(issued?.certificatePem ?? '');
    const socket = { getPeerX509Certificate: () => peer };
    const response = await union.authenticate(
      { socket, headers: {} } as unknown as Exchange,
      {} as unknown as RequestInfo,
    );
    return response?.user.name;
  };
  expect(await asking(proxies)).toBe('system:anonymous');
  expect(await asking(users)).toBe('front-proxy');
});
