import type { Filter } from '../request-context.ts';

/** Answers belong to whoever asked; endpoints whose answers do not say so themselves (K1.3). */
export const withCacheControl: Filter = (next) => (context) => {
  context.exchange.setHeader('cache-control', 'no-cache, private');
  return next(context);
};
