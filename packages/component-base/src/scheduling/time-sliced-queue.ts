import type { EventLoopScheduler } from './event-loop-scheduler.ts';
import { TimeSlices } from './time-slices.ts';

/** Callbacks per iteration at most. Each is scheduled on its own, so that its microtasks run before the next one. */
const maxPerIteration = 64;

/**
 * Runs callbacks in time slices of the event loop, in FIFO order.
 *
 * A loop that yields every few milliseconds does not block the event loop, but a hundred such loops do: after they have
 * yielded, all of them resume in the same iteration, while timers (leases, deadlines, heartbeats) and sockets wait. In this
 * queue they wait for one another instead:
 *
 * ```
 *  iteration of the event loop   start callbacks until the scheduler's slice is used up; the rest stays queued
 *  a callback that adds another  goes to the end of the queue
 * ```
 *
 * Queues that share a scheduler do not starve one another: each starts at least one callback per iteration, even when the
 * others have used up the slice.
 */
export class TimeSlicedQueue {
  readonly #scheduler: EventLoopScheduler;
  #queue: (() => void)[] = [];
  /** How many of {@link #queue} have started. */
  #started = 0;
  /** Calls of {@link #step} that are scheduled and have not run yet. */
  #scheduled = 0;
  /** Whether this queue has started a callback in this iteration. */
  #hasStartedOne = false;

  constructor(scheduler: EventLoopScheduler) {
    this.#scheduler = scheduler;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  /** True while the slice of this iteration has started and is not used up. */
  get hasTimeLeft(): boolean {
    return this.#scheduler.hasTimeLeft;
  }

  add(run: () => void): void {
    this.#queue.push(run);
    this.#scheduleSteps();
  }

  /** Resolves in an iteration of the event loop that has time left. */
  yield(): Promise<void> {
    return new Promise((resolve) => {
      this.add(resolve);
    });
  }

  /** For a long computation that starts now. */
  timeSlices(): TimeSlices {
    return new TimeSlices({ scheduler: this.#scheduler, queue: this });
  }

  #scheduleSteps(): void {
    const wanted = Math.min(this.#queue.length - this.#started, maxPerIteration);
    for (; this.#scheduled < wanted; this.#scheduled++) this.#scheduler.schedule(() => this.#step());
  }

  #step(): void {
    this.#scheduled--;
    this.#scheduler.startSlice();
    const run = !this.#hasStartedOne || this.#scheduler.hasTimeLeft ? this.#queue[this.#started] : undefined;
    if (!this.#hasStartedOne) {
      this.#hasStartedOne = true;
      this.#scheduler.schedule(() => {
        this.#hasStartedOne = false;
      });
    }
    if (run !== undefined) this.#started++;
    if (this.#started === this.#queue.length || this.#started > maxPerIteration) {
      this.#queue = this.#queue.slice(this.#started);
      this.#started = 0;
    }
    this.#scheduleSteps();
    run?.();
  }
}
