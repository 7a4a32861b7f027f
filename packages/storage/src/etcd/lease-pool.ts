import type { EtcdClient } from './etcd-client.ts';

/** Keys that one lease carries at most; as Kubernetes has it. */
const keysPerLease = 1000;
/** A lease is shared by writes within this part of its time, and a minute at most; it lasts so much longer. */
const sharedPart = 0.05;
const longestSharedSeconds = 60;

interface Lease {
  readonly id: string;
  readonly reusableUntil: number;
  keys: number;
}

/**
 * Leases for keys that expire. Thousands of events with the same time to live would each bring a lease, which etcd pays
 * for; so writes within a short time share one that lasts a little longer.
 */
export class LeasePool {
  readonly #client: EtcdClient;
  readonly #leases = new Map<number, Promise<Lease>>();

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  /** The id of a lease that lasts at least so long. */
  async lease(ttlSeconds: number): Promise<string> {
    for (;;) {
      let promise = this.#leases.get(ttlSeconds);
      if (promise === undefined) {
        promise = this.#grant(ttlSeconds);
        this.#leases.set(ttlSeconds, promise);
        promise.catch(() => this.#forget(ttlSeconds, promise as Promise<Lease>));
      }
      const lease = await promise;
      if (lease.keys < keysPerLease && performance.now() < lease.reusableUntil) {
        lease.keys++;
        return lease.id;
      }
      this.#forget(ttlSeconds, promise);
    }
  }

  /** etcd does not know a lease any more: the next write gets a new one. */
  drop(ttlSeconds: number): void {
    this.#leases.delete(ttlSeconds);
  }

  async #grant(ttlSeconds: number): Promise<Lease> {
    const shared = Math.min(ttlSeconds * sharedPart, longestSharedSeconds);
    const request = { TTL: Math.ceil(ttlSeconds + shared) };
    // A lease that nobody uses goes by itself, so granting may be tried again.
    const { ID: id } = await this.#client.read((_kv, options) => this.#client.lease.leaseGrant(request, options));
    return { id, reusableUntil: performance.now() + Math.max(shared, 0.1) * 1000, keys: 0 };
  }

  #forget(ttlSeconds: number, promise: Promise<Lease>): void {
    if (this.#leases.get(ttlSeconds) === promise) this.#leases.delete(ttlSeconds);
  }
}
