/** Something that runs as long as the process: a listener, a cache, a controller. */
export interface Runnable {
  readonly name: string;
  /** Resolves when it does its work. Not called twice. */
  start(): Promise<void>;
  /** Resolves when it has finished what it had begun. Called once, also when `start` failed. */
  stop(): Promise<void>;
  /** Settles when it ends by itself, which is a fault whether or not there is an error. Listeners may leave it out. */
  readonly ended?: Promise<void> | undefined;
}

/**
 * A loop as a runnable. `run` works until its signal aborts and calls `ready` when it has caught up;
 * returning or throwing earlier than that is a fault of the process.
 */
export function loop(name: string, run: (signal: AbortSignal, ready: () => void) => Promise<void>): Runnable {
  const controller = new AbortController();
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  // Whoever never looks at `ended` must not die of an unhandled rejection: `start` throws the same error.
  ended.promise.catch(() => {});
  let finished: Promise<void> = Promise.resolve();
  return {
    name,
    ended: ended.promise,
    start() {
      finished = run(controller.signal, ready.resolve).then(
        () => ended.resolve(),
        (error: unknown) => {
          // A loop that throws the abort reason when it is stopped ends as it should.
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
