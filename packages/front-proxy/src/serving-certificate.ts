import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FrontProxyOptions } from './options.ts';

/** Makes a serving certificate for localhost below the root directory when none was given and none is there (C12.9). */
export async function ensureServingCertificate(options: FrontProxyOptions): Promise<void> {
  const { certificateFile, privateKeyFile, makesCertificate } = options;
  if (!makesCertificate || (existsSync(certificateFile) && existsSync(privateKeyFile))) return;
  await mkdir(options.rootDirectory, { recursive: true, mode: 0o700 });
  // Loaded only by a start that makes something.
  const { ensureAuthority, writeCertificate } = await import('@multiplane/component-base/pki');
  const authority = await ensureAuthority({
    commonName: 'multiplane front-proxy CA',
    certificateFile: join(dirname(certificateFile), 'ca.crt'),
    privateKeyFile: join(dirname(certificateFile), 'ca.key'),
  });
  const certificate = await authority.issueServer({
    commonName: 'front-proxy',
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1', '::1'],
  });
  await writeCertificate({ certificateFile, privateKeyFile }, certificate);
}
