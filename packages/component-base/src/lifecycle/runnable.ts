/** A part of a process that runs until shutdown: a listener, a cache, a controller. */
export interface Runnable {
  readonly name: string;
  /** Resolves once it is working. Called once. */
  start(): Promise<void>;
  /** Resolves once work in progress is finished. Called once, also when `start` failed. */
  stop(): Promise<void>;
  /** Settles when it ends without {@link stop}, which fails the process even without an error. Optional for listeners. */
  readonly ended?: Promise<void> | undefined;
}

/**
 * A loop as a runnable. `run` works until its signal aborts and calls `ready` once it has caught up; returning or throwing
 * before the signal aborts fails the process.
 */
export function loop(name: string, run: (signal: AbortSignal, ready: () => void) => Promise<void>): Runnable {
  const controller = new AbortController();
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  // Avoids an unhandled rejection when no caller awaits `ended`: `start` throws the same error.
  ended.promise.catch(() => {});
  let finished: Promise<void> = Promise.resolve();
  return {
    name,
    ended: ended.promise,
    start() {
      finished = run(controller.signal, ready.resolve).then(
        () => ended.resolve(),
        (error: unknown) => {
          // Throwing the abort reason is a regular end.
          if (controller.signal.aborted) ended.resolve();
          else ended.reject(error);
        },
      );
      return Promise.race([ready.promise, ended.promise]);
    },
    async stop() {
      controller.abort();
      await finished;
    },
  };
}
