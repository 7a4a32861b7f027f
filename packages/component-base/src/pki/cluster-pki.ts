import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { type Clock, systemClock } from '../clock/clock.ts';
import { writeFileAtomic } from '../files/write-file-atomic.ts';
import type { Certificate, CertificateFiles } from './certificate.ts';
import type { CertificateAuthority } from './certificate-authority.ts';
import { isPair, parseCertificates } from './certificate-watcher.ts';
import {
  type AuthorityName,
  authorityNames,
  type ClusterPkiOptions,
  plannedClients,
  plannedKubeconfigs,
  type PlannedKubeconfig,
  plannedServers,
} from './cluster-plan.ts';
import { isUsable, servingProblems, type UsabilityCriteria } from './is-usable.ts';
import { foreignPair } from './issued-here.ts';
import { ensureAuthority, writeCertificate } from './stored-authority.ts';
import { readPair, readStoredPair } from './stored-pair.ts';

export interface ClusterPkiModules {
  readonly clock?: Clock | undefined;
  /** Called once per file or pair with what was done. */
  readonly report?: ((state: PkiState, path: string) => void) | undefined;
  /** Called with a text about each file that was not made here and is kept although it does not fit. */
  readonly warn?: ((text: string) => void) | undefined;
  /** Merges a regenerated kubeconfig into the existing one, which users may have edited. */
  readonly renewKubeconfig?: ((before: string, made: string) => string) | undefined;
}
export type PkiState = 'made' | 'renewed' | 'kept';

/** The files of the pair `name` in a PKI folder. */
export function pairFiles(directory: string, name: string): CertificateFiles {
  return {
    certificateFile: join(directory, name, 'tls.crt'),
    privateKeyFile: join(directory, name, 'tls.key'),
  };
}

export function authorityFiles(directory: string, name: AuthorityName): CertificateFiles & { commonName: string } {
  return {
    commonName: `multiplane ${name}`,
    certificateFile: join(directory, `${name}.crt`),
    privateKeyFile: join(directory, `${name}.key`),
  };
}

/**
 * Creates all certificates, keys and kubeconfigs of a sharded installation in one folder. Idempotent: valid files are kept,
 * so that it can run again after a shard was added, or to renew certificates that expire within a month.
 *
 * A CA is never replaced, because all peers that trust it would break. A folder with only one file of a CA is an error.
 * A certificate or kubeconfig that was not made here is kept, with a warning when it does not fit.
 */
export async function initClusterPki(
  options: ClusterPkiOptions & { readonly renew?: boolean | undefined },
  {
    clock = systemClock,
    report = () => undefined,
    warn = () => undefined,
    renewKubeconfig = (_before, made) => made,
  }: ClusterPkiModules = {},
): Promise<void> {
  const { directory } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const authorities = new Map<AuthorityName, CertificateAuthority>();
  for (const name of authorityNames) {
    const files = authorityFiles(directory, name);
    const state = readPair(files) === undefined ? 'made' : 'kept';
    authorities.set(name, await ensureAuthority({ ...files, days: options.authorityDays }, { clock }));
    report(state, files.certificateFile);
  }
  const ensure = async (
    name: string,
    issuerName: AuthorityName,
    criteria: Omit<UsabilityCriteria, 'authorityPem' | 'now'>,
    issue: (issuer: CertificateAuthority) => Promise<Certificate>,
  ): Promise<void> => {
    const files = pairFiles(directory, name);
    const issuer = authorities.get(issuerName) as CertificateAuthority;
    const authorityPem = issuer.pem.certificatePem;
    const stored = readStoredPair(files);
    const { commonName: authorityName } = authorityFiles(directory, issuerName);
    const ownership = { authorityName, localAuthorities: parseCertificates(authorityPem, name) };
    const foreign = foreignPair(stored, files, ownership);
    if (foreign !== undefined) {
      for (const problem of servingProblems(foreign.certificatePem, { hosts: criteria.hosts ?? [], now: clock.now() }))
        warn(`${files.certificateFile} was not issued here and is kept, but ${problem}`);
      return report('kept', files.certificateFile);
    }
    const isValid =
      isPair(stored, files) && isUsable(stored.certificatePem, { ...criteria, authorityPem, now: clock.now() });
    if (isValid && options.renew !== true) return report('kept', files.certificateFile);
    await writeCertificate(files, await issue(issuer));
    report(stored.certificatePem === undefined ? 'made' : 'renewed', files.certificateFile);
  };
  for (const { name, authority: issuer, hosts } of plannedServers(options)) {
    await ensure(name, issuer, { hosts }, (authority) =>
      authority.issueServer(
        {
          commonName: name,
          dnsNames: hosts.filter((host) => isIP(host) === 0),
          ipAddresses: hosts.filter((host) => isIP(host) !== 0),
        },
        options.days,
      ),
    );
  }
  // The console gets this folder and no other: it holds no right of its own.
  const trusted = readFileSync(authorityFiles(directory, 'serving-ca').certificateFile, 'utf8');
  await writeFileAtomic(join(directory, 'console', 'ca.crt'), trusted, 0o644);
  for (const { name, authority: issuer, user, groups } of plannedClients) {
    await ensure(name, issuer, { subject: { user, groups } }, (authority) =>
      authority.issueClient({ user, groups }, options.days),
    );
  }
  await ensureServiceAccountKeys(directory, report);
  for (const planned of plannedKubeconfigs(options)) {
    const file = join(directory, planned.file);
    const made = kubeconfigText(directory, planned);
    const old = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
    if (old !== undefined && !isOwnKubeconfig(old, planned.client)) {
      warn(`${file} is not a kubeconfig that was made here; it is kept`);
      report('kept', file);
      continue;
    }
    const isEdited = planned.inline === true && old !== undefined && old !== made;
    const text = isEdited ? renewKubeconfig(old, made) : made;
    if (old !== text) await writeFileAtomic(file, text, 0o600);
    report(old === undefined ? 'made' : old === text ? 'kept' : 'renewed', file);
  }
}

/** The key pair of service account tokens, shared by all shards, so that each verifies the tokens of all. */
async function ensureServiceAccountKeys(
  directory: string,
  report: NonNullable<ClusterPkiModules['report']>,
): Promise<void> {
  const keyFile = join(directory, 'service-account.key');
  const publicFile = join(directory, 'service-account.pub');
  const state = existsSync(keyFile) ? 'kept' : 'made';
  if (state === 'made') {
    if (existsSync(publicFile)) throw new Error(`${publicFile} exists without its key; restore the key or remove it`);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await writeFileAtomic(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), 0o600);
  }
  const publicKey = createPublicKey(createPrivateKey(readFileSync(keyFile))).export({ type: 'spki', format: 'pem' });
  if (!existsSync(publicFile)) await writeFileAtomic(publicFile, publicKey, 0o644);
  report(state, keyFile);
}

/** JSON, which is valid YAML. Paths are relative to the folder of the file, so that the folder can be mounted anywhere. */
function kubeconfigText(directory: string, { client, contexts, inline }: PlannedKubeconfig): string {
  const base64 = (path: string): string => readFileSync(join(directory, path)).toString('base64');
  const [certificate, key, ca] = [`${client}/tls.crt`, `${client}/tls.key`, 'serving-ca.crt'];
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: Object.entries(contexts).map(([name, server]) => ({
      name,
      cluster: {
        server,
        ...(inline ? { 'certificate-authority-data': base64(ca) } : { 'certificate-authority': ca }),
      },
    })),
    users: [
      {
        name: client,
        user: inline
          ? { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) }
          : { 'client-certificate': certificate, 'client-key': key },
      },
    ],
    contexts: Object.keys(contexts).map((name) => ({ name, context: { cluster: name, user: client } })),
    'current-context': Object.keys(contexts)[0],
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

/** Whether a kubeconfig, as JSON or as YAML after an edit, has the user that is written to it here. */
const isOwnKubeconfig = (text: string, client: string): boolean =>
  new RegExp(String.raw`\bname"?: *"?${client}"?\s*[,}\n]`).test(text);
