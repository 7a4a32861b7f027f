import { type Clock, systemClock } from '../clock/clock.ts';
import { Backoff, type BackoffModules, type BackoffOptions } from './backoff.ts';

export interface RetryOptions extends BackoffOptions {
  /** Gives up after this many tries; never unless told otherwise. */
  readonly attempts?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** False for errors that another try cannot mend. */
  readonly retryable?: ((error: unknown) => boolean) | undefined;
  /** Told of every failure that will be tried again, with the pause before that and how many failures there were. */
  readonly onRetry?: ((error: unknown, pause: number, failures: number) => void) | undefined;
}

/** Tries until it goes well; throws the last error when it gives up, and the signal's reason when that aborts. */
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
