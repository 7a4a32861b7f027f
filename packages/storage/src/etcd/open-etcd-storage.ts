import type { Watched } from '@multiplane/component-base';
import { type InterruptionModules, Interruptions } from '../interruptions.ts';
import { Compactor } from './compactor.ts';
import { EtcdClient, type EtcdTls } from './etcd-client.ts';
import { EtcdKeys } from './etcd-keys.ts';
import { EtcdStorage } from './etcd-storage.ts';
import { EtcdWriter } from './etcd-writer.ts';
import { LeasePool } from './lease-pool.ts';
import { ProgressMarker } from './progress-marker.ts';

export interface EtcdStorageOptions {
  /** `http://host:port` or `https://host:port` of the members of one cluster. */
  readonly endpoints: readonly string[];
  /** Goes before every key, so that several stores can share one etcd; none unless told otherwise. */
  readonly prefix?: string | undefined;
  /** What changes there is shown on new connections, and the old ones are given up. */
  readonly tls?: Watched<EtcdTls> | undefined;
  /** Milliseconds between compactions, and how long history is kept at least; 5 minutes. 0: somebody else compacts. */
  readonly compactionIntervalMs?: number | undefined;
  /** How long etcd may take to answer; 10 seconds. */
  readonly requestTimeoutMs?: number | undefined;
  /** The largest value that is sent; 1.5 MiB is what etcd takes unless told otherwise. */
  readonly maxValueBytes?: number | undefined;
}

/** Opens the store in etcd. Throws StorageUnavailableError when etcd does not answer. */
export async function openEtcdStorage(
  options: EtcdStorageOptions,
  modules?: InterruptionModules,
): Promise<EtcdStorage> {
  const keys = new EtcdKeys(options.prefix ?? '');
  const client = new EtcdClient({
    endpoints: options.endpoints,
    tls: options.tls,
    requestTimeoutMs: options.requestTimeoutMs ?? 10_000,
  });
  const leases = new LeasePool(client);
  const interruptions = new Interruptions(modules);
  const storage = new EtcdStorage({
    client,
    keys,
    writer: new EtcdWriter(options.maxValueBytes ?? 1.5 * 2 ** 20, { client, keys, leases }),
    interruptions,
    marker: new ProgressMarker(client, keys),
    compactor: new Compactor(
      { intervalMs: options.compactionIntervalMs ?? 5 * 60_000 },
      { client, keys, interruptions },
    ),
  });
  try {
    await storage.currentRevision();
    return storage;
  } catch (error) {
    await storage.close();
    throw error;
  }
}
