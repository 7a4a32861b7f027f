/**
 * Time as a module that is passed in, so that tests move it instead of waiting for it.
 * Nothing outside this file calls `Date.now`, `setTimeout` or `setInterval` where time matters.
 */
export interface Clock {
  /** Wall-clock milliseconds since the epoch; may jump. For what is shown or stored. */
  now(): number;
  /** Milliseconds that only grow. For measuring durations and deadlines. */
  monotonic(): number;
  /** Calls back once after `ms`, unless the timer was cancelled. */
  after(ms: number, callback: () => void): Timer;
  /** Resolves after `ms`; rejects with the signal's reason as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** One pending callback. */
export interface Timer {
  /** Does nothing when the callback has run already. */
  cancel(): void;
}

/** `setTimeout` overflows to 1 ms above this; a longer wait is made of several. */
const longestTimeout = 2 ** 31 - 1;

/** The real time. */
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

/** {@link Clock.sleep} made of {@link Clock.after}; shared by the real and the fake clock. */
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
