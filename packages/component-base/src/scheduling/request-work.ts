import type { TimeSlices } from './time-slices.ts';
import { timeSlices } from './yield-to-event-loop.ts';

/** A stage over less than this does not delay other requests noticeably. */
const largeBytes = 64 * 1024;

export interface RequestWorkOptions {
  /** The logical cluster whose turns of the event loop the work takes; absent: those of the server. */
  readonly flow?: string | undefined;
  /** Of the request. It is only read by large work: most requests never create an AbortController. */
  readonly signal?: (() => AbortSignal | undefined) | undefined;
}

/**
 * The work for one request or one write: for whom it is done, how large its input is, and when it yields to the event loop.
 *
 * The stages of a request (decode, patch, prune, default, admit, validate, encode) are plain functions, each linear in the values of one
 * object, whose number is bounded. The caller of the stages calls {@link pause} between two of them. Small work never yields.
 */
export class RequestWork {
  readonly flow: string | undefined;
  readonly #signal: () => AbortSignal | undefined;
  #bytes = 0;
  #slices: TimeSlices | undefined;

  constructor(options: RequestWorkOptions = {}) {
    this.flow = options.flow;
    this.#signal = options.signal ?? (() => undefined);
  }

  /** Aborts when the client or the caller has given up. */
  get signal(): AbortSignal | undefined {
    return this.#signal();
  }

  /** About the length of the largest thing that the work has to do with: the body, the stored object, the answer of a webhook. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether a stage may exceed a time slice. */
  get isLarge(): boolean {
    return this.#bytes >= largeBytes;
  }

  /** To be called before work on something of this length. */
  grow(bytes: number): void {
    if (bytes > this.#bytes) this.#bytes = bytes;
  }

  /** Yields if the time slice is used up. Rejects with the reason of the signal if the request was aborted meanwhile. */
  pause(): Promise<void> | undefined {
    if (!this.isLarge) return undefined;
    this.#slices ??= timeSlices(this.flow);
    return this.#slices.isExceeded ? this.#yield(this.#slices) : undefined;
  }

  /** Reads or writes a text chunk by chunk, with {@link pause} between them. */
  async run<T>(chunks: Generator<void, T>): Promise<T> {
    for (;;) {
      if (this.isLarge) await this.pause();
      const { done, value } = chunks.next();
      if (done === true) return value;
    }
  }

  async #yield(slices: TimeSlices): Promise<void> {
    await slices.yield();
    this.#signal()?.throwIfAborted();
  }
}
