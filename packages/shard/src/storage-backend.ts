import { join } from 'node:path';
import { MemoryStorage, openFileStorage, type Storage } from '@multiplane/storage';
import { readOptionFile, type ShardOptions } from './options.ts';

/** Opens the store that the flags name. Throws with what to do about it when it cannot be used. */
export async function openStorageBackend(options: ShardOptions): Promise<Storage> {
  switch (options.storageBackend) {
    case 'memory':
      return new MemoryStorage();
    case 'file':
      return openFileStorage({ directory: join(options.rootDirectory, 'data') });
    case 'etcd': {
      const { openEtcdStorage } = await import('@multiplane/storage/etcd');
      return openEtcdStorage({
        endpoints: [...options.etcdServers],
        prefix: options.etcdPrefix,
        ...(options.etcdCafile === undefined
          ? {}
          : {
              tls: {
                authority: Buffer.from(readOptionFile('etcd-cafile', options.etcdCafile)),
                ...clientPair(options),
              },
            }),
      });
    }
  }
}

function clientPair(options: ShardOptions): { certificate?: Buffer; privateKey?: Buffer } {
  if (options.etcdCertfile === undefined || options.etcdKeyfile === undefined) return {};
  return {
    certificate: Buffer.from(readOptionFile('etcd-certfile', options.etcdCertfile)),
    privateKey: Buffer.from(readOptionFile('etcd-keyfile', options.etcdKeyfile)),
  };
}
