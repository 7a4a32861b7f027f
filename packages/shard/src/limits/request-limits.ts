import { statusErrors } from '@multiplane/apimachinery';
import { completed } from '@multiplane/apiserver';
import type { EffectiveLimits, LimitName } from '@multiplane/apis';
import { connectionHeader, type Clock } from '@multiplane/component-base';
import type { Handler, RequestContext } from '@multiplane/generic-server';
import { isPrivileged } from '../admission/workspace-admission.ts';
import type { Activity, ClusterActivity } from './cluster-activity.ts';
import type { WorkspaceLimits } from './workspace-limits.ts';

interface Modules {
  readonly activity: ClusterActivity;
  readonly limits: WorkspaceLimits;
  readonly clock: Clock;
}

/** How many seconds' requests may start at once. */
const burstSeconds = 5;

/**
 * Counts the requests for resources of each logical cluster, and the connections that they are from, and refuses with 429
 * those that exceed its limits. It runs after authorization, so that a user without rights in a workspace cannot use up what
 * that may do. Requests of the system (other shards, `system:masters`) are counted and not refused; those over all logical
 * clusters are neither.
 *
 * Requests per second: a token bucket with the tokens of some seconds, so that what starts many requests at once and then few,
 * as a controller with hundreds of informers does, is not refused.
 */
export function withRequestLimits(modules: Modules, next: Handler): Handler {
  const { activity, limits, clock } = modules;
  return (context) => {
    const { cluster, verb } = context.info;
    if (cluster === undefined || cluster === '*') return next(context);
    const own = activity.of(cluster);
    own.requests++;
    const refuse = (name: LimitName, used: number): never => {
      throw statusErrors.tooManyRequests(limits.exceeded(cluster, name, { used, requested: 1 }), 1);
    };
    const isWatch = verb === 'watch';
    // Set by authentication.
    const connection = context.exchange.headers[connectionHeader] as string;
    const now = clock.monotonic();
    if (!isPrivileged(context.user)) checkLimits(limits.of(cluster), own, { isWatch, connection, now }, refuse);
    own.requestRate.add(now, 1);
    if (isWatch) own.watches++;
    else own.inFlight++;
    own.connections.requestStarted(connection);
    return whenEnded(next, context, () => {
      if (isWatch) own.watches--;
      else own.inFlight--;
      own.connections.requestEnded(connection);
    });
  };
}

function checkLimits(
  { watches, connections, requestsInFlight, requestsPerSecond }: EffectiveLimits,
  own: Activity,
  { isWatch, connection, now }: { readonly isWatch: boolean; readonly connection: string; readonly now: number },
  refuse: (name: LimitName, used: number) => never,
): void {
  if (isWatch && own.watches >= watches.max) refuse('watches', own.watches);
  if (!isWatch && own.inFlight >= requestsInFlight.max) refuse('requestsInFlight', own.inFlight);
  const open = own.connections.size;
  if (open >= connections.max && !own.connections.has(connection)) refuse('connections', open);
  const { max } = requestsPerSecond;
  if (own.requestTokens.refill(now, max, burstSeconds) < 1) refuse('requestsPerSecond', max);
  own.requestTokens.take(1);
}

/** Calls `ended` when the handler has responded; at once if it did so synchronously or threw. */
function whenEnded(next: Handler, context: RequestContext, ended: () => void): Promise<void> {
  let handled: Promise<void>;
  try {
    handled = next(context);
  } catch (error) {
    ended();
    throw error;
  }
  if (handled === completed) {
    ended();
    return handled;
  }
  return handled.finally(ended);
}
