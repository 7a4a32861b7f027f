import type { EventLoopScheduler } from './event-loop-scheduler.ts';

/**
 * Tells a long computation when to yield: `if (slices.isExceeded) await slices.yield();`.
 *
 * The first slice is half as long as one of the scheduler, and ends with the slice that a batch shares, or with the one of
 * this iteration: hundreds of computations that begin when the same promise resolves share it. Every further one ends with
 * the slice of the iteration in which the computation resumes, so that computations which resume together share it, too.
 */
export class TimeSlices {
  readonly #scheduler: EventLoopScheduler;
  readonly #queue: { yield(lane: string): Promise<void> };
  readonly #lane: string;
  #endsAt: number;

  constructor(
    options: { readonly lane: string },
    modules: {
      readonly scheduler: EventLoopScheduler;
      /** Where the computation waits for its next slice. */
      readonly queue: { yield(lane: string): Promise<void> };
    },
  ) {
    this.#lane = options.lane;
    this.#scheduler = modules.scheduler;
    this.#queue = modules.queue;
    this.#scheduler.startSlice();
    const { sliceMs, sliceEndsAt = Infinity, sharedSliceEndsAt = Infinity } = this.#scheduler;
    this.#endsAt = Math.min(this.#scheduler.now() + sliceMs / 2, sharedSliceEndsAt, sliceEndsAt);
  }

  get isExceeded(): boolean {
    return this.#scheduler.now() >= this.#endsAt;
  }

  /** Resolves in a later iteration of the event loop, with a new slice. */
  async yield(): Promise<void> {
    await this.#queue.yield(this.#lane);
    this.#endsAt = this.#scheduler.sliceEndsAt ?? this.#scheduler.now();
  }
}
