import type { Draining } from '../draining.ts';
import type { Filter } from '../request-context.ts';
import { writeText } from '../responses.ts';

/** Turns requests away while the server stops, except those that ask how it is (K1.3). */
export function withDraining(draining: Draining): Filter {
  return (next) => (context) => {
    if (!draining.begun || isProbe(context.info.path)) return next(context);
    const { exchange } = context;
    exchange.setHeader('retry-after', '5');
    exchange.setHeader('connection', 'close');
    writeText(exchange, 429, 'The apiserver is shutting down, please try again later.\n');
    return Promise.resolve();
  };
}

/** Questions about the server itself, which are answered whatever state it is in. */
export const isProbe = (path: string): boolean =>
  path === '/metrics' || path.startsWith('/readyz') || path.startsWith('/livez') || path.startsWith('/healthz');
