import { createPrivateKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Certificate, CertificateWatcher, createLogger, parseOptions } from '@multiplane/component-base';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import { FakeClock, TempDir } from '@multiplane/testing';
import { completeShardOptions, shardOptionTable } from './options.ts';
import { prepareServingFiles, type ServingFiles } from './serving-files.ts';

const authority = (await CertificateAuthority.create({ commonName: 'signing' })).pem;
const other = (await CertificateAuthority.create({ commonName: 'other' })).pem;
const leaf = await (await CertificateAuthority.create({ commonName: 'client' })).issueClient({ user: 'alice' });

/** A CA that OpenSSL made. */
const p384: Certificate = {
  certificatePem: `-----BEGIN CERTIFICATE-----
MIIBrTCCATSgAwIBAgIUYv451uiE4suWBx9SKZznl84PjD4wCgYIKoZIzj0EAwIw
DTELMAkGA1UEAwwCY2EwIBcNMjYxMTI2MTIwOTA0WhgPMjEyNjExMDIxMjA5MDRa
MA0xCzAJBgNVBAMMAmNhMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAExi2CkTBWGF1/
8NpU0il/iVGWcvd+I4ue122VrQnUtK/V8/64C0jcqSluQrB0IkshbTRMd+PZ7W8m
oYjYH4Goy0MD6Hym14a89tO0ARTIy7EusDYRGJv9nLNBFqC/yIO0o1MwUTAdBgNV
HQ4EFgQUuOGpXkXMDgRzP0DbfsXUcx4n/awwHwYDVR0jBBgwFoAUuOGpXkXMDgRz
P0DbfsXUcx4n/awwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNnADBkAjAf
r2mJDVkcvqJjkwc2qoht+KRgCjJk3B6x90UaY9dRz3szOXCR7sX4iStfcoNGiDgC
MAIyar/gtb9bmxzAJISbX9WCWt4BYsWoUrIr8Xi+dDZBQaX92QYs63gfGr6TLFEE
jQ==
-----END CERTIFICATE-----
`,
  privateKeyPem: `-----BEGIN PRIVATE KEY-----
MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDB8TH4+iCBO/IwK2dTN
3sZNx4FfAMKgydTt4UYWvy925D9mN0lLhjKhwRqImNgbRXmhZANiAATGLYKRMFYY
XX/w2lTSKX+JUZZy934ji57XbZWtCdS0r9Xz/rgLSNypKW5CsHQiSyFtNEx349nt
byahiNgfgajLQwPofKbXhrz207QBFMjLsS6wNhEYm/2cs0EWoL/Ig7Q=
-----END PRIVATE KEY-----
`,
};

describe('the pair that signs certificates of workspaces', () => {
  let folder: TempDir;

  beforeEach(async () => {
    folder = await TempDir.create('serving-files');
  });
  afterEach(() => folder.remove());

  const prepare = (...args: string[]): Promise<ServingFiles> => {
    const logger = createLogger({ level: 'error', format: 'text' }, { write: () => undefined });
    const watcher = new CertificateWatcher({}, { clock: new FakeClock(), logger });
    const all = [`--root-directory=${folder.path}`, ...args];
    const options = completeShardOptions(parseOptions(shardOptionTable, { args: all }).values);
    return prepareServingFiles(options, { watcher, logger });
  };
  const write = ({ certificatePem, privateKeyPem }: Certificate, name = 'signing'): string[] => {
    writeFileSync(folder.join(`${name}.crt`), certificatePem);
    writeFileSync(folder.join(`${name}.key`), privateKeyPem, { mode: 0o600 });
    return [
      `--cluster-signing-cert-file=${folder.join(`${name}.crt`)}`,
      `--cluster-signing-key-file=${folder.join(`${name}.key`)}`,
    ];
  };
  test('is accepted with a key in PKCS#8 or SEC 1', async () => {
    const sec1 = String(createPrivateKey(authority.privateKeyPem).export({ type: 'sec1', format: 'pem' }));
    for (const privateKeyPem of [authority.privateKeyPem, sec1]) {
      const { workspaceSigningPair } = await prepare(...write({ ...authority, privateKeyPem }));
      expect(workspaceSigningPair.current.privateKeyPem.trim()).toBe(authority.privateKeyPem.trim());
    }
  });

  test.each([
    ['a broken key', { ...authority, privateKeyPem: 'no key' }, 'signing.key: not a private key in PEM'],
    [
      'the key of another',
      { ...authority, privateKeyPem: other.privateKeyPem },
      'signing.key: the private key does not',
    ],
    ['a key of another type', p384, 'signing.key: not an EC P-256 key'],
    ['a certificate of a client', leaf, 'signing.crt: not the certificate of a CA'],
  ])('is refused with %s, and the file named', async (_what, pair, message) => {
    await expect(prepare(...write(pair))).rejects.toThrow(message);
  });

  test('is refused in the root directory, too', async () => {
    await prepare();
    writeFileSync(folder.join('workspace-ca.key'), 'no key');
    await expect(prepare()).rejects.toThrow(`${folder.join('workspace-ca.key')}: not a private key in PEM`);
  });
});
