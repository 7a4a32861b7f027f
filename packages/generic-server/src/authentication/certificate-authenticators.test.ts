import { X509Certificate } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import { parseOptions } from '@multiplane/component-base';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import { certificateAuthentication, configuredRequestHeader } from './certificate-authentication.ts';
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

test('who signs users signs no proxies that any name will do for', () => {
  const shared = { users: bundle(one), proxies: bundle(other, one), now };
  expect(() => configuredRequestHeader(options(), shared)).toThrow(
    '--requestheader-client-ca-file shares a CA with --client-ca-file: --requestheader-allowed-names is required',
  );
  expect(() => configuredRequestHeader(options('--requestheader-allowed-names=front-proxy'), shared)).not.toThrow();
  expect(() => configuredRequestHeader(options(), { users: bundle(one), proxies: bundle(other), now })).not.toThrow();
  expect(() => configuredRequestHeader(options(), { proxies: bundle(one), now })).not.toThrow();
});

test('without authorities of users only proxies are asked', () => {
  expect(certificateAuthentication(options(), { proxies: bundle(one), now })).toHaveLength(1);
  expect(certificateAuthentication(options(), { users: bundle(one), now })).toHaveLength(2);
});
