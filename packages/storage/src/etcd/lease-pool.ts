import type { EtcdClient } from './etcd-client.ts';

/** Maximum number of keys per lease; as in Kubernetes. */
const keysPerLease = 1000;
/** Writes share a lease within this fraction of its TTL, and at most a minute; the TTL is extended by the same time. */
const sharedFraction = 0.05;
const longestSharedSeconds = 60;

interface Lease {
  readonly id: string;
  readonly reusableUntil: number;
  keys: number;
}

/**
 * Leases for expiring keys. Thousands of Event objects with the same TTL would each need a lease, which is expensive for
 * etcd; so writes within a short time share a lease that lasts slightly longer (as in
 * k8s.io/apiserver/pkg/storage/etcd3/lease_manager.go).
 */
export class LeasePool {
  readonly #client: EtcdClient;
  readonly #leases = new Map<number, Promise<Lease>>();

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  /** The id of a lease with at least this TTL. */
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

  /** The lease expired in etcd: the next write gets a new one. */
  drop(ttlSeconds: number): void {
    this.#leases.delete(ttlSeconds);
  }

  async #grant(ttlSeconds: number): Promise<Lease> {
    const shared = Math.min(ttlSeconds * sharedFraction, longestSharedSeconds);
    const request = { TTL: Math.ceil(ttlSeconds + shared) };
    // Granting is retried: an unused lease expires by itself.
    const { ID: id } = await this.#client.read((ms) =>
      this.#client.lease.leaseGrant(request, this.#client.deadline(ms)),
    );
    return { id, reusableUntil: performance.now() + Math.max(shared, 0.1) * 1000, keys: 0 };
  }

  #forget(ttlSeconds: number, promise: Promise<Lease>): void {
    if (this.#leases.get(ttlSeconds) === promise) this.#leases.delete(ttlSeconds);
  }
}
