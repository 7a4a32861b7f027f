import { X509Certificate } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import { parseOptions } from '@multiplane/component-base';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import { certificateAuthenticators, requestHeaderAuthenticator } from './certificate-authenticators.ts';
import type { CertificateAuthorities } from './client-certificate.ts';
import { requestHeaderOptionTable } from './request-header-options.ts';

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
