import type { EtcdClient } from './etcd-client.ts';
import { type EtcdKeys, markerKey } from './etcd-keys.ts';
import type { EtcdWatch } from './etcd-watch.ts';

/** How long the events of the store's own writes are waited for before a revision counts as somebody else's. */
const patienceMs = 100;

/**
 * Keeps watches of the whole store as far as etcd is.
 *
 * In an etcd that others write to, the revision moves without an event in the store's range, and a reader that waits until
 * its watch has reached a revision would wait for ever. Etcd can be asked for progress, but versions before 3.4.31 answer
 * with a revision that they have not delivered yet. An event cannot lie: when a revision was seen that a watch has not
 * reached shortly after, a hidden key in its range is written, and its event says that everything before has come.
 */
export class ProgressMarker {
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  readonly #watches = new Set<EtcdWatch>();
  #wanted = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(client: EtcdClient, keys: EtcdKeys) {
    this.#client = client;
    this.#keys = keys;
  }

  /** Watches that see the hidden keys, as long as they run. */
  add(watch: EtcdWatch): void {
    this.#watches.add(watch);
    if (this.#timer === undefined) this.#arm();
  }
  remove(watch: EtcdWatch): void {
    this.#watches.delete(watch);
  }

  /** Somebody was told this revision and may wait for it. */
  seen(revision: number): void {
    this.#wanted = Math.max(this.#wanted, revision);
    if (this.#timer === undefined) this.#arm();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#watches.clear();
  }

  #arm(): void {
    this.#timer = undefined;
    const wanted = this.#wanted;
    if (this.#isBehind(wanted)) this.#timer = setTimeout(() => void this.#mark(wanted), patienceMs).unref();
  }

  /** Only for what was wanted all the time: under steady load the watches are always a little behind the latest. */
  async #mark(wanted: number): Promise<void> {
    try {
      if (!this.#isBehind(wanted)) return;
      const request_put = { key: this.#keys.encode(markerKey), value: Buffer.alloc(0) };
      await this.#client.transaction({ success: [{ request_put }] });
    } catch {
      // Whoever waits asks again.
    } finally {
      this.#arm();
    }
  }

  #isBehind(wanted: number): boolean {
    for (const watch of this.#watches) if (watch.received < wanted) return true;
    return false;
  }
}
