export interface ResponseCoalescerModules {
  /** Runs a callback in a later iteration of the event loop: `setImmediate`. */
  readonly defer?: ((run: () => void) => unknown) | undefined;
}

/** Larger responses are sent immediately: encrypting many of them together would block the event loop. */
const maxCoalescedBytes = 16 * 1024;

/**
 * Sends the small responses of one event-loop iteration together at its end, in order.
 *
 * A client on the same machine that waits for responses is woken by each write, which costs the sender more than the
 * response itself; several writes in a row wake it once. A response never waits for more than the current iteration.
 *
 * While iterations have a single response each, as for a client that sends one request after the other, the response is
 * sent immediately, before the rest of the iteration.
 */
export class ResponseCoalescer {
  readonly #defer: (run: () => void) => unknown;
  #waiting: (() => void)[] = [];
  /** Small responses of this iteration. */
  #count = 0;
  /** The previous iteration with responses had a single one. */
  #wasSingle = false;

  constructor({ defer = setImmediate }: ResponseCoalescerModules = {}) {
    this.#defer = defer;
  }

  /** Sends a response of `bytes` now or at the end of the iteration; `send` must not throw. */
  send(bytes: number, send: () => void): void {
    if (bytes > maxCoalescedBytes) {
      send();
      return;
    }
    if (this.#count++ === 0) {
      this.#defer(() => this.#flush());
      if (this.#wasSingle) {
        send();
        return;
      }
    }
    this.#waiting.push(send);
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const isSingle = this.#count === 1;
    this.#count = 0;
    // Responses that these writes cause belong to the next iteration and wait for its end.
    this.#wasSingle = false;
    for (const send of waiting) send();
    this.#wasSingle = isSingle;
  }
}
