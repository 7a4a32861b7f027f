declare const completed: unique symbol;

/**
 * Options that were completed and validated. Only the `complete` function of a server's `options.ts` makes them, with
 * {@link markCompleted}; what needs checked options asks for this type and cannot be given anything else.
 */
export type Completed<T> = T & { readonly [completed]: true };

/** Call it at the end of `complete`, and nowhere else. */
export function markCompleted<T extends object>(options: T): Completed<T> {
  return Object.freeze(options) as Completed<T>;
}
