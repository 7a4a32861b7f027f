import type { EtcdClient } from './etcd-client.ts';
import { type EtcdKeys, markerKey } from './etcd-keys.ts';
import type { EtcdWatch } from './etcd-watch.ts';

/** Milliseconds to wait for the event of a revision before it is assumed to be of a write outside the store. */
const markDelayMs = 100;

/**
 * Advances watches of the whole store to the current revision of etcd.
 *
 * In an etcd with other writers the revision advances without an event in the range of the store, and a reader that waits
 * until its watch reaches a revision would wait for ever. etcd can send progress notifications on request, but versions
 * before 3.4.31 send revisions whose events they have not delivered yet. Events are reliable: when a watch has not reached
 * an observed revision after a short delay, a hidden key in its range is written, whose event proves that everything
 * before it was delivered.
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

  /** Adds a watch that receives the hidden keys. */
  add(watch: EtcdWatch): void {
    this.#watches.add(watch);
    if (this.#timer === undefined) this.#arm();
  }
  remove(watch: EtcdWatch): void {
    this.#watches.delete(watch);
  }

  /** A reader received this revision and may wait for it. */
  observed(revision: number): void {
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
    if (this.#isBehind(wanted)) this.#timer = setTimeout(() => void this.#mark(wanted), markDelayMs).unref();
  }

  /** Only when the revision was not reached for the whole delay: under constant load watches lag slightly behind. */
  async #mark(wanted: number): Promise<void> {
    try {
      if (!this.#isBehind(wanted)) return;
      const request_put = { key: this.#keys.encode(markerKey), value: Buffer.alloc(0) };
      await this.#client.transaction({ success: [{ request_put }] });
    } catch {
      // The next read of the current revision tries again.
    } finally {
      this.#arm();
    }
  }

  #isBehind(wanted: number): boolean {
    for (const watch of this.#watches) if (watch.received < wanted) return true;
    return false;
  }
}
