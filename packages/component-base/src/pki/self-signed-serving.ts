import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../clock/clock.ts';
import type { CertificateFiles } from './certificate.ts';
import { isPair, parseCertificates } from './certificate-watcher.ts';
import { isIssuedBy, isUsable, servingProblems } from './is-usable.ts';
import { foreignPair } from './issued-here.ts';
import { readIfPresent, readStoredPair } from './stored-pair.ts';

/** Loaded only when a certificate is issued: the library takes a tenth of a second to load. */
const loadIssuing = () => import('./stored-authority.ts');

const authorityName = 'multiplane serving CA';
const leafName = 'multiplane';

export interface ServingCertificateModules {
  readonly clock?: Clock | undefined;
  /** Called for a certificate of an administrator that clients may refuse. */
  readonly warn?: ((message: string, fields: { readonly file: string; readonly problem: string }) => void) | undefined;
}

/** The files of a server's own CA, `<name>.crt` and `<name>.key` in a folder; created when they do not exist. */
export async function ensureLocalAuthority(
  folder: string,
  name: string,
  commonName: string,
): Promise<CertificateFiles> {
  const files = filesOf(folder, name);
  if (!existsSync(files.certificateFile) || !existsSync(files.privateKeyFile)) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await (await loadIssuing()).ensureAuthority({ ...files, commonName });
  }
  return files;
}

/**
 * The serving certificate of a server that is configured without one, `<name>.crt` and `<name>.key` in a folder.
 *
 *   no files                  issued by the CA `ca.crt` of the folder, which is created when it does not exist
 *   issued by this function   kept, or reissued when it lacks a host or expires within a month
 *   any other pair            an administrator's: used as it is and never written (`MaybeDefaultWithSelfSignedCerts` of
 *                             k8s.io/apiserver/pkg/server/options); `warn` is called when hosts or dates do not fit
 *
 * Returns the files and that of the CA by which clients verify the server: `ca.crt` when it issued the certificate, else the
 * certificate file itself. Throws an Error that names the file when it cannot be read, when one file of the pair is missing, or when
 * key and certificate do not match.
 */
export async function ensureServingCertificate(
  options: { readonly folder: string; readonly name: string; readonly hosts: readonly string[] },
  { clock = systemClock, warn = () => undefined }: ServingCertificateModules = {},
): Promise<CertificateFiles & { readonly authorityFile: string }> {
  const { folder, name, hosts } = options;
  const files = filesOf(folder, name);
  const authorityFile = filesOf(folder, 'ca').certificateFile;
  const authorityPem = readIfPresent(authorityFile);
  const localAuthorities = authorityPem === undefined ? [] : parseCertificates(authorityPem, authorityFile);
  const stored = readStoredPair(files);
  const foreign = foreignPair(stored, files, { leafName, authorityName, localAuthorities });
  if (foreign !== undefined) {
    for (const problem of servingProblems(foreign.certificatePem, { hosts, now: clock.now() }))
      warn('clients may refuse the serving certificate, which this server did not issue and does not replace', {
        file: files.certificateFile,
        problem,
      });
    const leaf = new X509Certificate(foreign.certificatePem);
    const isOfAuthority = localAuthorities.some((authority) => isIssuedBy(leaf, authority));
    return { ...files, authorityFile: isOfAuthority ? authorityFile : files.certificateFile };
  }
  const authority = await ensureLocalAuthority(folder, 'ca', authorityName);
  const result = { ...files, authorityFile: authority.certificateFile };
  const criteria = { authorityPem: readFileSync(authority.certificateFile, 'utf8'), hosts, now: clock.now() };
  if (isPair(stored, files) && isUsable(stored.certificatePem, criteria)) return result;
  const { ensureAuthority, writeCertificate } = await loadIssuing();
  const issuer = await ensureAuthority({ ...authority, commonName: authorityName }, { clock });
  const issued = await issuer.issueServer({
    commonName: leafName,
    dnsNames: hosts.filter((host) => isIP(host) === 0),
    ipAddresses: hosts.filter((host) => isIP(host) !== 0),
  });
  await writeCertificate(files, issued);
  return result;
}

const filesOf = (folder: string, name: string): CertificateFiles => ({
  certificateFile: join(folder, `${name}.crt`),
  privateKeyFile: join(folder, `${name}.key`),
});

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
