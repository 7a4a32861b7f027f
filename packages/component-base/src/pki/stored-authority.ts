import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeFileAtomic } from '../files/write-file-atomic.ts';
import type { Certificate, CertificateFiles } from './certificate.ts';
import { checkPair } from './certificate-watcher.ts';
import { readPair } from './stored-pair.ts';
import { CertificateAuthority, type CertificateAuthorityModules } from './certificate-authority.ts';

/**
 * Stores a pair, the certificate first: after a crash in between the certificate tells whose it is, and is reissued, while a key
 * alone could be anybody's.
 */
export async function writeCertificate(files: CertificateFiles, pem: Certificate): Promise<void> {
  await mkdir(dirname(files.privateKeyFile), { recursive: true, mode: 0o700 });
  await mkdir(dirname(files.certificateFile), { recursive: true, mode: 0o700 });
  await writeFileAtomic(files.certificateFile, pem.certificatePem, 0o644);
  await writeFileAtomic(files.privateKeyFile, pem.privateKeyPem, 0o600);
}

/** The CA in these files; created and stored when they do not exist. Throws an Error that names a broken file. */
export async function ensureAuthority(
  options: CertificateFiles & { readonly commonName: string; readonly days?: number | undefined },
  modules: CertificateAuthorityModules = {},
): Promise<CertificateAuthority> {
  const stored = readPair(options);
  if (stored !== undefined) {
    checkPair(stored, options);
    return CertificateAuthority.load(stored, modules);
  }
  const authority = await CertificateAuthority.create({ commonName: options.commonName, days: options.days }, modules);
  await writeCertificate(options, authority.pem);
  return authority;
}
