import { execFileSync } from 'node:child_process';
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TLSSocket, connect, createServer } from 'node:tls';
import { expect, test } from '@jest/globals';
import type { Certificate } from './certificate.ts';
import { CertificateAuthority } from './certificate-authority.ts';
import { ensureAuthority } from './stored-authority.ts';
import { readPair } from './stored-pair.ts';
import { certificateRequest, FakeClock } from '@multiplane/testing';

const authority = await CertificateAuthority.create({ commonName: 'multiplane test' });
const parse = (certificate: Certificate): X509Certificate => new X509Certificate(certificate.certificatePem);

test('a client certificate carries the user, every group and only the client usage', async () => {
  const leaf = parse(await authority.issueClient({ user: 'alice', groups: ['team-a', 'system:masters'] }));
  expect(leaf.subject.split('\n').sort()).toEqual(['CN=alice', 'O=system:masters', 'O=team-a']);
  expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
  expect(leaf.checkIssued(parse(authority.pem))).toBe(true);
  expect(leaf.verify(parse(authority.pem).publicKey)).toBe(true);
  expect(leaf.ca).toBe(false);
});

test('a serving certificate is valid for its names and addresses only', async () => {
  const leaf = parse(
    await authority.issueServer({ commonName: 'shard', dnsNames: ['localhost'], ipAddresses: ['127.0.0.1', '::1'] }),
  );
  expect(leaf.checkHost('localhost')).toBe('localhost');
  expect(leaf.checkIP('127.0.0.1')).toBe('127.0.0.1');
  expect(leaf.checkHost('example.org')).toBeUndefined();
  expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
});

test('refuses an invalid IP address', () => {
  expect(() => authority.issueServer({ commonName: 'x', ipAddresses: ['localhost'] })).toThrow('not an IP address');
});

test('a leaf does not outlive its CA', async () => {
  const clock = new FakeClock(Date.UTC(2030, 0, 1));
  const short = await CertificateAuthority.create({ commonName: 'short', days: 10 }, { clock });
  const leaf = parse(await short.issueClient({ user: 'u' }, 365));
  expect(new Date(leaf.validTo)).toEqual(new Date(parse(short.pem).validTo));
});

test('both sides of a TLS connection accept each other', async () => {
  const server = await authority.issueServer({ commonName: 'server', ipAddresses: ['127.0.0.1'] });
  const client = await authority.issueClient({ user: 'alice', groups: ['team'] });
  const listener = createServer({
    ca: authority.pem.certificatePem,
    cert: server.certificatePem,
    key: server.privateKeyPem,
    requestCert: true,
    rejectUnauthorized: true,
  }).listen(0, '127.0.0.1');
  try {
    await once(listener, 'listening');
    const accepted = once(listener, 'secureConnection') as Promise<[TLSSocket]>;
    const socket = connect({
      host: '127.0.0.1',
      port: (listener.address() as AddressInfo).port,
      ca: authority.pem.certificatePem,
      cert: client.certificatePem,
      key: client.privateKeyPem,
    });
    const [peer] = await accepted;
    expect(peer.getPeerCertificate().subject).toMatchObject({ CN: 'alice', O: 'team' });
    socket.destroy();
    peer.destroy();
  } finally {
    listener.close();
  }
});

test('a CA is stored once and loaded again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'multiplane-'));
  try {
    const files = {
      commonName: 'stored',
      certificateFile: join(folder, 'pki', 'ca.crt'),
      privateKeyFile: join(folder, 'pki', 'ca.key'),
    };
    expect(readPair(files)).toBeUndefined();
    const first = await ensureAuthority(files);
    const second = await ensureAuthority(files);
    expect(second.pem).toEqual(first.pem);
    expect((await stat(files.privateKeyFile)).mode & 0o777).toBe(0o600);
    const leaf = parse(await second.issueClient({ user: 'u' }));
    expect(leaf.verify(parse(first.pem).publicKey)).toBe(true);

    await rm(files.privateKeyFile);
    await expect(ensureAuthority(files)).rejects.toThrow('only one of');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test.each([
  ['RSA', ['rsa:2048']],
  ['EC P-384', ['ec', '-pkeyopt', 'ec_paramgen_curve:secp384r1']],
])("signs with an administrator's CA that has an %s key", async (_kind, newKey) => {
  const folder = await mkdtemp(join(tmpdir(), 'multiplane-'));
  try {
    const [key, certificate] = [join(folder, 'ca.key'), join(folder, 'ca.crt')];
    const request = ['req', '-x509', '-nodes', '-days', '30', '-subj', '/CN=corporate', '-newkey', ...newKey];
    execFileSync('openssl', [...request, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
    const corporate = await ensureAuthority({ commonName: 'x', certificateFile: certificate, privateKeyFile: key });
    const leaf = parse(await corporate.issueServer({ commonName: 'server', dnsNames: ['localhost'] }));
    expect(leaf.verify(parse(corporate.pem).publicKey)).toBe(true);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('refuses the key of another CA', async () => {
  const other = await CertificateAuthority.create({ commonName: 'other' });
  await expect(
    CertificateAuthority.load({
      certificatePem: authority.pem.certificatePem,
      privateKeyPem: other.pem.privateKeyPem,
    }),
  ).rejects.toThrow('does not belong');
});

test('names the file that cannot be read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'multiplane-'));
  try {
    await writeFile(join(folder, 'file'), '');
    await chmod(join(folder, 'file'), 0o600);
    const files = { certificateFile: join(folder, 'file', 'ca.crt'), privateKeyFile: join(folder, 'file', 'ca.key') };
    expect(() => readPair(files)).toThrow('cannot read');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('keys are PKCS #8 that Node reads', async () => {
  const { privateKeyPem } = await authority.issueClient({ user: 'u' });
  expect(createPrivateKey(privateKeyPem).asymmetricKeyDetails).toMatchObject({ namedCurve: 'prime256v1' });
});

test('a signed request keeps subject and key, and has the given name only', async () => {
  const { request, privateKey } = certificateRequest(
    [
      ['O', 'team'],
      ['CN', 'ann'],
    ],
    { uri: 'urn:wanted' },
  );
  const options = {
    uri: 'urn:given',
    keyUsages: ['digital signature'] as const,
    seconds: 600,
    checkSubject: (subject: object): void => expect(subject).toEqual({ commonName: 'ann', organizations: ['team'] }),
  };
  // Blank lines and headers are valid in PEM.
  for (const pem of [
    request,
    request.replace('-----\n', '-----\nComment: a\n\n').replace('\n-----END', '\n\n-----END'),
  ]) {
    const leaf = new X509Certificate(await authority.signClientRequest(pem, options));
    expect([leaf.subject, leaf.subjectAltName]).toEqual(['O=team\nCN=ann', 'URI:urn:given']);
    expect(leaf.checkPrivateKey(createPrivateKey(privateKey))).toBe(true);
    expect(leaf.verify(parse(authority.pem).publicKey)).toBe(true);
    expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
  }
  const der = Buffer.from(request.replaceAll(/-----[^-]*-----/g, ''), 'base64');
  der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1);
  const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----`;
  await expect(authority.signClientRequest(forged, options)).rejects.toThrow('is not signed by its key');
  const refuse = (): never => {
    throw new Error('refused');
  };
  await expect(authority.signClientRequest(request, { ...options, checkSubject: refuse })).rejects.toThrow('refused');
});
