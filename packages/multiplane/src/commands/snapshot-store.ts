import { existsSync, readFileSync } from 'node:fs';
import { OptionError, type OptionTable, type Watched } from '@multiplane/component-base';
import { openFileStorage, type Storage } from '@multiplane/storage';
import type { EtcdTls } from '@multiplane/storage/etcd';
import { storeDirectory } from './store-options.ts';

/** The flags that name a store which no running shard is asked for. */
export const directStoreOptionTable = {
  'root-directory': {
    type: 'text',
    description: 'Root directory of a stopped shard with an embedded store.',
  },
  'etcd-servers': { type: 'list', description: 'etcd endpoints, comma separated, of a shard on etcd.' },
  'etcd-prefix': { type: 'text', default: '/registry', description: 'Prefix of the keys of this shard in etcd.' },
  'etcd-cafile': { type: 'text', description: 'CA of the etcd servers.' },
  'etcd-certfile': { type: 'text', description: 'Client certificate for etcd.' },
  'etcd-keyfile': { type: 'text', description: 'Key of the client certificate for etcd.' },
} as const satisfies OptionTable;

export interface DirectStoreOptions {
  readonly rootDirectory: string | undefined;
  readonly etcdServers: readonly string[];
  readonly etcdPrefix: string;
  readonly etcdCafile: string | undefined;
  readonly etcdCertfile: string | undefined;
  readonly etcdKeyfile: string | undefined;
}

/** Opens the store in etcd. */
export async function openEtcd(options: DirectStoreOptions): Promise<Storage> {
  const { openEtcdStorage } = await import('@multiplane/storage/etcd');
  return openEtcdStorage({
    endpoints: [...options.etcdServers],
    prefix: options.etcdPrefix,
    tls: tlsOf(options),
    // The shard compacts; compaction must not end the read.
    compactionIntervalMs: 0,
  });
}

/** Opens the embedded store of a stopped shard. Throws StorageUnusableError while the shard runs. */
export async function openEmbedded(rootDirectory: string): Promise<Storage> {
  const directory = storeDirectory({ rootDirectory });
  if (!existsSync(directory)) throw new OptionError(`--root-directory: ${directory} does not exist`);
  return openFileStorage({ directory });
}

function tlsOf({ etcdCafile, etcdCertfile, etcdKeyfile }: DirectStoreOptions): Watched<EtcdTls> | undefined {
  if (etcdCafile === undefined) return undefined;
  const client =
    etcdCertfile === undefined || etcdKeyfile === undefined
      ? {}
      : { certificate: readFileSync(etcdCertfile), privateKey: readFileSync(etcdKeyfile) };
  return { current: { authority: readFileSync(etcdCafile), ...client }, onChange: () => undefined };
}
