export interface WatchFailureModules {
  /** Receives every failure that is retried, with the number of consecutive failures; for logs. */
  readonly onWatchFailure?: ((error: unknown, failures: number) => void) | undefined;
}

/**
 * Reports failures of the watches and periodic tasks (compaction, sweeping) of one store. All of them are retried for
 * ever, so a watch that never connects would otherwise look like a watch without events.
 *
 * One outage fails every watch. Consecutive failures are counted per task, and a failure is reported only when its count
 * exceeds the highest count reported so far; the highest count is reset when no task is failing any more.
 */
export class WatchFailureReporter {
  readonly #modules: WatchFailureModules;
  /** Consecutive failures of each task that is failing now. */
  readonly #failing = new Map<object, number>();
  #highestReported = 0;

  constructor(modules: WatchFailureModules = {}) {
    this.#modules = modules;
  }

  failed(task: object, error: unknown): void {
    const failures = (this.#failing.get(task) ?? 0) + 1;
    this.#failing.set(task, failures);
    if (failures <= this.#highestReported) return;
    this.#highestReported = failures;
    this.#modules.onWatchFailure?.(error, failures);
  }

  /** The task works again, or has ended. */
  recovered(task: object): void {
    this.#failing.delete(task);
    if (this.#failing.size === 0) this.#highestReported = 0;
  }

  /**
   * Runs the task at an interval in milliseconds (0: never). Failures are reported unless `closed` is aborted; the next run
   * retries. Returns a function that stops it.
   */
  runPeriodically(intervalMs: number, task: () => Promise<unknown>, closed: AbortSignal): () => void {
    if (intervalMs <= 0) return () => undefined;
    const onFailure = (error: unknown): void => {
      if (!closed.aborted) this.failed(task, error);
    };
    const timer = setInterval(() => void task().then(() => this.recovered(task), onFailure), intervalMs).unref();
    return () => clearInterval(timer);
  }
}
