import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeFileAtomic } from '../files/write-file-atomic.ts';
import type { Certificate, CertificateFiles } from './certificate.ts';
import { checkPair } from './certificate-watcher.ts';
import { CertificateAuthority, type CertificateAuthorityModules } from './certificate-authority.ts';

/** Reads a stored pair; undefined when neither file exists. Throws when only one of them does. */
export async function readCertificate(files: CertificateFiles): Promise<Certificate | undefined> {
  const [certificatePem, privateKeyPem] = await Promise.all([
    readIfPresent(files.certificateFile),
    readIfPresent(files.privateKeyFile),
  ]);
  if (certificatePem === undefined && privateKeyPem === undefined) return undefined;
  if (certificatePem === undefined || privateKeyPem === undefined) {
    throw new Error(
      `only one of ${files.certificateFile} and ${files.privateKeyFile} exists; restore the other or remove it`,
    );
  }
  return { certificatePem, privateKeyPem };
}

/** Stores a pair, the key first, so that a crash in between leaves no certificate without its key. */
export async function writeCertificate(files: CertificateFiles, pem: Certificate): Promise<void> {
  await mkdir(dirname(files.privateKeyFile), { recursive: true, mode: 0o700 });
  await mkdir(dirname(files.certificateFile), { recursive: true, mode: 0o700 });
  await writeFileAtomic(files.privateKeyFile, pem.privateKeyPem, 0o600);
  await writeFileAtomic(files.certificateFile, pem.certificatePem, 0o644);
}

/** The CA in these files; created and stored when they do not exist. Throws an Error that names a broken file. */
export async function ensureAuthority(
  options: CertificateFiles & { readonly commonName: string; readonly days?: number | undefined },
  modules: CertificateAuthorityModules = {},
): Promise<CertificateAuthority> {
  const stored = await readCertificate(options);
  if (stored !== undefined) {
    checkPair(stored, options);
    return CertificateAuthority.load(stored, modules);
  }
  const authority = await CertificateAuthority.create({ commonName: options.commonName, days: options.days }, modules);
  await writeCertificate(options, authority.pem);
  return authority;
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`cannot read ${path}`, { cause: error });
  }
}
