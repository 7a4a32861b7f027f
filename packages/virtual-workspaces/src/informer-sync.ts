/** Whether informers know the state of their servers. */
export function syncOf(informers: readonly { readonly synced: Promise<void> }[]): {
  readonly promise: Promise<void>;
  readonly done: boolean;
} {
  const state = { promise: Promise.all(informers.map(({ synced }) => synced)).then(() => {}), done: false };
  // Whoever waits hears of a failure; the state itself stays what it is.
  state.promise.then(
    () => (state.done = true),
    () => {},
  );
  return state;
}
