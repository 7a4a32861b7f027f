import { parseMicroTime, type DeepReadonly } from '@multiplane/apimachinery';
import type { InformerSource } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import type { ShardState } from './choose-shard.ts';
import { leases, loadAnnotation, shardOfLease, type Lease } from './kinds.ts';

interface ShardHealthOptions {
  readonly ownShard: string;
  /** The shard that keeps the leases. */
  readonly rootShard: string;
  /** A lease that did not change for so long is silent. */
  readonly silentAfterMs?: number | undefined;
}

interface Heard {
  readonly renewTime: string;
  /** Monotonic; undefined: it was silent already when it was first seen. */
  readonly at: number | undefined;
  readonly load: number;
}

/** Clocks of machines may differ by this much; a lease that is older at first sight is not the sign of life it was. */
const toleratedSkewMs = 5 * 60_000;

/**
 * Which shards live, by their Leases (new here; kcp takes all for alive, C16.1). Every shard renews its Lease in the
 * logical cluster `root`; from there it is replicated to all.
 *
 * Clocks of machines are never compared for more than a first look: a shard is silent when *this* process saw the same
 * renewal for {@link ShardHealthOptions.silentAfterMs}. When the root shard itself is silent, or the way from it, nobody
 * could renew or be heard: then silence says nothing, and all but the root shard count as alive. So neither an outage of
 * the root shard nor one of the cache server ends scheduling elsewhere.
 */
export class ShardHealth implements ShardState {
  readonly #options: Required<{ [K in keyof ShardHealthOptions]: NonNullable<ShardHealthOptions[K]> }>;
  readonly #clock: Clock;
  readonly #heard = new Map<string, Heard>();
  readonly #listeners: (() => void)[] = [];

  constructor(options: ShardHealthOptions, modules: { readonly informers: InformerSource; readonly clock: Clock }) {
    this.#options = { ...options, silentAfterMs: options.silentAfterMs ?? 20_000 };
    this.#clock = modules.clock;
    modules.informers.informer<Lease>(leases).addHandlers({
      added: (lease, reference) => this.#hear(shardOfLease(reference), lease),
      updated: (lease, _old, reference) => this.#hear(shardOfLease(reference), lease),
      deleted: (_old, reference) => {
        const shard = shardOfLease(reference);
        if (shard !== undefined) this.#heard.delete(shard);
      },
    });
  }

  /** True for a shard that may be given work. One that never had a Lease (somebody else's, or a new one) counts as alive. */
  isAlive(shard: string): boolean {
    const { ownShard, rootShard } = this.#options;
    if (shard === ownShard) return true;
    const silent = this.#isSilent(shard);
    return !silent || (shard !== rootShard && ownShard !== rootShard && this.#isSilent(rootShard));
  }

  /** Logical clusters on a shard, as it told last. */
  load(shard: string): number {
    return this.#heard.get(shard)?.load ?? 0;
  }

  onRelief(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #isSilent(shard: string): boolean {
    const heard = this.#heard.get(shard);
    if (heard === undefined) return false;
    return heard.at === undefined || this.#clock.monotonic() - heard.at > this.#options.silentAfterMs;
  }

  #hear(shard: string | undefined, lease: DeepReadonly<Lease>): void {
    if (shard === undefined) return;
    const renewTime = lease.spec?.renewTime ?? '';
    const load = Number(lease.metadata.annotations?.[loadAnnotation] ?? 0);
    const known = this.#heard.get(shard);
    const at =
      known === undefined
        ? this.#isRecent(renewTime)
          ? this.#clock.monotonic()
          : undefined
        : known.renewTime === renewTime
          ? known.at
          : this.#clock.monotonic();
    const relief = known !== undefined && (load < known.load || this.#isSilent(shard));
    this.#heard.set(shard, { renewTime, at, load: Number.isFinite(load) ? load : 0 });
    if (relief) for (const listener of this.#listeners) listener();
  }

  #isRecent(renewTime: string): boolean {
    const micros = parseMicroTime(renewTime);
    return micros !== undefined && Math.abs(this.#clock.now() - micros / 1000) < toleratedSkewMs;
  }
}
