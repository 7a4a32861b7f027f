import type { Clock } from '@multiplane/component-base';

/** Calls of one tenant that may be under way, as long as its webhooks are quick. */
const mostCalls = 8;
/** A call that takes longer is slow, and so is whatever the tenant is called for in the time after. */
const slowMs = 500;
const slowForMs = 30_000;
const maxTenants = 4096;

interface Tenant {
  underWay: number;
  slowUntil: number;
}

/**
 * Keeps webhooks of tenants from holding up the control plane itself: its controllers have few workers, and those serve
 * everybody. A tenant whose webhooks are slow gets one worker at a time; the others go on with somebody else's work and
 * come back.
 */
export class InternalCalls {
  readonly #clock: Clock;
  readonly #tenants = new Map<string, Tenant>();

  constructor(modules: { readonly clock: Clock }) {
    this.#clock = modules.clock;
  }

  /** What ends the call; undefined: not now. */
  begin(name: string): (() => void) | undefined {
    const start = this.#clock.monotonic();
    let tenant = this.#tenants.get(name);
    if (tenant === undefined) {
      if (this.#tenants.size >= maxTenants) this.#forget(start);
      tenant = { underWay: 0, slowUntil: Number.NEGATIVE_INFINITY };
      this.#tenants.set(name, tenant);
    }
    if (tenant.underWay >= (tenant.slowUntil > start ? 1 : mostCalls)) return undefined;
    tenant.underWay++;
    return () => {
      const now = this.#clock.monotonic();
      tenant.underWay--;
      if (now - start > slowMs) tenant.slowUntil = now + slowForMs;
      else if (tenant.underWay === 0 && tenant.slowUntil <= now) this.#tenants.delete(name);
    };
  }

  /** Those of whom nothing is under way. */
  #forget(now: number): void {
    for (const [name, { underWay, slowUntil }] of this.#tenants)
      if (underWay === 0 && slowUntil <= now) this.#tenants.delete(name);
  }
}
