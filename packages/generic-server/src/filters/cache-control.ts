import type { Filter } from '../request/request-context.ts';

/** Forbids shared caches to store responses, as kube-apiserver does. Endpoints may override the header. */
export const withCacheControl: Filter = (next) => (context) => {
  context.exchange.setHeader('cache-control', 'no-cache, private');
  return next(context);
};
