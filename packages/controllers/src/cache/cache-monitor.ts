import { errorText } from '@multiplane/apimachinery';
import { loop, type Clock, type Runnable } from '@multiplane/component-base';

/** The cache cannot be read or written. */
export interface CacheOutage {
  /** Time of the first failed check, in milliseconds since 1970. */
  readonly since: number;
  readonly reason: string;
}

export interface CacheMonitorModules {
  /** Rejects with the reason while this shard cannot publish objects or cannot read those of other shards. */
  readonly check: () => Promise<void>;
  readonly clock: Clock;
}

const intervalMs = 1_000;
/** An outage is reported when it has lasted so long: a restart of a cache server is none. */
const graceMs = 5_000;

/**
 * Observes whether this shard reaches the cache, for the conditions of all its CachedResources: one check per second and
 * process. An outage is reported after {@link graceMs} with the time of its first failure, its end at once.
 */
export class CacheMonitor {
  readonly runnable: Runnable;
  readonly #modules: CacheMonitorModules;
  readonly #listeners = new Set<() => void>();
  #outage: CacheOutage | undefined;
  #failure: CacheOutage | undefined;

  constructor(modules: CacheMonitorModules) {
    this.#modules = modules;
    this.runnable = loop('cache monitor', async (signal, ready) => {
      ready();
      while (!signal.aborted) {
        await this.#check();
        await modules.clock.sleep(intervalMs, signal).catch(() => undefined);
      }
    });
  }

  /** Undefined: the cache is reached. */
  get outage(): CacheOutage | undefined {
    return this.#outage;
  }

  /** Calls back when {@link outage} begins and ends. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  async #check(): Promise<void> {
    const { check, clock } = this.#modules;
    try {
      await check();
      this.#failure = undefined;
    } catch (error) {
      this.#failure ??= { since: clock.now(), reason: errorText(error) };
    }
    if (this.#failure !== undefined && clock.now() - this.#failure.since < graceMs) return;
    if (this.#outage === this.#failure) return;
    this.#outage = this.#failure;
    for (const listener of this.#listeners) listener();
  }
}
