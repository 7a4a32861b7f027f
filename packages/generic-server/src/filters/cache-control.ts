import type { Filter } from '../request/request-context.ts';

/** Set before a handler runs, and so the header of every response whose handler sets none. */
export const defaultCacheControl = 'no-cache, private';

/** Forbids shared caches to store responses, as kube-apiserver does. Endpoints may override the header. */
export const withCacheControl: Filter = (next) => (context) => {
  context.exchange.setHeader('cache-control', defaultCacheControl);
  return next(context);
};
