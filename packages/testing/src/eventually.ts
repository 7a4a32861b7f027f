import { setTimeout as wait } from 'node:timers/promises';
import { errorText } from '@multiplane/apimachinery';

export interface EventuallyOptions {
  /**
   * Milliseconds until the last failure is thrown. By default ten seconds less than a test may take: a machine that is slow
   * does not fail, and what never happens is reported with the last failure instead of with the time of the test.
   */
  readonly timeout?: number | undefined;
  /** Longest pause between two attempts in milliseconds; the first ones are shorter, and none is shorter than the attempt before it. */
  readonly interval?: number | undefined;
  /** Ends the wait early. */
  readonly signal?: AbortSignal | undefined;
}

/** Longer attempts have waited themselves. */
const longestAttemptMs = 300;

/**
 * Retries `attempt`, which contains the expectations of a test, until it does not throw, and returns its result. Throws the
 * last failure after the timeout.
 */
export async function eventually<T>(
  attempt: () => T | Promise<T>,
  { timeout = 50_000, interval = 100, signal }: EventuallyOptions = {},
): Promise<T> {
  const deadline = performance.now() + timeout;
  let pause = 1;
  for (let tries = 1; ; tries++) {
    const begun = performance.now();
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() + pause > deadline) {
        const message = errorText(error);
        throw new Error(`timed out after ${timeout} ms (${tries} attempts): ${message}`, { cause: error });
      }
    }
    // Attempts may be programs: what waits must not take the processors from what it waits for.
    await wait(Math.max(pause, Math.min(performance.now() - begun, longestAttemptMs)), undefined, { signal });
    pause = Math.min(pause * 2, interval);
  }
}
