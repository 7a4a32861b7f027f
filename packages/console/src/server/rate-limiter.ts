import type { Clock } from '@multiplane/component-base';

export interface RateLimiterOptions {
  readonly burst: number;
  readonly perSecond: number;
  /** Sources that are remembered; the one that was seen longest ago is forgotten first. */
  readonly maxSources: number;
}

/** A token bucket per source of log-ins. */
export class RateLimiter {
  readonly #options: RateLimiterOptions;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(options: RateLimiterOptions, modules: { readonly clock: Pick<Clock, 'monotonic'> }) {
    this.#options = options;
    this.#clock = modules.clock;
  }

  /** Takes a token. Returns the seconds to wait, 0 if the source may go on. */
  take(source: string): number {
    const { burst, perSecond, maxSources } = this.#options;
    const now = this.#clock.monotonic();
    const known = this.#buckets.get(source);
    const tokens = known === undefined ? burst : Math.min(burst, known.tokens + ((now - known.at) / 1000) * perSecond);
    this.#buckets.delete(source);
    this.#buckets.set(source, { tokens: tokens < 1 ? tokens : tokens - 1, at: now });
    if (this.#buckets.size > maxSources) {
      const [oldest] = this.#buckets.keys();
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    return tokens < 1 ? Math.ceil((1 - tokens) / perSecond) : 0;
  }
}
