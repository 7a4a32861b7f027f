import { createPrivateKey, generateKeyPairSync, X509Certificate, type KeyObject } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { writeFileAtomic, type Certificate } from '@multiplane/component-base';
import { readOptionFile, type ShardOptions } from './options.ts';

/** Certificates and keys a shard serves and trusts with; PEM. */
export interface ServingFiles {
  readonly certificate: string;
  readonly key: string;
  /** What clients verify the server with. */
  readonly rootCa: string;
  /** Whose client certificates are accepted. */
  readonly clientCa: string;
  /** Of the proxies that may say who makes a request; absent: nobody may. */
  readonly requestHeaderCa?: string | undefined;
  readonly serviceAccountKey: KeyObject;
}

const renewBeforeMs = 30 * 24 * 60 * 60 * 1000;

/**
 * Reads or makes what is needed, below the root directory: a CA for serving (`ca.crt`), one for clients
 * (`client-ca.crt`), the serving certificate (`apiserver.crt`) and the key of service account tokens (`sa.key`). The two
 * CAs are apart so that a serving certificate never authenticates anybody. A serving certificate that lacks a name or
 * runs out within a month is made anew.
 */
export async function prepareServingFiles(options: ShardOptions, now: number): Promise<ServingFiles> {
  const root = options.rootDirectory;
  const serviceAccountKey = await prepareServiceAccountKey(options);
  const clientCa =
    options.clientCaFile === undefined
      ? await authorityPem(authorityFiles(root, 'client-ca', 'multiplane client CA'))
      : readOptionFile('client-ca-file', options.clientCaFile);
  const requestHeaderCa =
    options.requestheaderClientCaFile === undefined
      ? undefined
      : readOptionFile('requestheader-client-ca-file', options.requestheaderClientCaFile);
  if (options.tlsCertFile !== undefined && options.tlsPrivateKeyFile !== undefined) {
    const certificate = readOptionFile('tls-cert-file', options.tlsCertFile);
    const rootCa = options.rootCaFile === undefined ? certificate : readOptionFile('root-ca-file', options.rootCaFile);
    return {
      certificate,
      key: readOptionFile('tls-private-key-file', options.tlsPrivateKeyFile),
      rootCa,
      clientCa,
      requestHeaderCa,
      serviceAccountKey,
    };
  }
  const authority = authorityFiles(root, 'ca', 'multiplane serving CA');
  const authorityCertificate = await authorityPem(authority);
  const leaf = await servingCertificate(
    join(root, 'apiserver'),
    authority,
    authorityCertificate,
    servingNames(options),
    now,
  );
  const rootCa =
    options.rootCaFile === undefined ? authorityCertificate : readOptionFile('root-ca-file', options.rootCaFile);
  return {
    certificate: leaf.certificatePem,
    key: leaf.privateKeyPem,
    rootCa,
    clientCa,
    requestHeaderCa,
    serviceAccountKey,
  };
}

type AuthorityFiles = ReturnType<typeof authorityFiles>;
/** Loaded only by a start that makes something. */
const pki = () => import('@multiplane/component-base/pki');

/** The certificate of a CA that lies below the root directory; the CA is made when it is not there. */
async function authorityPem(files: AuthorityFiles): Promise<string> {
  if (existsSync(files.certificateFile) && existsSync(files.privateKeyFile))
    return readFileSync(files.certificateFile, 'utf8');
  const { ensureAuthority } = await pki();
  return (await ensureAuthority(files)).pem.certificatePem;
}

/** The serving certificate as it lies there, or a new one. */
async function servingCertificate(
  path: string,
  authority: AuthorityFiles,
  authorityCertificate: string,
  names: readonly string[],
  now: number,
): Promise<Certificate> {
  const files = { certificateFile: `${path}.crt`, privateKeyFile: `${path}.key` };
  if (existsSync(files.certificateFile) && existsSync(files.privateKeyFile)) {
    const stored = {
      certificatePem: readFileSync(files.certificateFile, 'utf8'),
      privateKeyPem: readFileSync(files.privateKeyFile, 'utf8'),
    };
    if (isGood(stored.certificatePem, authorityCertificate, names, now)) return stored;
  }
  const { ensureAuthority, writeCertificate } = await pki();
  const issuer = await ensureAuthority(authority);
  const leaf = await issuer.issueServer({
    commonName: 'multiplane',
    dnsNames: names.filter((name) => isIP(name) === 0),
    ipAddresses: names.filter((name) => isIP(name) !== 0),
  });
  await writeCertificate(files, leaf);
  return leaf;
}

const authorityFiles = (root: string, name: string, commonName: string) => ({
  commonName,
  certificateFile: join(root, `${name}.crt`),
  privateKeyFile: join(root, `${name}.key`),
});

function servingNames(options: ShardOptions): string[] {
  const urls = [options.shardBaseUrl, options.shardExternalUrl]
    .filter((url) => url !== undefined)
    .map((url) => new URL(url).hostname);
  const bound =
    isIP(options.bindAddress) !== 0 && options.bindAddress !== '0.0.0.0' && options.bindAddress !== '::'
      ? [options.bindAddress]
      : [];
  const external = options.externalHostname === undefined ? [] : [options.externalHostname];
  return [...new Set(['localhost', '127.0.0.1', '::1', hostname(), ...bound, ...external, ...urls])];
}

function isGood(certificatePem: string, authorityPem: string, names: readonly string[], now: number): boolean {
  const certificate = new X509Certificate(certificatePem);
  const authority = new X509Certificate(authorityPem);
  return (
    Date.parse(certificate.validTo) > now + renewBeforeMs &&
    certificate.checkIssued(authority) &&
    names.every(
      (name) =>
        (isIP(name) === 0 ? certificate.checkHost(name, { subject: 'never' }) : certificate.checkIP(name)) !==
        undefined,
    )
  );
}

async function prepareServiceAccountKey(options: ShardOptions): Promise<KeyObject> {
  const given = options.serviceAccountPrivateKeyFile;
  const file = given ?? join(options.rootDirectory, 'sa.key');
  if (existsSync(file))
    return createPrivateKey(
      given === undefined ? readFileSync(file) : readOptionFile('service-account-private-key-file', given),
    );
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await writeFileAtomic(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), 0o600);
  return privateKey;
}
