/**
 * What went wrong on a connection.
 * - `closed`: the server closed it before its answer was complete.
 * - `answer`: what it sent is no answer of HTTP/1.1.
 * - `request`: the request cannot be written as HTTP/1.1.
 * - `stopped`: this side gave it up.
 */
export type WireFailure = 'closed' | 'answer' | 'request' | 'stopped';

/** A request failed on its connection to a server behind. */
export class WireError extends Error {
  override readonly name = 'WireError';
  readonly failure: WireFailure;
  constructor(failure: WireFailure, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.failure = failure;
  }
}
