/** Milliseconds after which a turn begins nothing further, and those for what can wait. */
const turnMs = 10;
const spareMs = 2;
/** What begins in one turn at most; each has a place of its own, with all that follows from it at once. */
const perTurn = 64;

export interface TurnQueueModules {
  /** Milliseconds of a steady clock. */
  readonly now: () => number;
  /** Runs something in a later turn of the event loop, and then its microtasks: `setImmediate`. */
  readonly later: (run: () => void) => unknown;
}

export interface TurnQueueOptions {
  /** Milliseconds after which a turn begins nothing further. */
  readonly turnMs?: number | undefined;
}

/**
 * Work that shares the turns of the event loop.
 *
 * A loop that pauses every few milliseconds holds nobody up, but a hundred such loops do: after a pause they all go on
 * in the same turn, while timers (leases, deadlines, heartbeats) and sockets wait. Here they wait for one another: a turn
 * begins as much as fits into its time, first come, first served, and what goes on again is at the end of the queue.
 */
export class TurnQueue {
  readonly #turnMs: number;
  readonly #now: () => number;
  readonly #later: (run: () => void) => unknown;
  #waiting: (() => void)[] = [];
  /** How many of {@link #waiting} have begun. */
  #done = 0;
  /** Places that were asked for and are still to come. */
  #places = 0;
  /** When the turn is used up; undefined before it begins anything. */
  #endsAt: number | undefined;

  constructor({ now, later }: TurnQueueModules, options: TurnQueueOptions = {}) {
    this.#turnMs = options.turnMs ?? turnMs;
    this.#now = now;
    this.#later = later;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** A turn of this queue has begun and is not used up: who was given a place may go on. */
  get hasTime(): boolean {
    return this.#endsAt !== undefined && this.#now() < this.#endsAt;
  }

  add(run: () => void): void {
    this.#waiting.push(run);
    this.#askForPlaces();
  }

  #askForPlaces(): void {
    const wanted = Math.min(this.#waiting.length - this.#done, perTurn);
    for (; this.#places < wanted; this.#places++) this.#later(() => this.#step());
  }

  #step(): void {
    this.#places--;
    const now = this.#now();
    if (this.#endsAt === undefined) {
      this.#endsAt = now + this.#turnMs;
      this.#later(() => {
        this.#endsAt = undefined;
      });
    }
    const run = now < this.#endsAt ? this.#waiting[this.#done] : undefined;
    if (run !== undefined) this.#done++;
    if (this.#done === this.#waiting.length || this.#done > perTurn) {
      this.#waiting = this.#waiting.slice(this.#done);
      this.#done = 0;
    }
    this.#askForPlaces();
    run?.();
  }
}

/** There is one event loop in a thread, so there is one queue for it. */
const turns = new TurnQueue({ now: () => performance.now(), later: setImmediate });

/**
 * Turns for what nobody waits for. They are short: whatever else wants the event loop loses little of each of its own
 * turns, and where there is nothing else one follows upon the other.
 */
export const spareTurns = new TurnQueue({ now: () => performance.now(), later: setImmediate }, { turnMs: spareMs });

/** A pause for whoever works through something long: resolves in a turn that has time left. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    turns.add(resolve);
  });
}
