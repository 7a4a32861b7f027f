import { existsSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { CertificateFiles } from '@multiplane/component-base';
import type { CacheServerOptions } from './options.ts';

/**
 * The files of the serving certificate: those of the flags, or a pair below the root directory with an authority of its
 * own (`ca.crt`), made when it is not there. Made once: whoever wants certificates that are renewed gives files.
 */
export async function servingCertificateFiles(options: CacheServerOptions): Promise<CertificateFiles> {
  const { rootDirectory, tlsCertFile, tlsPrivateKeyFile } = options;
  if (tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined)
    return { certificateFile: tlsCertFile, privateKeyFile: tlsPrivateKeyFile };
  const files = {
    certificateFile: join(rootDirectory, 'cache-server.crt'),
    privateKeyFile: join(rootDirectory, 'cache-server.key'),
  };
  if (existsSync(files.certificateFile) && existsSync(files.privateKeyFile)) return files;
  const { ensureAuthority, writeCertificate } = await import('@multiplane/component-base/pki');
  const authority = await ensureAuthority({
    commonName: 'multiplane cache server CA',
    certificateFile: join(rootDirectory, 'ca.crt'),
    privateKeyFile: join(rootDirectory, 'ca.key'),
  });
  const names = servingNames(options);
  const leaf = await authority.issueServer(
    {
      commonName: 'multiplane-cache-server',
      dnsNames: names.filter((name) => isIP(name) === 0),
      ipAddresses: names.filter((name) => isIP(name) !== 0),
    },
    servingDays,
  );
  await writeCertificate(files, leaf);
  return files;
}

const servingDays = 3650;

function servingNames({ bindAddress, externalHostname }: CacheServerOptions): string[] {
  const bound = isIP(bindAddress) !== 0 && bindAddress !== '0.0.0.0' && bindAddress !== '::' ? [bindAddress] : [];
  const external = externalHostname === undefined ? [] : [externalHostname];
  return [...new Set(['localhost', '127.0.0.1', '::1', hostname(), ...bound, ...external])];
}
