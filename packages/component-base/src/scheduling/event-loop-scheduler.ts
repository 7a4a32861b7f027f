/** Milliseconds that queued work may take of one iteration of the event loop. */
const defaultSliceMs = 5;

export interface EventLoopSchedulerModules {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Runs a callback, and then its microtasks, in a later iteration of the event loop: `setImmediate`. */
  readonly schedule: (run: () => void) => unknown;
}

export interface EventLoopSchedulerOptions {
  /** Length of a time slice in milliseconds. */
  readonly sliceMs?: number | undefined;
}

/**
 * Grants one time slice per iteration of the event loop. Several queues may share it: work that starts while the slice
 * lasts runs in this iteration, the rest in the next one, after timers and sockets.
 */
export class EventLoopScheduler {
  readonly sliceMs: number;
  readonly now: () => number;
  readonly schedule: (run: () => void) => unknown;
  #sliceEndsAt: number | undefined;
  #sharedSliceEndsAt: number | undefined;

  constructor({ now, schedule }: EventLoopSchedulerModules, options: EventLoopSchedulerOptions = {}) {
    this.sliceMs = options.sliceMs ?? defaultSliceMs;
    this.now = now;
    this.schedule = schedule;
  }

  /** End of this iteration's slice; undefined before it starts. */
  get sliceEndsAt(): number | undefined {
    return this.#sliceEndsAt;
  }

  /** True while a slice has started and is not used up. */
  get hasTimeLeft(): boolean {
    return this.#sliceEndsAt !== undefined && this.now() < this.#sliceEndsAt;
  }

  /** End of the slice that a batch of work shares; undefined outside of {@link startSharedSlice}. */
  get sharedSliceEndsAt(): number | undefined {
    return this.#sharedSliceEndsAt;
  }

  /** Work that starts from now on shares `ms` before it yields, however much of it there is; until {@link endSharedSlice}. */
  startSharedSlice(ms: number): void {
    this.#sharedSliceEndsAt = this.now() + ms;
  }

  endSharedSlice(): void {
    this.#sharedSliceEndsAt = undefined;
  }

  /** Starts the slice of this iteration unless it has started already. */
  startSlice(): void {
    if (this.#sliceEndsAt !== undefined) return;
    this.#sliceEndsAt = this.now() + this.sliceMs;
    this.schedule(() => {
      this.#sliceEndsAt = undefined;
    });
  }
}
