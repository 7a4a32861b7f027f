declare const completed: unique symbol;

/**
 * Completed and validated options, as `CompletedOptions` in kube-apiserver. Only the `complete` function of a server's
 * `options.ts` creates them, with {@link markCompleted}.
 */
export type Completed<T> = T & { readonly [completed]: true };

/** Only for the end of a `complete` function. */
export function markCompleted<T extends object>(options: T): Completed<T> {
  return Object.freeze(options) as Completed<T>;
}
