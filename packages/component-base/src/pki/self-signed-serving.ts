import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../clock/clock.ts';
import type { CertificateFiles } from './certificate.ts';
import { parseCertificates } from './certificate-watcher.ts';
import { isUsable } from './is-usable.ts';

/** Loaded only when a certificate is issued: the library takes a tenth of a second to load. */
const loadIssuing = () => import('./stored-authority.ts');

/** The files of a server's own CA, `<name>.crt` and `<name>.key` in a folder; created when they do not exist. */
export async function ensureLocalAuthority(
  folder: string,
  name: string,
  commonName: string,
): Promise<CertificateFiles> {
  const files = { certificateFile: join(folder, `${name}.crt`), privateKeyFile: join(folder, `${name}.key`) };
  if (!existsSync(files.certificateFile) || !existsSync(files.privateKeyFile)) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await (await loadIssuing()).ensureAuthority({ ...files, commonName });
  }
  return files;
}

/**
 * The serving certificate of a server that is configured without one: signed by `ca.crt` in the same folder, reissued when
 * it lacks a host or expires within a month. Returns its files and that of the CA.
 */
export async function ensureServingCertificate(
  options: { readonly folder: string; readonly name: string; readonly hosts: readonly string[] },
  { clock = systemClock }: { readonly clock?: Clock } = {},
): Promise<CertificateFiles & { readonly authorityFile: string }> {
  const { folder, name, hosts } = options;
  const authority = await ensureLocalAuthority(folder, 'ca', 'multiplane serving CA');
  const files = { certificateFile: join(folder, `${name}.crt`), privateKeyFile: join(folder, `${name}.key`) };
  const result = { ...files, authorityFile: authority.certificateFile };
  if (
    existsSync(files.certificateFile) &&
    existsSync(files.privateKeyFile) &&
    isUsable(readCertificate(files.certificateFile), {
      authorityPem: readCertificate(authority.certificateFile),
      hosts,
      now: clock.now(),
    })
  )
    return result;
  const { ensureAuthority, writeCertificate } = await loadIssuing();
  const issuer = await ensureAuthority({ ...authority, commonName: 'multiplane serving CA' }, { clock });
  const leaf = await issuer.issueServer({
    commonName: 'multiplane',
    dnsNames: hosts.filter((host) => isIP(host) === 0),
    ipAddresses: hosts.filter((host) => isIP(host) !== 0),
  });
  await writeCertificate(files, leaf);
  return result;
}

/** The text of a file with certificates. Throws an Error that names it when it has none. */
function readCertificate(file: string): string {
  const text = readFileSync(file, 'utf8');
  parseCertificates(text, file);
  return text;
}

/** The names by which clients may reach a server: those of this machine, its bind address, and the hosts of its URLs. */
export function servingHosts(options: {
  readonly bindAddress: string;
  readonly externalHostname?: string | undefined;
  readonly urls?: readonly (string | undefined)[] | undefined;
}): string[] {
  const { bindAddress, externalHostname, urls = [] } = options;
  const isWildcard = bindAddress === '0.0.0.0' || bindAddress === '::' || isIP(bindAddress) === 0;
  const named = urls.flatMap((url) => (url === undefined ? [] : new URL(url).hostname.replace(/^\[|\]$/g, '')));
  return [
    ...new Set([
      'localhost',
      '127.0.0.1',
      '::1',
      hostname(),
      ...(isWildcard ? [] : [bindAddress]),
      ...(externalHostname === undefined ? [] : [externalHostname]),
      ...named,
    ]),
  ];
}
