import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import { OpenConnections } from './open-connections.ts';
import { RecentRate } from './recent-rate.ts';
import { TokenBucket } from './token-bucket.ts';
import { TurnQueue } from './turn-queue.ts';

/** The requests of one logical cluster. */
export interface Activity {
  /** Since the start. */
  requests: number;
  inFlight: number;
  watches: number;
  readonly connections: OpenConnections;
  /** Requests that may start. */
  readonly requestTokens: TokenBucket;
  /** Requests that wait because there are no tokens. */
  readonly turns: TurnQueue;
  /** Of requests that were not refused. */
  readonly requestRate: RecentRate;
  /** Cost units of CEL; below zero after expensive expressions. */
  readonly celTokens: TokenBucket;
  /** Of cost units of CEL. */
  readonly celRate: RecentRate;
}

/**
 * What the requests of each logical cluster amount to. Only requests that were authorized count, so there is a record for
 * logical clusters that exist, until {@link forget}.
 */
export class ClusterActivity {
  /** Requests in flight in all logical clusters together, without watches. */
  inFlight = 0;
  readonly #clock: Clock;
  readonly #activities = new Map<string, Activity>();

  constructor(modules: { readonly clock: Clock }) {
    this.#clock = modules.clock;
  }

  peek(cluster: LogicalClusterName): Activity | undefined {
    return this.#activities.get(cluster);
  }

  of(cluster: LogicalClusterName): Activity {
    let activity = this.#activities.get(cluster);
    if (activity === undefined) {
      const now = this.#clock.monotonic();
      activity = {
        requests: 0,
        inFlight: 0,
        watches: 0,
        connections: new OpenConnections(),
        requestTokens: new TokenBucket({ now }),
        turns: new TurnQueue(),
        requestRate: new RecentRate(),
        celTokens: new TokenBucket({ now }),
        celRate: new RecentRate(),
      };
      this.#activities.set(cluster, activity);
    }
    return activity;
  }

  /** Whether no requests of others are in flight. */
  isAlone(own: Activity): boolean {
    return own.inFlight === this.inFlight;
  }

  /** Drops the record of a logical cluster that does not exist any more. */
  forget(cluster: LogicalClusterName): void {
    this.#activities.delete(cluster);
  }
}
