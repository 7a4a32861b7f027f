import type { Exchange } from '../exchange.ts';
import type { Filter } from '../request-context.ts';

const allowedMethods = 'POST, GET, OPTIONS, PUT, DELETE, PATCH';
const allowedHeaders =
  'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since';

/** Answers browsers of the allowed origins (K1.7). Without origins it is not there at all. */
export function withCors(allowedOrigins: readonly RegExp[]): Filter {
  if (allowedOrigins.length === 0) return (next) => next;
  return (next) => (context) =>
    answersPreflight(context.exchange, allowedOrigins) ? Promise.resolve() : next(context);
}

/** Tells a browser of an allowed origin what it may do; true when that is all it asked and the answer is given. */
export function answersPreflight(exchange: Exchange, allowedOrigins: readonly RegExp[]): boolean {
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
