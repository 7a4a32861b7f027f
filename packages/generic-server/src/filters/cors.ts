import type { Exchange } from '../server/exchange.ts';
import type { Filter } from '../request/request-context.ts';

const allowedMethods = 'POST, GET, OPTIONS, PUT, DELETE, PATCH';
const allowedHeaders =
  'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since';

/** Sets CORS headers for allowed origins and responds to preflight requests. Without origins it is omitted from the chain. */
export function withCors(allowedOrigins: readonly RegExp[]): Filter {
  if (allowedOrigins.length === 0) return (next) => next;
  return (next) => (context) =>
    respondToPreflight(context.exchange, allowedOrigins) ? Promise.resolve() : next(context);
}

/** Sets CORS headers for an allowed origin. Returns true if the request was a preflight and is responded to. */
export function respondToPreflight(exchange: Exchange, allowedOrigins: readonly RegExp[]): boolean {
  const { origin } = exchange.headers;
  if (typeof origin !== 'string' || !allowedOrigins.some((allowed) => allowed.test(origin))) return false;
  exchange.setHeader('access-control-allow-origin', origin);
  exchange.setHeader('access-control-allow-methods', allowedMethods);
  exchange.setHeader('access-control-allow-headers', allowedHeaders);
  exchange.setHeader('access-control-expose-headers', 'Date');
  exchange.setHeader('access-control-allow-credentials', 'true');
  if (exchange.method !== 'OPTIONS') return false;
  exchange.respond(204, '');
  return true;
}
