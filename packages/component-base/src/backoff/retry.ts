import { type Clock, systemClock } from '../clock/clock.ts';
import { Backoff, type BackoffModules, type BackoffOptions } from './backoff.ts';

export interface RetryOptions extends BackoffOptions {
  /** Attempts before giving up; unlimited by default. */
  readonly attempts?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** False for errors that are not worth a retry. */
  readonly retryable?: ((error: unknown) => boolean) | undefined;
  /** Called before each retry with the error, the pause in milliseconds and the number of failures so far. */
  readonly onRetry?: ((error: unknown, pause: number, failures: number) => void) | undefined;
}

/** Retries with exponential backoff. Throws the last error after the last attempt, and the reason of an aborted signal. */
export async function retry<T>(
  attempt: () => Promise<T>,
  options: RetryOptions,
  modules: BackoffModules & { readonly clock?: Clock | undefined } = {},
): Promise<T> {
  const { attempts = Infinity, signal, retryable = () => true, onRetry } = options;
  const clock = modules.clock ?? systemClock;
  const backoff = new Backoff(options, modules);
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (backoff.tries + 1 >= attempts || !retryable(error)) throw error;
      const pause = backoff.next();
      onRetry?.(error, pause, backoff.tries);
      await clock.sleep(pause, signal);
    }
  }
}
