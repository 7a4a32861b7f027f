/** A shared promise for endpoints that have responded before they return. */
export const completed: Promise<void> = Promise.resolve();
