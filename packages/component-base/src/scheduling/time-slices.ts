import type { EventLoopScheduler } from './event-loop-scheduler.ts';

/**
 * Tells a long computation when to yield: `if (slices.isExceeded) await slices.yield();`.
 *
 * The first slice is half as long as one of the scheduler, or ends with the slice that a batch shares. Every further one
 * ends with the slice of the iteration in which the computation resumes, so that computations which resume together share
 * it.
 */
export class TimeSlices {
  readonly #scheduler: EventLoopScheduler;
  readonly #queue: { yield(): Promise<void> };
  #endsAt: number;

  constructor(modules: {
    readonly scheduler: EventLoopScheduler;
    /** Where the computation waits for its next slice. */
    readonly queue: { yield(): Promise<void> };
  }) {
    this.#scheduler = modules.scheduler;
    this.#queue = modules.queue;
    const { sliceMs, sharedSliceEndsAt = Infinity } = this.#scheduler;
    this.#endsAt = Math.min(this.#scheduler.now() + sliceMs / 2, sharedSliceEndsAt);
  }

  get isExceeded(): boolean {
    return this.#scheduler.now() >= this.#endsAt;
  }

  /** Resolves in a later iteration of the event loop, with a new slice. */
  async yield(): Promise<void> {
    await this.#queue.yield();
    this.#endsAt = this.#scheduler.sliceEndsAt ?? this.#scheduler.now();
  }
}
