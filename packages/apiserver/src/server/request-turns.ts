import { TurnQueue, type TurnTime } from '@multiplane/component-base';

/** Requests that are begun at once in a turn of the event loop; the others of that turn wait for one another. */
const atOnce = 16;
/** Milliseconds after which a turn begins nothing further at once: some requests take long. */
const atOnceMs = 5;

/**
 * Spreads the beginnings of requests over turns of the event loop.
 *
 * Whatever lies in the sockets is read in one turn, and most requests end in the turn in which they began: thousands of
 * clients that come back at once would hold the loop for as long as all their requests take together. So a turn begins
 * only some requests as they come; the rest queue up, first come, first served.
 */
export class RequestTurns {
  readonly #time: TurnTime;
  readonly #queue: TurnQueue;
  #begun = 0;
  /** When the first of them began. */
  #since = 0;

  constructor({ time }: { readonly time: TurnTime }) {
    this.#time = time;
    this.#queue = new TurnQueue(time);
  }

  /** Begins a request now or soon. */
  begin(request: () => void): void {
    const now = this.#time.now();
    if (!this.#queue.isEmpty || this.#begun === atOnce || (this.#begun > 0 && now - this.#since > atOnceMs)) {
      this.#queue.add(request);
      return;
    }
    if (this.#begun++ === 0) {
      this.#since = now;
      this.#time.later(() => {
        this.#begun = 0;
      });
    }
    request();
  }
}
