/** Milliseconds after which a turn begins nothing further, and those for what can wait. */
const turnMs = 10;
const spareMs = 2;
/** What begins in one turn at most; each has a place of its own, with all that follows from it at once. */
const perTurn = 64;

export interface TurnTimeModules {
  /** Milliseconds of a steady clock. */
  readonly now: () => number;
  /** Runs something in a later turn of the event loop, and then its microtasks: `setImmediate`. */
  readonly later: (run: () => void) => unknown;
}

export interface TurnTimeOptions {
  /** Milliseconds after which a turn begins nothing further. */
  readonly turnMs?: number | undefined;
}

/** The time of a turn of the event loop, which several queues may share. */
export class TurnTime {
  readonly turnMs: number;
  readonly now: () => number;
  readonly later: (run: () => void) => unknown;
  #endsAt: number | undefined;
  #sharedUntil: number | undefined;

  constructor({ now, later }: TurnTimeModules, options: TurnTimeOptions = {}) {
    this.turnMs = options.turnMs ?? turnMs;
    this.now = now;
    this.later = later;
  }

  /** When the turn is used up; undefined before it begins anything. */
  get endsAt(): number | undefined {
    return this.#endsAt;
  }

  /** It has begun and is not used up: who was given a place may go on. */
  get isLeft(): boolean {
    return this.#endsAt !== undefined && this.now() < this.#endsAt;
  }

  /** Until when those run that begin together now, however many they are; undefined while none do. */
  get sharedUntil(): number | undefined {
    return this.#sharedUntil;
  }

  /** Several begin together, and have so long before they pause; until {@link endSharing}. */
  share(ms: number): void {
    this.#sharedUntil = this.now() + ms;
  }

  endSharing(): void {
    this.#sharedUntil = undefined;
  }

  /** Of several beginnings in a turn the first counts. */
  begin(): void {
    if (this.#endsAt !== undefined) return;
    this.#endsAt = this.now() + this.turnMs;
    this.later(() => {
      this.#endsAt = undefined;
    });
  }
}

/**
 * Work that shares the turns of the event loop.
 *
 * A loop that pauses every few milliseconds holds nobody up, but a hundred such loops do: after a pause they all go on
 * in the same turn, while timers (leases, deadlines, heartbeats) and sockets wait. Here they wait for one another: a turn
 * begins as much as fits into its time, first come, first served, and what goes on again is at the end of the queue.
 *
 * Queues of different work that share the time of their turns do not wait for one another: each begins one thing in every
 * turn, whatever the others have used up.
 */
export class TurnQueue {
  readonly #time: TurnTime;
  #waiting: (() => void)[] = [];
  /** How many of {@link #waiting} have begun. */
  #done = 0;
  /** Places that were asked for and are still to come. */
  #places = 0;
  /** Something of this queue has begun in this turn. */
  #hasBegun = false;

  constructor(time: TurnTime) {
    this.#time = time;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** A turn has begun and is not used up: who was given a place may go on. */
  get hasTime(): boolean {
    return this.#time.isLeft;
  }

  add(run: () => void): void {
    this.#waiting.push(run);
    this.#askForPlaces();
  }

  /** A pause for whoever works through something long: resolves in a turn that has time left. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.add(resolve);
    });
  }

  /** For something long that begins now. */
  slices(): Slices {
    return new Slices(this, this.#time);
  }

  #askForPlaces(): void {
    const wanted = Math.min(this.#waiting.length - this.#done, perTurn);
    for (; this.#places < wanted; this.#places++) this.#time.later(() => this.#step());
  }

  #step(): void {
    this.#places--;
    this.#time.begin();
    const run = !this.#hasBegun || this.#time.isLeft ? this.#waiting[this.#done] : undefined;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#time.later(() => {
        this.#hasBegun = false;
      });
    }
    if (run !== undefined) this.#done++;
    if (this.#done === this.#waiting.length || this.#done > perTurn) {
      this.#waiting = this.#waiting.slice(this.#done);
      this.#done = 0;
    }
    this.#askForPlaces();
    run?.();
  }
}

/**
 * Tells who works through something long when others are to have their turn: what goes on in a turn ends with it,
 * however many others have had some of it, and what has just begun has half as long as a turn, or shares that with
 * others that have begun together with it.
 */
export class Slices {
  readonly #queue: TurnQueue;
  readonly #time: TurnTime;
  #ends: number;

  constructor(queue: TurnQueue, time: TurnTime) {
    this.#queue = queue;
    this.#time = time;
    this.#ends = Math.min(time.now() + time.turnMs / 2, time.sharedUntil ?? Infinity);
  }

  get over(): boolean {
    return this.#time.now() >= this.#ends;
  }

  async next(): Promise<void> {
    await this.#queue.next();
    this.#ends = this.#time.endsAt ?? this.#time.now();
  }
}

/** There is one event loop in a thread, and its turns have one time. */
export const loopTime = new TurnTime({ now: () => performance.now(), later: setImmediate });
const turns = new TurnQueue(loopTime);

/**
 * Turns for what nobody waits for. They are short: whatever else wants the event loop loses little of each of its own
 * turns, and where there is nothing else one follows upon the other.
 */
export const spareTurns = new TurnQueue(
  new TurnTime({ now: () => performance.now(), later: setImmediate }, { turnMs: spareMs }),
);

/** A pause for whoever works through something long: resolves in a turn that has time left. */
export const nextTurn = (): Promise<void> => turns.next();

/** For something long that begins now. */
export const slicesOfTurns = (): Slices => turns.slices();
