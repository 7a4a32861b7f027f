import type { Draining } from '../lifecycle/draining.ts';
import type { Filter } from '../request/request-context.ts';
import { writeText } from '../response/responses.ts';

/** Rejects requests with 429 while the server stops, except probes. Text and headers are those of kube-apiserver. */
export function withDraining(draining: Draining): Filter {
  return (next) => (context) => {
    if (!draining.hasBegun || isProbe(context.info.path)) return next(context);
    const { exchange } = context;
    exchange.setHeader('retry-after', '5');
    exchange.setHeader('connection', 'close');
    writeText(exchange, 429, 'The apiserver is shutting down, please try again later.\n');
    return Promise.resolve();
  };
}

/** Health and metrics paths, which are served in every state of the server. */
export const isProbe = (path: string): boolean =>
  path === '/metrics' || path.startsWith('/readyz') || path.startsWith('/livez') || path.startsWith('/healthz');
