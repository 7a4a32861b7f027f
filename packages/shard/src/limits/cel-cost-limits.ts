import { statusErrors, type LogicalClusterName, type UserInfo } from '@multiplane/apimachinery';
import type { CelCosts } from '@multiplane/apis';
import type { Clock } from '@multiplane/component-base';
import { isPrivileged } from '../admission/workspace-admission.ts';
import type { ClusterActivity } from './cluster-activity.ts';
import type { WorkspaceLimits } from './workspace-limits.ts';

/** An object may cost half of the default limit per second, so that a bucket of one second has room for what is usual. */
const burstSeconds = 1;

/**
 * Limits the cost of CEL expressions per second and workspace by a token bucket that holds one second's units. What an
 * expression costs is known when it was evaluated, so it may overdraw the bucket; then writes that need expressions are
 * refused with 429 until the debt is refilled, unless no requests of other workspaces are in flight. Expressions that are aborted to be evaluated in a worker are charged there.
 */
export class CelCostLimits implements CelCosts {
  readonly #modules: { readonly activity: ClusterActivity; readonly limits: WorkspaceLimits; readonly clock: Clock };

  constructor(modules: {
    readonly activity: ClusterActivity;
    readonly limits: WorkspaceLimits;
    readonly clock: Clock;
  }) {
    this.#modules = modules;
  }

  check(cluster: LogicalClusterName, user: UserInfo): void {
    const { activity, limits, clock } = this.#modules;
    const { max } = limits.of(cluster).celCostPerSecond;
    if (max === Infinity || isPrivileged(user)) return;
    const own = activity.peek(cluster);
    if (own === undefined) return;
    const tokens = own.celTokens.refill(clock.monotonic(), max, burstSeconds);
    if (tokens > 0) return;
    // What costs nobody anything is not owed to those that come later.
    if (activity.isAlone(own)) {
      own.celTokens.forgive();
      return;
    }
    const used = Math.round(max - tokens);
    const seconds = Math.max(1, Math.ceil(-tokens / max));
    throw statusErrors.tooManyRequests(limits.exceeded(cluster, 'celCostPerSecond', { used, requested: 1 }), seconds);
  }

  charge(cluster: LogicalClusterName, units: number): void {
    const { activity, limits, clock } = this.#modules;
    if (units <= 0) return;
    const { celTokens, celRate } = activity.of(cluster);
    const now = clock.monotonic();
    celRate.add(now, units);
    celTokens.refill(now, limits.of(cluster).celCostPerSecond.max, burstSeconds);
    celTokens.take(units);
  }
}
