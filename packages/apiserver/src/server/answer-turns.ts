export interface AnswerTurnsModules {
  /** Runs something in a later turn of the event loop: `setImmediate`. */
  readonly later?: ((run: () => void) => unknown) | undefined;
}

/** Answers beyond this are sent as they come: encrypting many of them in one go would hold the event loop. */
const smallBytes = 16 * 1024;

/**
 * Sends the small answers of a turn of the event loop together at its end.
 *
 * A client on the same machine that waits for one answer is woken by each of them, which costs the sender more than the
 * answer itself; one that is sent several in a row takes the others while it is awake. What is told to be sent is sent in
 * that order, and nothing waits for more than what this turn has at hand.
 *
 * A client that comes alone, one request after the other, has nobody to wait for: while turns have one answer each, it is
 * sent at once, before all that this turn still has to do.
 */
export class AnswerTurns {
  readonly #later: (run: () => void) => unknown;
  #waiting: (() => void)[] = [];
  /** Small answers of this turn. */
  #count = 0;
  /** The last turn that had any had one. */
  #oneByOne = false;

  constructor({ later = setImmediate }: AnswerTurnsModules = {}) {
    this.#later = later;
  }

  /** Sends an answer of so many bytes now or soon; `send` must not throw. */
  send(bytes: number, send: () => void): void {
    if (bytes > smallBytes) {
      send();
      return;
    }
    if (this.#count++ === 0) {
      this.#later(() => this.#endTurn());
      if (this.#oneByOne) {
        send();
        return;
      }
    }
    this.#waiting.push(send);
  }

  #endTurn(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const cameAlone = this.#count === 1;
    this.#count = 0;
    // What is asked for in answer to these has a turn of its own.
    this.#oneByOne = false;
    for (const send of waiting) send();
    this.#oneByOne = cameAlone;
  }
}
