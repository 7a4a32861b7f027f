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
 */
export class AnswerTurns {
  readonly #later: (run: () => void) => unknown;
  #waiting: (() => void)[] = [];

  constructor({ later = setImmediate }: AnswerTurnsModules = {}) {
    this.#later = later;
  }

  /** Sends an answer of so many bytes now or soon; `send` must not throw. */
  send(bytes: number, send: () => void): void {
    if (bytes > smallBytes) {
      send();
      return;
    }
    if (this.#waiting.push(send) === 1) this.#later(() => this.#flush());
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const send of waiting) send();
  }
}
