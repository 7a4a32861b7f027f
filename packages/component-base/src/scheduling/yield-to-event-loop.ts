import { EventLoopScheduler } from './event-loop-scheduler.ts';
import { TimeSlicedQueue } from './time-sliced-queue.ts';
import type { TimeSlices } from './time-slices.ts';

const modules = { now: () => performance.now(), schedule: setImmediate };

/** The scheduler of this thread's event loop, shared by all queues of normal priority. */
export const eventLoopScheduler = new EventLoopScheduler(modules);
/** For the work of requests, and what they wait for. */
export const normalPriorityQueue = new TimeSlicedQueue(eventLoopScheduler);

/**
 * For background work that no request waits for. Its slices are short and do not count against those of normal priority:
 * other work loses at most 2 ms per iteration, and an idle event loop runs one slice after the other.
 */
export const lowPriorityQueue = new TimeSlicedQueue(new EventLoopScheduler(modules, { sliceMs: 2 }));

/**
 * Yields at normal priority: resolves in an iteration of the event loop that has time left. `lane`: the logical cluster that
 * the work is done for; default: the server itself.
 */
export const yieldToEventLoop = (lane?: string): Promise<void> => normalPriorityQueue.yield(lane);

/** Time slices of normal priority, for a long computation that starts now. */
export const timeSlices = (lane?: string): TimeSlices => normalPriorityQueue.timeSlices(lane);

/**
 * Runs the passes of a generator over input of an unknown size: several per time slice, without a promise for each. Throws the
 * reason of `signalOf()`, which is read only after a pause, if it has aborted meanwhile.
 */
export async function runInTimeSlices<T>(
  steps: Generator<void, T>,
  lane?: string,
  signalOf?: () => AbortSignal | undefined,
): Promise<T> {
  const slices = timeSlices(lane);
  for (;;) {
    // Before the first pass, too: another computation may have used up the slice of this iteration with a long pass.
    if (slices.isExceeded) {
      await slices.yield();
      signalOf?.()?.throwIfAborted();
    }
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
