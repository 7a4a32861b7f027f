import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../clock/clock.ts';
import type { CertificateFiles } from './certificate.ts';
import { isUsable } from './is-usable.ts';

/** Loaded only by a start that makes something: the library takes a tenth of a second. */
const making = () => import('./stored-authority.ts');

/**
 * The files of an authority of a server's own, `<name>.crt` and `<name>.key` in a folder; made when they are not there.
 */
export async function ensureOwnAuthority(folder: string, name: string, commonName: string): Promise<CertificateFiles> {
  const files = { certificateFile: join(folder, `${name}.crt`), privateKeyFile: join(folder, `${name}.key`) };
  if (!existsSync(files.certificateFile) || !existsSync(files.privateKeyFile)) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await (await making()).ensureAuthority({ ...files, commonName });
  }
  return files;
}

/**
 * A serving certificate that a server makes itself where it is given none: signed by `ca.crt` in the same folder, made
 * anew when it lacks a name or runs out within a month. Returns its files and the authority's.
 */
export async function ensureServingCertificate(
  options: { readonly folder: string; readonly name: string; readonly hosts: readonly string[] },
  { clock = systemClock }: { readonly clock?: Clock } = {},
): Promise<CertificateFiles & { readonly authorityFile: string }> {
  const { folder, name, hosts } = options;
  const authority = await ensureOwnAuthority(folder, 'ca', 'multiplane serving CA');
  const files = { certificateFile: join(folder, `${name}.crt`), privateKeyFile: join(folder, `${name}.key`) };
  const answer = { ...files, authorityFile: authority.certificateFile };
  const read = (file: string): string => readFileSync(file, 'utf8');
  if (
    existsSync(files.certificateFile) &&
    existsSync(files.privateKeyFile) &&
    isUsable(read(files.certificateFile), { authorityPem: read(authority.certificateFile), hosts, now: clock.now() })
  )
    return answer;
  const { ensureAuthority, writeCertificate } = await making();
  const issuer = await ensureAuthority({ ...authority, commonName: 'multiplane serving CA' }, { clock });
  const leaf = await issuer.issueServer({
    commonName: 'multiplane',
    dnsNames: hosts.filter((host) => isIP(host) === 0),
    ipAddresses: hosts.filter((host) => isIP(host) !== 0),
  });
  await writeCertificate(files, leaf);
  return answer;
}

/** The names that clients may use for a server: this machine's, the address it listens on, and those of its URLs. */
export function servingHosts(options: {
  readonly bindAddress: string;
  readonly externalHostname?: string | undefined;
  readonly urls?: readonly (string | undefined)[] | undefined;
}): string[] {
  const { bindAddress, externalHostname, urls = [] } = options;
  const everywhere = bindAddress === '0.0.0.0' || bindAddress === '::' || isIP(bindAddress) === 0;
  const named = urls.flatMap((url) => (url === undefined ? [] : new URL(url).hostname.replace(/^\[|\]$/g, '')));
  return [
    ...new Set([
      'localhost',
      '127.0.0.1',
      '::1',
      hostname(),
      ...(everywhere ? [] : [bindAddress]),
      ...(externalHostname === undefined ? [] : [externalHostname]),
      ...named,
    ]),
  ];
}
