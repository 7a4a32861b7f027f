export interface InterruptionModules {
  /** Told of interruptions that are got over, with how many there were in a row; for logs. */
  readonly onInterruption?: ((error: unknown, failures: number) => void) | undefined;
}

/**
 * What interrupts the watches of one store and what else it does all the time. It is taken up again for ever, and where
 * nobody hears of it a watch that never gets anywhere looks like one on which nothing happens. An outage interrupts all of
 * it: it is told once for each time that the worst of it has failed.
 */
export class Interruptions {
  readonly #modules: InterruptionModules;
  /** Failures in a row of each that is interrupted now. */
  readonly #failing = new Map<object, number>();
  #told = 0;

  constructor(modules: InterruptionModules = {}) {
    this.#modules = modules;
  }

  happened(work: object, error: unknown): void {
    const failures = (this.#failing.get(work) ?? 0) + 1;
    this.#failing.set(work, failures);
    if (failures <= this.#told) return;
    this.#told = failures;
    this.#modules.onInterruption?.(error, failures);
  }

  /** It goes on, or has ended. */
  over(work: object): void {
    this.#failing.delete(work);
    if (this.#failing.size === 0) this.#told = 0;
  }

  /**
   * Takes a turn every so often, 0: never. The next one tries again what failed, which is told unless the store is closed.
   * Call the result to stop.
   */
  everyInterval(intervalMs: number, turn: () => Promise<unknown>, closed: AbortSignal): () => void {
    if (intervalMs <= 0) return () => undefined;
    const failed = (error: unknown): void => {
      if (!closed.aborted) this.happened(turn, error);
    };
    const timer = setInterval(() => void turn().then(() => this.over(turn), failed), intervalMs).unref();
    return () => clearInterval(timer);
  }
}
