/** Time as a module, so that tests advance it instead of waiting. Code that depends on time takes a `Clock`. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch; may jump. For timestamps that are shown or stored. */
  now(): number;
  /** Monotonic milliseconds, for durations and deadlines. */
  monotonic(): number;
  /** Calls back once after `ms`, unless the timer was cancelled. */
  after(ms: number, callback: () => void): Timer;
  /** Resolves after `ms`; rejects with the signal's reason as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** One pending callback. */
export interface Timer {
  /** A no-op once the callback has run. */
  cancel(): void;
}

/** `setTimeout` fires after 1 ms for a longer delay, so that longer delays are chained. */
const longestTimeout = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback) {
    let handle: NodeJS.Timeout;
    const arm = (left: number): void => {
      handle =
        left > longestTimeout
          ? setTimeout(() => arm(left - longestTimeout), longestTimeout)
          : setTimeout(callback, left);
    };
    arm(Math.max(0, ms));
    return { cancel: () => clearTimeout(handle) };
  },
  sleep(ms, signal) {
    return sleepOn(this, ms, signal);
  },
};

/** {@link Clock.sleep} in terms of {@link Clock.after}; shared by the system and the fake clock. */
export function sleepOn(clock: Pick<Clock, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(abortReason(signal));
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(abortReason(signal));
    };
    const timer = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function abortReason(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason });
}
