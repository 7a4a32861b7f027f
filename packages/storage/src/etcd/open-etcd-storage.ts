import type { Watched } from '@multiplane/component-base';
import { type WatchFailureModules, WatchFailureReporter } from '../watch-failure-reporter.ts';
import { Compactor } from './compactor.ts';
import { EtcdClient, type EtcdClientModules } from './etcd-client.ts';
import type { EtcdTls } from './transport/etcd-tls.ts';
import { EtcdKeys } from './etcd-keys.ts';
import { EtcdStorage } from './etcd-storage.ts';
import { EtcdWriter } from './etcd-writer.ts';
import { LeasePool } from './lease-pool.ts';
import { ProgressMarker } from './progress-marker.ts';

export interface EtcdStorageOptions {
  /** `http://host:port` or `https://host:port` of the members of one cluster. */
  readonly endpoints: readonly string[];
  /** Prepended to every key, so that several stores can share an etcd; default none. */
  readonly prefix?: string | undefined;
  /** When the certificates change, new connections replace the old ones. */
  readonly tls?: Watched<EtcdTls> | undefined;
  /** Milliseconds between compactions, for which history is kept at least; 5 minutes. 0: another component compacts. */
  readonly compactionIntervalMs?: number | undefined;
  /** Milliseconds until a request fails; 10 seconds. */
  readonly requestTimeoutMs?: number | undefined;
  /** The largest value that is sent; default 1.5 MiB, the default limit of etcd. */
  readonly maxValueBytes?: number | undefined;
}

/** Opens the store in etcd. Throws StorageUnavailableError when etcd does not respond. */
export async function openEtcdStorage(
  options: EtcdStorageOptions,
  modules: WatchFailureModules & EtcdClientModules = {},
): Promise<EtcdStorage> {
  const keys = new EtcdKeys(options.prefix ?? '');
  const client = new EtcdClient(
    { endpoints: options.endpoints, tls: options.tls, requestTimeoutMs: options.requestTimeoutMs ?? 10_000 },
    modules,
  );
  const leases = new LeasePool(client);
  const watchFailures = new WatchFailureReporter(modules);
  const storage = new EtcdStorage({
    client,
    keys,
    writer: new EtcdWriter(options.maxValueBytes ?? 1.5 * 2 ** 20, { client, keys, leases }),
    watchFailures,
    marker: new ProgressMarker(client, keys),
    compactor: new Compactor(
      { intervalMs: options.compactionIntervalMs ?? 5 * 60_000 },
      { client, keys, watchFailures },
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
