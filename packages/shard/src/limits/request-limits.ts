import { statusErrors } from '@multiplane/apimachinery';
import { completed } from '@multiplane/apiserver';
import type { EffectiveLimits, LimitName } from '@multiplane/apis';
import { connectionHeader, type Clock } from '@multiplane/component-base';
import type { FlowController, Handler, RequestContext } from '@multiplane/generic-server';
import { isPrivileged } from '../admission/workspace-admission.ts';
import type { Activity, ClusterActivity } from './cluster-activity.ts';
import type { RequestTurns } from './request-turns.ts';
import type { WorkspaceLimits } from './workspace-limits.ts';

interface Modules {
  readonly activity: ClusterActivity;
  readonly limits: WorkspaceLimits;
  readonly clock: Clock;
  readonly turns: Pick<RequestTurns, 'take'>;
  readonly flowControl: Pick<FlowController, 'pause' | 'resume'>;
}

/**
 * Counts the requests for resources of each logical cluster, and the connections that they are from. Those that exceed its
 * limits of open requests, watches and connections are refused with 429; those beyond its requests per second wait for their
 * turn ({@link RequestTurns}). It runs after authorization, so that a user without rights in a workspace cannot use up what
 * that may do. Requests of the system (other shards, `system:masters`) are counted and not limited; those over all logical
 * clusters are neither.
 */
export function withRequestLimits(modules: Modules, next: Handler): Handler {
  const { activity, limits, clock, turns } = modules;
  const start = (context: RequestContext, own: Activity): Promise<void> => {
    own.requestRate.add(clock.monotonic(), 1);
    return next(context);
  };
  const startInTurn = async (context: RequestContext, own: Activity, turn: Promise<void>): Promise<void> => {
    await withoutSeat(modules, context, turn);
    return start(context, own);
  };
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
    const isLimited = !isPrivileged(context.user);
    if (isLimited) checkLimits(limits.of(cluster), own, { isWatch, connection }, refuse);
    count(activity, own, isWatch, 1);
    own.connections.requestStarted(connection);
    const handle = (): Promise<void> => {
      const turn = isLimited ? turns.take(cluster, own, context) : undefined;
      return turn === undefined ? start(context, own) : startInTurn(context, own, turn);
    };
    return whenEnded(handle, () => {
      count(activity, own, isWatch, -1);
      own.connections.requestEnded(connection);
    });
  };
}

/** A request that waits for its turn leaves its seat to others. */
async function withoutSeat({ flowControl }: Modules, context: RequestContext, turn: Promise<void>): Promise<void> {
  const { ticket } = context;
  // Others get a seat later: when their body is read.
  if (ticket?.state !== 'executing') return turn;
  flowControl.pause(ticket);
  await turn;
  await flowControl.resume(ticket, context);
}

function count(activity: ClusterActivity, own: Activity, isWatch: boolean, change: 1 | -1): void {
  if (isWatch) {
    own.watches += change;
  } else {
    own.inFlight += change;
    activity.inFlight += change;
  }
}

function checkLimits(
  { watches, connections, requestsInFlight }: EffectiveLimits,
  own: Activity,
  { isWatch, connection }: { readonly isWatch: boolean; readonly connection: string },
  refuse: (name: LimitName, used: number) => never,
): void {
  if (isWatch && own.watches >= watches.max) refuse('watches', own.watches);
  if (!isWatch && own.inFlight >= requestsInFlight.max) refuse('requestsInFlight', own.inFlight);
  const open = own.connections.size;
  if (open >= connections.max && !own.connections.has(connection)) refuse('connections', open);
}

/** Calls `ended` when the handler has responded; at once if it did so synchronously or threw. */
function whenEnded(handle: () => Promise<void>, ended: () => void): Promise<void> {
  let handled: Promise<void>;
  try {
    handled = handle();
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
