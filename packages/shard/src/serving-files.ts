import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  checkPair,
  ensureLocalAuthority,
  ensureServingCertificate,
  OptionError,
  readVerificationKey,
  servingHosts,
  withOption,
  writeFileAtomic,
  type Certificate,
  type CertificateFiles,
  type CertificateWatcher,
  type Logger,
  type Watched,
} from '@multiplane/component-base';
import { type ServingCertificate, watchServingCertificate } from '@multiplane/generic-server';
import type { ShardOptions } from './options.ts';

/** Certificates, CAs and keys of a shard; all but the service account key follow their files. */
export interface ServingFiles {
  readonly serving: Watched<ServingCertificate>;
  /** CA bundle with which clients verify the server (PEM). */
  readonly rootCa: Watched<string>;
  /** CAs of accepted client certificates. */
  readonly clientAuthorities: Watched<readonly X509Certificate[]>;
  /** CAs of proxies that may send identity headers; undefined without `--requestheader-client-ca-file`. */
  readonly proxyAuthorities?: Watched<readonly X509Certificate[]> | undefined;
  /** CAs of the client certificates that workspaces issued. */
  readonly workspaceAuthorities: Watched<readonly X509Certificate[]>;
  /** The CA that signs such certificates here. */
  readonly workspaceSigningPair: Watched<Certificate>;
  /** Read once: a change would invalidate issued tokens. */
  readonly serviceAccountKey: KeyObject;
  /** Of `--service-account-key-file`: keys that verify tokens beside that one. */
  readonly serviceAccountVerificationKeys: readonly KeyObject[];
}

/**
 * Reads the files of the flags, or creates missing ones in the root directory: the serving CA (`ca.crt`), the client CA
 * (`client-ca.crt`), the CA of workspaces (`workspace-ca.crt`), the serving certificate (`apiserver.crt`) and the service account key (`sa.key`). The CAs are separate so
 * that a serving certificate cannot be used as a client certificate.
 */
export async function prepareServingFiles(
  options: ShardOptions,
  { watcher, logger }: { readonly watcher: CertificateWatcher; readonly logger: Pick<Logger, 'warn'> },
): Promise<ServingFiles> {
  const { rootDirectory: folder, tlsCertFile, tlsPrivateKeyFile, requestheaderClientCaFile } = options;
  const serviceAccountKey = await prepareServiceAccountKey(options, watcher);
  const clientCaFile =
    options.clientCaFile ?? (await ensureLocalAuthority(folder, 'client-ca', 'multiplane client CA')).certificateFile;
  const signing = await signingFiles(options);
  const workspaceCaFile = options.workspaceClientCaFile ?? signing.certificateFile;
  const pair =
    tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined
      ? { certificateFile: tlsCertFile, privateKeyFile: tlsPrivateKeyFile, authorityFile: tlsCertFile }
      : await ensureServingCertificate(
          {
            folder,
            name: 'apiserver',
            hosts: servingHosts({ ...options, urls: [options.shardBaseUrl, options.shardExternalUrl] }),
          },
          { warn: logger.warn.bind(logger) },
        );
  const rootCaFile = options.rootCaFile ?? pair.authorityFile;
  return {
    serving: watchServingCertificate(
      {
        certificateFile: pair.certificateFile,
        privateKeyFile: pair.privateKeyFile,
        clientCaFiles: [
          clientCaFile,
          workspaceCaFile,
          ...(requestheaderClientCaFile === undefined ? [] : [requestheaderClientCaFile]),
        ],
      },
      { watcher },
    ),
    rootCa: watcher.watch(rootCaFile, (readText) => readText(rootCaFile)),
    clientAuthorities: watcher.watchAuthorities(clientCaFile),
    proxyAuthorities:
      requestheaderClientCaFile === undefined ? undefined : watcher.watchAuthorities(requestheaderClientCaFile),
    workspaceAuthorities: watcher.watchAuthorities(workspaceCaFile),
    workspaceSigningPair: withOption('cluster-signing-key-file', () =>
      watcher.watch('workspace signing CA', (readText) =>
        checkSigningPair(
          { certificatePem: readText(signing.certificateFile), privateKeyPem: readText(signing.privateKeyFile) },
          signing,
        ),
      ),
    ),
    serviceAccountKey,
    serviceAccountVerificationKeys: options.serviceAccountKeyFile.map((file) =>
      readVerificationKey('service-account-key-file', file),
    ),
  };
}

/** Throws an OptionError if only one file is configured. */
async function signingFiles(options: ShardOptions): Promise<CertificateFiles> {
  const { clusterSigningCertFile: certificateFile, clusterSigningKeyFile: privateKeyFile } = options;
  if (certificateFile !== undefined && privateKeyFile !== undefined) return { certificateFile, privateKeyFile };
  if (certificateFile !== undefined || privateKeyFile !== undefined)
    throw new OptionError('--cluster-signing-cert-file and --cluster-signing-key-file are required together');
  return ensureLocalAuthority(options.rootDirectory, 'workspace-ca', 'multiplane workspace client CA');
}

/** Throws an Error with the file at fault unless the pair can sign: otherwise each approved request would fail later. */
function checkSigningPair(pair: Certificate, files: CertificateFiles): Certificate {
  checkPair(pair, files);
  if (!new X509Certificate(pair.certificatePem).ca)
    throw new Error(`${files.certificateFile}: not the certificate of a CA`);
  const key = createPrivateKey(pair.privateKeyPem);
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new Error(`${files.privateKeyFile}: not an EC P-256 key`);
  // OpenSSL writes EC keys as SEC 1 by default, which the signer does not read.
  return { ...pair, privateKeyPem: String(key.export({ type: 'pkcs8', format: 'pem' })) };
}

async function prepareServiceAccountKey(options: ShardOptions, watcher: CertificateWatcher): Promise<KeyObject> {
  const given = options.serviceAccountPrivateKeyFile;
  const file = given ?? join(options.rootDirectory, 'sa.key');
  if (existsSync(file)) {
    if (given === undefined) return watcher.readPrivateKey(file);
    return withOption('service-account-private-key-file', () => watcher.readPrivateKey(file));
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await writeFileAtomic(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), 0o600);
  return privateKey;
}
