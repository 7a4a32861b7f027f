import type { Runnable } from '@multiplane/component-base';

/**
 * Starts a runnable when `ready` resolves. The start of the result does not wait for it; a rejection ends the result with
 * the error.
 */
export function startedAfter(
  runnable: Runnable & { readonly ended: Promise<void> },
  ready: Promise<unknown>,
): Runnable {
  let isStopped = false;
  const failed = Promise.withResolvers<never>();
  let starting: Promise<void> = Promise.resolve();
  const ended = Promise.race([runnable.ended, failed.promise]);
  ended.catch(() => {});
  ready.catch(() => {});
  return {
    name: runnable.name,
    ended,
    async start() {
      starting = ready
        .then(async () => {
          if (!isStopped) await runnable.start();
        })
        .catch((error: unknown) => failed.reject(error));
    },
    async stop() {
      isStopped = true;
      // Does not wait for `ready`, which may never resolve.
      await Promise.race([starting, Promise.resolve()]);
      await runnable.stop();
    },
  };
}
