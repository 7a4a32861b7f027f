import type { Clock } from '@multiplane/component-base';

/** Concurrent internal calls of one tenant whose webhooks respond quickly. */
const maxConcurrentCalls = 8;
/** A call that takes longer marks the tenant as slow for the following time. */
const slowMs = 500;
const slowForMs = 30_000;
const maxTenants = 4096;

interface Tenant {
  inFlight: number;
  slowUntil: number;
}

/**
 * Keeps webhooks of tenants from blocking the control plane: its controllers have few workers, which serve all tenants.
 * A tenant with slow webhooks gets one worker at a time; other calls fail and are retried with back-off.
 */
export class InternalCallLimiter {
  readonly #clock: Clock;
  readonly #tenants = new Map<string, Tenant>();

  constructor(modules: { readonly clock: Clock }) {
    this.#clock = modules.clock;
  }

  /** Returns a function that releases the slot; undefined if none is free. */
  tryAcquire(name: string): (() => void) | undefined {
    const start = this.#clock.monotonic();
    let tenant = this.#tenants.get(name);
    if (tenant === undefined) {
      if (this.#tenants.size >= maxTenants) this.#evictIdle(start);
      tenant = { inFlight: 0, slowUntil: Number.NEGATIVE_INFINITY };
      this.#tenants.set(name, tenant);
    }
    if (tenant.inFlight >= (tenant.slowUntil > start ? 1 : maxConcurrentCalls)) return undefined;
    tenant.inFlight++;
    return () => {
      const now = this.#clock.monotonic();
      tenant.inFlight--;
      if (now - start > slowMs) tenant.slowUntil = now + slowForMs;
      else if (tenant.inFlight === 0 && tenant.slowUntil <= now) this.#tenants.delete(name);
    };
  }

  /** Removes tenants without calls in flight. */
  #evictIdle(now: number): void {
    for (const [name, { inFlight, slowUntil }] of this.#tenants)
      if (inFlight === 0 && slowUntil <= now) this.#tenants.delete(name);
  }
}
