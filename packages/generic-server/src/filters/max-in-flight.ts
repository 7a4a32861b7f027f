import { mastersGroup } from '@multiplane/apimachinery';
import type { RequestMetrics } from '../request/request-metrics.ts';
import { writeText } from '../response/responses.ts';
import { isLongRunning, type ServerRequestContext } from '../request/server-request-context.ts';

export interface MaxInFlightOptions {
  /** Concurrent get, list and watch requests. */
  readonly maxReadOnly: number;
  /** All other concurrent requests. */
  readonly maxMutating: number;
}

type Handler = (context: ServerRequestContext) => Promise<void>;

/** Limits concurrent requests. Like in kube-apiserver, long-running requests and `system:masters` do not count. */
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
