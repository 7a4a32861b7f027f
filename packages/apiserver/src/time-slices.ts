import { runInTimeSlices, yieldToEventLoop } from '@multiplane/component-base';

/** A pass over less than this does not delay other requests noticeably. */
const largeBytes = 64 * 1024;
/** Requests with larger bodies take a millisecond or more, several times that before the JIT compiler has optimised the code. */
const smallBodyBytes = 4 * 1024;

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

/** {@link runInTimeSlices} for a request; throws the reason of its signal if it was aborted meanwhile. */
export const whileTimeLasts = <T>(steps: Generator<void, T>, request?: Abortable): Promise<T> =>
  runInTimeSlices(steps, laneOf(request), () => request?.signal);

/** A result that is known already, where a generator of passes is expected. */
// eslint-disable-next-line require-yield -- There is no pass.
export function* withoutPasses<T>(value: T): Generator<void, T> {
  return value;
}
