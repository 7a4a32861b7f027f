import type { EventLoopScheduler } from './event-loop-scheduler.ts';
import { FairLanes, systemLane } from './fair-lanes.ts';
import { TimeSlices } from './time-slices.ts';

/** Callbacks per iteration at most. Each is scheduled on its own, so that its microtasks run before the next one. */
const maxPerIteration = 64;

/**
 * Runs callbacks in time slices of the event loop: in FIFO order within a lane, and lanes by the time that they have used
 * ({@link FairLanes}).
 *
 * A loop that yields every few milliseconds does not block the event loop, but a hundred such loops do: after they have
 * yielded, all of them resume in the same iteration, while timers (leases, deadlines, heartbeats) and sockets wait. In this
 * queue they wait for one another instead:
 *
 * ```
 *  iteration of the event loop   start callbacks until the scheduler's slice is used up; the rest stays queued
 *  a callback that adds another  goes to the end of its lane
 * ```
 *
 * Queues that share a scheduler do not starve one another: each starts at least one callback per iteration, even when the
 * others have used up the slice.
 */
export class TimeSlicedQueue {
  readonly #scheduler: EventLoopScheduler;
  readonly #lanes = new FairLanes();
  /** Calls of {@link #step} that are scheduled and have not run yet. */
  #scheduled = 0;
  /** Whether this queue has started a callback in this iteration. */
  #hasStartedOne = false;
  /** Start of the callback that was taken last. */
  #startedAt = 0;

  constructor(scheduler: EventLoopScheduler) {
    this.#scheduler = scheduler;
  }

  get isEmpty(): boolean {
    return this.#lanes.size === 0;
  }

  /** True while the slice of this iteration has started and is not used up. */
  get hasTimeLeft(): boolean {
    return this.#scheduler.hasTimeLeft;
  }

  /** `lane`: the logical cluster that the work is done for; default: the server itself. */
  add(run: () => void, lane = systemLane): void {
    this.#lanes.add(run, lane);
    this.#scheduleSteps();
  }

  /** Resolves in an iteration of the event loop that has time left. */
  yield(lane = systemLane): Promise<void> {
    return new Promise((resolve) => {
      this.add(resolve, lane);
    });
  }

  /** For a long computation that starts now. */
  timeSlices(lane = systemLane): TimeSlices {
    return new TimeSlices({ lane }, { scheduler: this.#scheduler, queue: this });
  }

  #scheduleSteps(): void {
    const wanted = Math.min(this.#lanes.size, maxPerIteration);
    for (; this.#scheduled < wanted; this.#scheduled++) this.#scheduler.schedule(() => this.#step());
  }

  #step(): void {
    this.#scheduled--;
    const now = this.#scheduler.now();
    // Steps run one after the other, each after the microtasks of the one before.
    this.#lanes.charge(now - this.#startedAt);
    this.#startedAt = now;
    this.#scheduler.startSlice();
    const run = !this.#hasStartedOne || this.#scheduler.hasTimeLeft ? this.#lanes.take() : undefined;
    if (!this.#hasStartedOne) {
      this.#hasStartedOne = true;
      this.#scheduler.schedule(() => {
        this.#hasStartedOne = false;
      });
    }
    this.#scheduleSteps();
    run?.();
  }
}
