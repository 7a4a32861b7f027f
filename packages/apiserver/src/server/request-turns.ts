import type { Clock } from '@multiplane/component-base';

/** Requests that are begun at once in a turn of the event loop; the others of that turn wait for one another. */
const atOnce = 16;
/** Requests of which each gets a place of its own in one turn, with all that follows from it at once. */
const perTurn = 64;
/** Milliseconds after which a turn begins no further request. */
const turnMs = 10;

export interface RequestTurnsModules {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Runs something in the next phase of the event loop for that, with its microtasks: `setImmediate`. */
  readonly later?: ((run: () => void) => unknown) | undefined;
}

/**
 * Spreads the beginnings of requests over turns of the event loop.
 *
 * Whatever lies in the sockets is read in one turn, and most requests end in the turn in which they began: thousands of
 * clients that come back at once would hold the loop for as long as all their requests take together, while timers
 * (leases, deadlines, heartbeats) wait. So a turn begins only some requests as they come; the rest queue up, each with a
 * place of its own in the check phase, until the time of the turn is used up. First come, first served.
 */
export class RequestTurns {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #later: (run: () => void) => unknown;
  #waiting: (() => void)[] = [];
  /** How many of {@link #waiting} have begun. */
  #done = 0;
  #begun = 0;
  #endsAt: number | undefined;

  constructor({ clock, later = setImmediate }: RequestTurnsModules) {
    this.#clock = clock;
    this.#later = later;
  }

  /** Begins a request now or soon. */
  begin(request: () => void): void {
    if (this.#waiting.length === 0 && this.#begun < atOnce) {
      if (this.#begun++ === 0) {
        this.#later(() => {
          this.#begun = 0;
        });
      }
      request();
      return;
    }
    if (this.#waiting.push(request) === 1) this.#schedule();
  }

  /** Places for what waits. */
  #schedule(): void {
    this.#endsAt = undefined;
    const places = Math.min(this.#waiting.length - this.#done, perTurn);
    for (let left = places - 1; left >= 0; left--) this.#later(() => this.#step(left === 0));
  }

  #step(isLast: boolean): void {
    const now = this.#clock.monotonic();
    this.#endsAt ??= now + turnMs;
    const request = now < this.#endsAt ? this.#waiting[this.#done] : undefined;
    if (request !== undefined) this.#done++;
    if (this.#done === this.#waiting.length) {
      this.#waiting = [];
      this.#done = 0;
    } else if (isLast) {
      if (this.#done > perTurn) {
        this.#waiting = this.#waiting.slice(this.#done);
        this.#done = 0;
      }
      this.#schedule();
    }
    request?.();
  }
}
