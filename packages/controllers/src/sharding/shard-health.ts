import { parseMicroTime, type DeepReadonly } from '@multiplane/apimachinery';
import type { InformerSource } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import type { ShardState } from './choose-shard.ts';
import { leases, loadAnnotation, shardOfLease, type Lease } from './kinds.ts';

interface ShardHealthOptions {
  readonly ownShard: string;
  /** The shard that stores the Leases. */
  readonly rootShard: string;
  /** A Lease that was not renewed for this long is expired. */
  readonly expireAfterMs?: number | undefined;
}

interface ObservedLease {
  readonly renewTime: string;
  /** When the renewal was observed, monotonic; undefined if the Lease was expired when it was first observed. */
  readonly observedAt: number | undefined;
  readonly load: number;
}

/** Tolerated clock skew: a Lease that is older when it is first observed is expired. */
const maxClockSkewMs = 5 * 60_000;

/**
 * Liveness and load of shards from their Leases. Every shard renews its Lease in the logical cluster `root`, from where it
 * is replicated to all shards. kcp has no such check and schedules to every shard.
 *
 * A Lease is expired when this process has observed the same `renewTime` for {@link ShardHealthOptions.expireAfterMs}; the
 * clocks of machines are only compared when a Lease is first observed. While the Lease of the root shard is expired, no
 * renewal can be stored or replicated, so all other shards count as alive: an outage of the root shard or of the cache
 * server does not stop scheduling.
 */
export class ShardHealth implements ShardState {
  readonly #options: Required<{ [K in keyof ShardHealthOptions]: NonNullable<ShardHealthOptions[K]> }>;
  readonly #clock: Clock;
  readonly #observed = new Map<string, ObservedLease>();
  readonly #listeners: (() => void)[] = [];

  constructor(options: ShardHealthOptions, modules: { readonly informers: InformerSource; readonly clock: Clock }) {
    this.#options = { ...options, expireAfterMs: options.expireAfterMs ?? 20_000 };
    this.#clock = modules.clock;
    modules.informers.informer<Lease>(leases).addHandlers({
      added: (lease, reference) => this.#observe(shardOfLease(reference), lease),
      updated: (lease, _old, reference) => this.#observe(shardOfLease(reference), lease),
      deleted: (_old, reference) => {
        const shard = shardOfLease(reference);
        if (shard !== undefined) this.#observed.delete(shard);
      },
    });
  }

  /** Whether a shard may get new workspaces. A shard without a Lease counts as alive. */
  isAlive(shard: string): boolean {
    const { ownShard, rootShard } = this.#options;
    if (shard === ownShard) return true;
    const isExpired = this.#isExpired(shard);
    return !isExpired || (shard !== rootShard && ownShard !== rootShard && this.#isExpired(rootShard));
  }

  /** Number of logical clusters on a shard by its last observed Lease. */
  load(shard: string): number {
    return this.#observed.get(shard)?.load ?? 0;
  }

  onAvailable(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #isExpired(shard: string): boolean {
    const observed = this.#observed.get(shard);
    if (observed === undefined) return false;
    return (
      observed.observedAt === undefined || this.#clock.monotonic() - observed.observedAt > this.#options.expireAfterMs
    );
  }

  #observe(shard: string | undefined, lease: DeepReadonly<Lease>): void {
    if (shard === undefined) return;
    const renewTime = lease.spec?.renewTime ?? '';
    const load = Number(lease.metadata.annotations?.[loadAnnotation] ?? 0);
    const known = this.#observed.get(shard);
    let observedAt: number | undefined = this.#clock.monotonic();
    if (known === undefined && !this.#isRecent(renewTime)) observedAt = undefined;
    else if (known?.renewTime === renewTime) observedAt = known.observedAt;
    const isMoreAvailable = known !== undefined && (load < known.load || this.#isExpired(shard));
    this.#observed.set(shard, { renewTime, observedAt, load: Number.isFinite(load) ? load : 0 });
    if (isMoreAvailable) for (const listener of this.#listeners) listener();
  }

  #isRecent(renewTime: string): boolean {
    const micros = parseMicroTime(renewTime);
    return micros !== undefined && Math.abs(this.#clock.now() - micros / 1000) < maxClockSkewMs;
  }
}
