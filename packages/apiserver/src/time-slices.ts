import { runToCompletion } from '@multiplane/apimachinery';
import { yieldToEventLoop } from '@multiplane/component-base';

/** A pass over less than this does not delay other requests noticeably. */
const largeBytes = 64 * 1024;
/** Requests with larger bodies take a millisecond or more, several times that before the JIT compiler has optimised the code. */
const smallBodyBytes = 4 * 1024;
const resolved: Promise<void> = Promise.resolve();

/** Whether a pass over this many bytes may exceed a time slice of the event loop. */
export const isLarge = (bytes: number): boolean => bytes >= largeBytes;

/**
 * Yields to the event loop before a pass over `bytes` bytes if that pass may exceed a time slice. Each pass is linear in
 * its input, so other requests wait at most for one pass over the largest object.
 */
export function yieldIfSliceExceeded(bytes: number): Promise<void> {
  return isLarge(bytes) ? yieldToEventLoop() : resolved;
}

/** Yields after a body of more than a few KiB was read, so that bodies that arrived in the same tick are all read first. */
export function yieldAfterBody(bytes: number): Promise<void> | undefined {
  return bytes > smallBodyBytes ? yieldToEventLoop() : undefined;
}

/** Runs the passes of a generator in one go, or one per time slice if its input is large. */
export function inTimeSlices<T>(steps: Generator<void, T>, bytes: number): T | Promise<T> {
  return isLarge(bytes) ? onePerSlice(steps, bytes) : runToCompletion(steps);
}

async function onePerSlice<T>(steps: Generator<void, T>, bytes: number): Promise<T> {
  for (;;) {
    await yieldIfSliceExceeded(bytes);
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
