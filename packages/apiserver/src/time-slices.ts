import { runToCompletion } from '@multiplane/apimachinery';
import { runInTimeSlices, timeSlices, yieldToEventLoop } from '@multiplane/component-base';

/** A pass over less than this does not delay other requests noticeably. */
const largeBytes = 64 * 1024;
/** Requests with larger bodies take a millisecond or more, several times that before the JIT compiler has optimised the code. */
const smallBodyBytes = 4 * 1024;
const resolved: Promise<void> = Promise.resolve();

/**
 * The request that work is done for: the context of an HTTP request, or a write. Its `signal` is only read for large inputs:
 * most requests never create one.
 */
export interface Abortable {
  readonly signal?: AbortSignal | undefined;
  readonly cluster?: string | undefined;
  readonly info?: { readonly cluster?: string | undefined } | undefined;
}

/** The logical cluster whose turns of the event loop the work of a request takes; undefined: those of the server. */
export const laneOf = (request: Abortable | undefined): string | undefined =>
  request?.cluster ?? request?.info?.cluster;

/** Whether a pass over this many bytes may exceed a time slice of the event loop. */
export const isLarge = (bytes: number): boolean => bytes >= largeBytes;

/**
 * Yields to the event loop before a pass over `bytes` bytes if that pass may exceed a time slice. Each pass is linear in
 * its input, so other requests wait at most for one pass over the largest object. Throws if the request was aborted.
 */
export function yieldIfSliceExceeded(bytes: number, request?: Abortable): Promise<void> {
  return isLarge(bytes) ? yieldUnlessAborted(request) : resolved;
}

async function yieldUnlessAborted(request: Abortable | undefined): Promise<void> {
  await yieldToEventLoop(laneOf(request));
  request?.signal?.throwIfAborted();
}

/**
 * Yields after a body of more than a few KiB was read, so that bodies that arrived in the same tick are all read first. Throws
 * if the request was aborted: a client that left after it had sent the body costs no decoding.
 */
export function yieldAfterBody(bytes: number, request: Abortable): Promise<void> | undefined {
  return bytes > smallBodyBytes ? yieldUnlessAborted(request) : undefined;
}

/**
 * Runs the passes of a generator in one go, or one per time slice if its input is large: then it ends, with the reason of
 * the signal, before the first pass after the request was aborted.
 */
export function inTimeSlices<T>(steps: Generator<void, T>, bytes: number, request?: Abortable): T | Promise<T> {
  return isLarge(bytes) ? onePerSlice(steps, request) : runToCompletion(steps);
}

async function onePerSlice<T>(steps: Generator<void, T>, request: Abortable | undefined): Promise<T> {
  for (;;) {
    await yieldUnlessAborted(request);
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** {@link runInTimeSlices} for a request; throws the reason of its signal if it was aborted meanwhile. */
export const whileTimeLasts = <T>(steps: Generator<void, T>, request?: Abortable): Promise<T> =>
  runInTimeSlices(steps, laneOf(request), () => request?.signal);

/**
 * Between two stages of the work for a request, each of which is linear in the values of an object: yields to the event loop if the time
 * slice is used up. Throws the reason of the signal if the request was aborted meanwhile.
 */
export async function pause(request?: Abortable): Promise<void> {
  const slices = timeSlices(laneOf(request));
  if (!slices.isExceeded) return;
  await slices.yield();
  request?.signal?.throwIfAborted();
}

/** A result that is known already, where a generator of passes is expected. */
// eslint-disable-next-line require-yield -- There is no pass.
export function* withoutPasses<T>(value: T): Generator<void, T> {
  return value;
}
