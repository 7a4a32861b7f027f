import { join } from 'node:path';
import { errorText } from '@multiplane/apimachinery';
import {
  checkPair,
  logFailures,
  OptionError,
  parseCertificates,
  type CertificateWatcher,
  type Logger,
  type MetricsRegistry,
  type ReadText,
  type Watched,
} from '@multiplane/component-base';
import { MemoryStorage, openFileStorage, type Storage } from '@multiplane/storage';
import type { EtcdTls } from '@multiplane/storage/etcd';
import type { ShardOptions } from './options.ts';
import { etcdRequestMetrics } from './etcd-request-metrics.ts';
import { reportRecovery } from './report-recovery.ts';

/** Opens the storage backend of the flags. Throws OptionError for unusable flags. */
export async function openStorageBackend(
  options: ShardOptions,
  modules: { readonly certificates: CertificateWatcher; readonly logger: Logger; readonly registry: MetricsRegistry },
): Promise<Storage> {
  const { certificates, logger, registry } = modules;
  switch (options.storageBackend) {
    case 'memory':
      return new MemoryStorage();
    case 'file': {
      const { acceptDataLoss } = options;
      const store = await openFileStorage({ directory: join(options.rootDirectory, 'data'), acceptDataLoss });
      reportRecovery(store.recoveryReport, modules);
      return store;
    }
    case 'etcd': {
      const { openEtcdStorage } = await import('@multiplane/storage/etcd');
      return openEtcdStorage(
        {
          endpoints: [...options.etcdServers],
          prefix: options.etcdPrefix,
          tls: etcdTls(options, certificates),
        },
        { onWatchFailure: logFailures(logger, 'failed to watch etcd'), onRequest: etcdRequestMetrics(registry) },
      );
    }
  }
}

function etcdTls(
  { etcdCafile, etcdCertfile, etcdKeyfile }: ShardOptions,
  certificates: CertificateWatcher,
): Watched<EtcdTls> | undefined {
  if (etcdCafile === undefined) return undefined;
  const read = (readText: ReadText): EtcdTls => {
    const authority = readText(etcdCafile);
    parseCertificates(authority, etcdCafile);
    if (etcdCertfile === undefined || etcdKeyfile === undefined) return { authority: Buffer.from(authority) };
    const pair = checkPair(
      { certificatePem: readText(etcdCertfile), privateKeyPem: readText(etcdKeyfile) },
      { certificateFile: etcdCertfile, privateKeyFile: etcdKeyfile },
    );
    return {
      authority: Buffer.from(authority),
      certificate: Buffer.from(pair.certificatePem),
      privateKey: Buffer.from(pair.privateKeyPem),
    };
  };
  try {
    return certificates.watch('etcd', read);
  } catch (error) {
    throw new OptionError(`--etcd-cafile, --etcd-certfile, --etcd-keyfile: ${errorText(error)}`, { cause: error });
  }
}
