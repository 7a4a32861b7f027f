import type { TurnTime } from '@multiplane/component-base';

/** Requests that begin together at most. */
const mostTogether = 32;
/** Milliseconds that those which begin together should take, with all that follows from them at once. */
const togetherMs = 5;

/**
 * Begins the requests of a turn of the event loop together at its end.
 *
 * A request runs through more code than the caches of a processor hold, and reading the next one from its socket, down to
 * the kernel, drives out the rest: done one after the other, from the first byte to the last, each of them finds nothing
 * warm. So whatever lies in the sockets is read first; then the requests begin, one step of all before the next step
 * of any, as their promises resolve.
 *
 * Thousands of clients that come back at once must not hold the loop for as long as all their requests take together:
 * only some begin in a turn, first come, first served, and how many is learned from how long those before took. What is
 * long by itself pauses when those which began with it have had that time, all together (`slicesOfTurns`).
 *
 * A client that comes alone has nobody to share with: while turns have one request each, it begins at once.
 */
export class RequestTurns {
  readonly #time: TurnTime;
  #waiting: (() => void)[] = [];
  /** A turn is asked for. */
  #asked = false;
  #together = mostTogether;
  #begun = 0;
  /** When they began. */
  #since = 0;
  /** Requests that came in this turn. */
  #came = 0;
  /** The last turn in which any came had one. */
  #oneByOne = true;

  constructor({ time }: { readonly time: TurnTime }) {
    this.#time = time;
  }

  /** Begins a request now or soon. It must not throw. */
  begin(request: () => void): void {
    if (this.#came++ === 0) {
      this.#time.later(() => this.#endTurn());
      if (this.#oneByOne && this.#waiting.length === 0) {
        request();
        return;
      }
    }
    this.#waiting.push(request);
    this.#askForTurn();
  }

  #endTurn(): void {
    this.#oneByOne = this.#came === 1;
    this.#came = 0;
  }

  #askForTurn(): void {
    if (this.#asked) return;
    this.#asked = true;
    this.#time.later(() => this.#beginSome());
    // Comes when all that followed at once from those that began is done.
    this.#time.later(() => this.#learn());
  }

  #beginSome(): void {
    this.#time.share(togetherMs);
    this.#since = this.#time.now();
    const some = this.#waiting.slice(0, this.#together);
    this.#begun = some.length;
    for (const request of some) request();
    this.#waiting = this.#waiting.slice(some.length);
  }

  #learn(): void {
    this.#time.endSharing();
    const took = this.#time.now() - this.#since;
    const affordable = took > 0 ? Math.floor((this.#begun * togetherMs) / took) : mostTogether;
    this.#together = Math.max(1, Math.min(affordable, this.#together * 2, mostTogether));
    this.#asked = false;
    if (this.#waiting.length > 0) this.#askForTurn();
  }
}
