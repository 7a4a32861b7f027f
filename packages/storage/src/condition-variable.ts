/**
 * Wakes all waiters at once. `wait` resolves with the next `notifyAll`, or when the signal aborts, which also removes the
 * waiter.
 */
export class ConditionVariable {
  readonly #waiters = new Set<() => void>();

  notifyAll(): void {
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
