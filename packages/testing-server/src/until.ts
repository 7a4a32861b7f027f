import { systemClock, type Clock } from '@multiplane/component-base';

export interface UntilOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
}

const firstPauseMs = 5;
const longestPauseMs = 100;

/**
 * Repeats `attempt`, which contains the expectations of a test, until it does not throw, and returns its result. Throws the last
 * failure after `timeoutMs`, 10 s by default, and the reason of `signal` when that aborts.
 */
export async function until<T>(
  attempt: () => T | Promise<T>,
  { timeoutMs = 10_000, signal, clock = systemClock }: UntilOptions = {},
): Promise<T> {
  const deadline = clock.monotonic() + timeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await attempt();
    } catch (error) {
      if (clock.monotonic() + pauseMs > deadline) {
        const message = error instanceof Error ? error.message : String(error);
        throw new Error(`timed out after ${timeoutMs} ms: ${message}`, { cause: error });
      }
    }
    await clock.sleep(pauseMs, signal);
  }
}
