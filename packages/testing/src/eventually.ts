import { setTimeout as wait } from 'node:timers/promises';
import { errorText } from '@multiplane/apimachinery';

export interface EventuallyOptions {
  /** Milliseconds until the last failure is reported; 20 s unless told otherwise: a busy machine is slow, not wrong. */
  readonly timeout?: number | undefined;
  /** Longest pause between two tries; the first ones follow faster. */
  readonly interval?: number | undefined;
  /** Ends the waiting early. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Tries until `attempt` does not throw, and returns what it gave. Put the expectations inside; never sleep and hope.
 * When time is up, throws the last failure.
 */
export async function eventually<T>(
  attempt: () => T | Promise<T>,
  { timeout = 20_000, interval = 100, signal }: EventuallyOptions = {},
): Promise<T> {
  const deadline = performance.now() + timeout;
  let pause = 1;
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() + pause > deadline) {
        const message = errorText(error);
        throw new Error(`not within ${timeout} ms (${tries} tries): ${message}`, { cause: error });
      }
    }
    await wait(pause, undefined, { signal });
    pause = Math.min(pause * 2, interval);
  }
}
