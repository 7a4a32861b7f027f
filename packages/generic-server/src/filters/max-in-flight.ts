import { mastersGroup } from '@multiplane/apimachinery';
import type { RequestMetrics } from '../request-metrics.ts';
import { writeText } from '../responses.ts';
import { isLongRunning, type ServerRequestContext } from '../server-request-context.ts';

export interface MaxInFlightOptions {
  /** Requests at the same time that get, list or watch. */
  readonly maxReadOnly: number;
  /** All others. */
  readonly maxMutating: number;
}

/** Requests that are being worked on, by kind. */
export interface InFlight {
  readOnly: number;
  mutating: number;
}

type Handler = (context: ServerRequestContext) => Promise<void>;

/** Bounds what is worked on at the same time (K9.1). Long-running requests and system:masters do not count. */
export function withMaxInFlight(options: MaxInFlightOptions, metrics: RequestMetrics): (next: Handler) => Handler {
  const { inFlight } = metrics;
  const count = async (context: ServerRequestContext, next: Handler): Promise<void> => {
    const { info } = context;
    const kind = info.verb === 'get' || info.verb === 'list' || info.verb === 'watch' ? 'readOnly' : 'mutating';
    if (inFlight[kind] >= (kind === 'readOnly' ? options.maxReadOnly : options.maxMutating)) {
      metrics.terminated(context, 429);
      context.exchange.setHeader('retry-after', '1');
      writeText(context.exchange, 429, 'Too many requests, please try again later.\n');
      return;
    }
    inFlight[kind]++;
    try {
      await next(context);
    } finally {
      inFlight[kind]--;
    }
  };
  return (next) => (context) =>
    isLongRunning(context.info) || context.user.groups.includes(mastersGroup) ? next(context) : count(context, next);
}
