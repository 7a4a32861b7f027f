/**
 * A condition that many wait for: `wait` resolves with the next `notify`, or at once when the signal has aborted.
 * A waiter that gives up leaves nothing behind.
 */
export class Signal {
  readonly #waiters = new Set<() => void>();

  notify(): void {
    if (this.#waiters.size === 0) return;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
  }

  async wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        this.#waiters.delete(wake);
        resolve();
      };
      this.#waiters.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}
