/** The promise of an endpoint that has answered before it returned: one for all of them. */
export const answered: Promise<void> = Promise.resolve();
