import type { Clock } from '@multiplane/component-base';
import { LRUCache } from 'lru-cache';

/** The result of a lookup and the time for which it may be reused; 0: not at all. */
export interface LookupResult<T> {
  readonly value: T;
  readonly ttlMs: number;
}

/**
 * Caches the results of asynchronous lookups for a time that each result states. Concurrent lookups of a key share one call
 * and its failure; failures are not cached.
 */
export class SharedLookupCache<T> {
  readonly #clock: Clock;
  readonly #results: LRUCache<string, { readonly value: T; readonly expiresAt: number }>;
  readonly #pending = new Map<string, Promise<T>>();

  constructor(options: { readonly maxEntries: number }, modules: { readonly clock: Clock }) {
    this.#clock = modules.clock;
    this.#results = new LRUCache({ max: options.maxEntries });
  }

  get(key: string, lookup: () => Promise<LookupResult<T>>): Promise<T> {
    const result = this.#results.get(key);
    if (result !== undefined && result.expiresAt > this.#clock.monotonic()) return Promise.resolve(result.value);
    let pending = this.#pending.get(key);
    if (pending === undefined) {
      pending = this.#lookup(key, lookup).finally(() => this.#pending.delete(key));
      this.#pending.set(key, pending);
    }
    return pending;
  }

  async #lookup(key: string, lookup: () => Promise<LookupResult<T>>): Promise<T> {
    const { value, ttlMs } = await lookup();
    if (ttlMs > 0) this.#results.set(key, { value, expiresAt: this.#clock.monotonic() + ttlMs });
    return value;
  }
}
