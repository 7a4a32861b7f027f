import type { WatchFailureReporter } from '../watch-failure-reporter.ts';
import type { EtcdClient } from './etcd-client.ts';
import { isRevisionError } from './etcd-errors.ts';
import { compactionKey, type EtcdKeys } from './etcd-keys.ts';

export interface CompactorOptions {
  /** Milliseconds for which history is kept at least; twice that at most. */
  readonly intervalMs: number;
}

export interface CompactorModules {
  readonly client: EtcdClient;
  readonly keys: EtcdKeys;
  readonly watchFailures: WatchFailureReporter;
}

/**
 * Compacts etcd periodically; of all processes that share an etcd, one compacts per interval. The algorithm is that of
 * kube-apiserver (k8s.io/apiserver/pkg/storage/etcd3/compact.go).
 *
 * A hidden key holds the last recorded revision; its `version` is a counter. At every interval a process tries to write the
 * current revision, by compare-and-set on the version that it knows. The process that succeeds compacts to the revision
 * that it recorded before. A process that fails learns the version and the revision, and waits for the next interval. So
 * history is kept for at least one interval, whichever processes start and stop.
 */
export class Compactor {
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  /** Stops the periodic compaction. */
  readonly close: () => void;
  #known: { readonly version: number; readonly revision: number } = { version: 0, revision: 0 };

  constructor({ intervalMs }: CompactorOptions, { client, keys, watchFailures }: CompactorModules) {
    this.#client = client;
    this.#keys = keys;
    this.close = watchFailures.runPeriodically(intervalMs, () => this.compactOnce(), client.closed);
  }

  /** Returns the revision that was compacted; 0 when another process was first or there is nothing to compact. */
  async compactOnce(): Promise<number> {
    const { version, revision: previous } = this.#known;
    const key = this.#keys.encode(compactionKey);
    const now = await this.#client.range({ ...this.#keys.hidden, count_only: true });
    const current = now.header.revision;
    const { succeeded, responses } = await this.#client.transaction({
      compare: { key, target: 'Version', version },
      success: [{ request_put: { key, value: Buffer.from(String(current)) } }],
      failure: [{ request_range: { key } }],
    });
    if (!succeeded) {
      const found = responses[0]?.response_range?.kvs[0];
      this.#known = { version: found?.version ?? 0, revision: Number(found?.value.toString() ?? 0) };
      return 0;
    }
    this.#known = { version: version + 1, revision: current };
    if (previous === 0) return 0;
    try {
      await this.#client.compact(previous);
    } catch (error) {
      // Another process has compacted a later revision.
      if (!isRevisionError(error)) throw error;
    }
    return previous;
  }
}
