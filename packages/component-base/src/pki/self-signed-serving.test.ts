import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Certificate } from './certificate.ts';
import { CertificateAuthority } from './certificate-authority.ts';
import { ensureServingCertificate, servingHosts } from './self-signed-serving.ts';
import { writeCertificate } from './stored-authority.ts';
import { FakeClock } from '@multiplane/testing';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'multiplane-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('a certificate is issued once, and again when it lacks a host or is about to expire', async () => {
  const clock = new FakeClock();
  const ensure = async (...hosts: string[]): Promise<string> => {
    const files = await ensureServingCertificate({ folder: join(folder, 'root'), name: 'apiserver', hosts }, { clock });
    const leaf = new X509Certificate(readFileSync(files.certificateFile));
    expect(leaf.verify(new X509Certificate(readFileSync(files.authorityFile)).publicKey)).toBe(true);
    return leaf.serialNumber;
  };
  const first = await ensure('localhost', '127.0.0.1');
  expect(await ensure('localhost')).toBe(first);
  const second = await ensure('localhost', 'api.example.org');
  expect(second).not.toBe(first);
  await clock.advance(336 * 24 * 60 * 60 * 1000);
  expect(await ensure('localhost', 'api.example.org')).not.toBe(second);
});

describe('a pair that this server did not issue', () => {
  const hosts = ['localhost', '127.0.0.1'];
  const warnings: string[] = [];
  const clock = new FakeClock();
  const path = (name: string): string => join(folder, name);
  const ensure = () =>
    ensureServingCertificate(
      { folder, name: 'apiserver', hosts },
      { clock, warn: (_message, { file, problem }) => void warnings.push(`${file}: ${problem}`) },
    );
  const put = async (pair: Certificate): Promise<void> =>
    writeCertificate({ certificateFile: path('apiserver.crt'), privateKeyFile: path('apiserver.key') }, pair);
  beforeEach(() => void (warnings.length = 0));

  test('is used as it is; clients verify the server by the certificate itself, and no CA is created', async () => {
    const corporate = await CertificateAuthority.create({ commonName: 'corporate' }, { clock });
    const pair = await corporate.issueServer({
      commonName: 'api',
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1'],
    });
    await put(pair);
    expect(await ensure()).toMatchObject({ authorityFile: path('apiserver.crt') });
    expect(readFileSync(path('apiserver.crt'), 'utf8')).toBe(pair.certificatePem);
    expect(readFileSync(path('apiserver.key'), 'utf8')).toBe(pair.privateKeyPem);
    expect(warnings).toEqual([]);
    expect(existsSync(path('ca.crt'))).toBe(false);
  });

  test('is verified by ca.crt when that CA signed it, also without the key of the CA', async () => {
    const corporate = await CertificateAuthority.create({ commonName: 'corporate' }, { clock });
    await put(await corporate.issueServer({ commonName: 'api', dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] }));
    writeFileSync(path('ca.crt'), corporate.pem.certificatePem);
    expect(await ensure()).toMatchObject({ authorityFile: path('ca.crt') });
    expect(existsSync(path('ca.key'))).toBe(false);
  });

  test('is reported when names or dates do not fit, and is kept', async () => {
    const corporate = await CertificateAuthority.create({ commonName: 'corporate' }, { clock });
    const pair = await corporate.issueServer({ commonName: 'multiplane', dnsNames: ['localhost'] }, 10);
    await put(pair);
    await ensure();
    expect(warnings).toEqual([
      expect.stringMatching(/apiserver\.crt: it expires at /),
      expect.stringMatching(/apiserver\.crt: it does not cover the hosts 127\.0\.0\.1$/),
    ]);
    await clock.advance(11 * 24 * 60 * 60 * 1000);
    await ensure();
    expect(warnings[2]).toMatch(/: it expired at /);
    expect(readFileSync(path('apiserver.key'), 'utf8')).toBe(pair.privateKeyPem);
  });

  test.each([
    ['a key alone', { 'apiserver.key': 'mine' }, /only one of .*apiserver\.crt and .*apiserver\.key exists/],
    [
      'a text that is no certificate',
      { 'apiserver.crt': 'mine', 'apiserver.key': 'mine' },
      /apiserver\.crt: not a complete PEM/,
    ],
  ])('is an error that names the file, and stays: %s', async (_what, files, message) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(path(name), text);
    await expect(ensure()).rejects.toThrow(message);
    for (const [name, text] of Object.entries(files)) expect(readFileSync(path(name), 'utf8')).toBe(text);
  });
});

test.each(['apiserver.key', 'ca.crt and ca.key'])('an issued certificate without %s is issued again', async (gone) => {
  const options = { folder, name: 'apiserver', hosts: ['localhost'] };
  const { certificateFile } = await ensureServingCertificate(options);
  const first = readFileSync(certificateFile, 'utf8');
  for (const name of gone.split(' and ')) rmSync(join(folder, name));
  await ensureServingCertificate(options);
  expect(readFileSync(certificateFile, 'utf8')).not.toBe(first);
});

test('serving hosts are those of the machine, the bind address and the URLs', () => {
  const hosts = servingHosts({
    bindAddress: '10.1.2.3',
    externalHostname: 'api.example.org',
    urls: ['https://shard.example.org:6444', undefined, 'https://[::1]:6443'],
  });
  expect(hosts).toEqual(
    expect.arrayContaining(['localhost', '127.0.0.1', '10.1.2.3', 'api.example.org', 'shard.example.org']),
  );
  expect(hosts.filter((host) => host === '::1')).toHaveLength(1);
  expect(servingHosts({ bindAddress: '0.0.0.0' })).not.toContain('0.0.0.0');
});
