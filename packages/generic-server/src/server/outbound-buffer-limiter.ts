import { LinkedList, type ListElement } from '@multiplane/component-base';

/** A response with bytes that the client has not accepted yet. */
export interface PendingResponse {
  /** Set by the {@link OutboundBufferLimiter} only. */
  pending: PendingBytes | undefined;
  /** Closes the response immediately and releases its buffers. */
  terminate(): void;
}

/** The account of one {@link PendingResponse}. */
export interface PendingBytes {
  readonly bytes: number;
  readonly position: ListElement<PendingResponse>;
}

/**
 * Limits the bytes that are buffered for slow clients, over many responses together. Each response has a limit of its own
 * already, but one tenant can open thousands of them.
 *
 * Responses are ordered by the time at which their client last accepted bytes. Above the limit, the responses at the front
 * of that order are terminated: clients that read, however slowly, move to the end, and clients that never read reach the
 * front. No writer waits, so slow clients do not delay the others.
 */
export class OutboundBufferLimiter {
  readonly #max: number;
  /** Least recently read first. */
  readonly #pending = new LinkedList<PendingResponse>();
  #total = 0;

  constructor(options: { readonly max: number }) {
    this.#max = options.max;
  }

  get total(): number {
    return this.#total;
  }

  /** Adds buffered bytes to a response. May terminate responses, the given one included. */
  add(response: PendingResponse, bytes: number): void {
    const { pending } = response;
    response.pending = {
      bytes: (pending?.bytes ?? 0) + bytes,
      position: pending?.position ?? this.#pending.add(response),
    };
    this.#total += bytes;
    while (this.#total > this.#max) {
      const leastRecentlyRead = this.#pending.first?.value;
      if (leastRecentlyRead === undefined) return;
      this.release(leastRecentlyRead);
      leastRecentlyRead.terminate();
    }
  }

  /** The client accepted bytes; `remaining` are still buffered. */
  accepted(response: PendingResponse, remaining: number): void {
    this.release(response);
    if (remaining > 0) this.add(response, remaining);
  }

  /** The client accepted everything, or the response is closed. */
  release(response: PendingResponse): void {
    const { pending } = response;
    if (pending === undefined) return;
    pending.position.remove();
    response.pending = undefined;
    this.#total -= pending.bytes;
  }
}
