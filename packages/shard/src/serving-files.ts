import { createPrivateKey, generateKeyPairSync, type KeyObject, type X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { watchServingCertificate, type ServingCertificate } from '@multiplane/apiserver';
import {
  ensureOwnAuthority,
  ensureServingCertificate,
  servingHosts,
  writeFileAtomic,
  type CertificateWatcher,
  type Watched,
} from '@multiplane/component-base';
import { readOptionFile, type ShardOptions } from './options.ts';

/** Certificates and keys a shard serves and trusts with, as their files say now. */
export interface ServingFiles {
  readonly serving: Watched<ServingCertificate>;
  /** What clients verify the server with (PEM). */
  readonly rootCa: Watched<string>;
  /** Whose client certificates are accepted. */
  readonly clientAuthorities: Watched<readonly X509Certificate[]>;
  /** Of the proxies that may say who makes a request; absent: nobody may. */
  readonly proxyAuthorities?: Watched<readonly X509Certificate[]> | undefined;
  /** Read once: tokens that were signed with it must stay good. */
  readonly serviceAccountKey: KeyObject;
}

/**
 * Reads or makes what is needed, below the root directory: a CA for serving (`ca.crt`), one for clients
 * (`client-ca.crt`), the serving certificate (`apiserver.crt`) and the key of service account tokens (`sa.key`). The two
 * CAs are apart so that a serving certificate never authenticates anybody.
 */
export async function prepareServingFiles(
  options: ShardOptions,
  { watcher }: { readonly watcher: CertificateWatcher },
): Promise<ServingFiles> {
  const { rootDirectory: folder, tlsCertFile, tlsPrivateKeyFile, requestheaderClientCaFile } = options;
  const serviceAccountKey = await prepareServiceAccountKey(options);
  const clientCaFile =
    options.clientCaFile ?? (await ensureOwnAuthority(folder, 'client-ca', 'multiplane client CA')).certificateFile;
  const pair =
    tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined
      ? { certificateFile: tlsCertFile, privateKeyFile: tlsPrivateKeyFile, authorityFile: tlsCertFile }
      : await ensureServingCertificate({
          folder,
          name: 'apiserver',
          hosts: servingHosts({ ...options, urls: [options.shardBaseUrl, options.shardExternalUrl] }),
        });
  const rootCaFile = options.rootCaFile ?? pair.authorityFile;
  return {
    serving: watchServingCertificate(
      {
        certificateFile: pair.certificateFile,
        privateKeyFile: pair.privateKeyFile,
        clientCaFiles: [clientCaFile, ...(requestheaderClientCaFile === undefined ? [] : [requestheaderClientCaFile])],
      },
      { watcher },
    ),
    rootCa: watcher.watch(rootCaFile, (readText) => readText(rootCaFile)),
    clientAuthorities: watcher.watchAuthorities(clientCaFile),
    proxyAuthorities:
      requestheaderClientCaFile === undefined ? undefined : watcher.watchAuthorities(requestheaderClientCaFile),
    serviceAccountKey,
  };
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
