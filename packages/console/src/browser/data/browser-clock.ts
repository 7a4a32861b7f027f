/** Time, injected so that tests advance it. */
export interface BrowserClock {
  /** Resolves after `ms`, or at once when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const realClock: BrowserClock = {
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      if (signal.aborted) done();
      else signal.addEventListener('abort', done, { once: true });
    }),
};
