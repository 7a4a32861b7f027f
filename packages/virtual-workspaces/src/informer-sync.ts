/** Tracks whether informers have synced. */
export function trackSync(informers: readonly { readonly synced: Promise<void> }[]): {
  readonly promise: Promise<void>;
  readonly done: boolean;
} {
  const state = { promise: Promise.all(informers.map(({ synced }) => synced)).then(() => {}), done: false };
  // Waiters see a failure; `done` stays false.
  state.promise.then(
    () => (state.done = true),
    () => {},
  );
  return state;
}
