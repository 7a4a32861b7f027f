/**
 * Waits for the promise or until the signal aborts, which yields undefined. Leaves no listener on the signal, which may live
 * as long as the process.
 */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const aborted = Promise.withResolvers<undefined>();
  const listener = (): void => aborted.resolve(undefined);
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', listener);
  }
}
