import { spareTurns, type Clock, type Timer, type TurnQueue } from '@multiplane/component-base';

/** Timers and time, so that tests decide when a delay is over. */
type QueueClock = Pick<Clock, 'after' | 'monotonic'>;

interface WorkQueueModules {
  readonly clock: QueueClock;
  /** When what can wait is given out. */
  readonly turns?: Pick<TurnQueue, 'add' | 'hasTime'> | undefined;
}

interface WorkQueueOptions {
  /** First delay after a failure in milliseconds, doubled with each further one. */
  readonly baseDelayMs?: number;
  readonly maxDelayMs?: number;
}

/** Of so many keys one is of those that can wait, whatever else there is. */
const oneOf = 32;

/**
 * The queue of a controller, with the guarantees of client-go's:
 *
 * - a key is in the queue at most once, however often it is added;
 * - a key that is being worked on is not given out again: what is added meanwhile comes back when it is done;
 * - a failed key comes back after a delay that doubles with each failure in a row, until {@link forget}.
 *
 * So one controller never works on one key twice at the same time, and never misses a change that came during the work.
 *
 * Beside it there is a lane for what can wait: everything that a process finds when it starts, nearly all of it settled.
 * Its keys are given out when no other waits, and in spare turns of the event loop, which all queues share: the look
 * through a large store does not delay those who want something new. Whatever happens to such a key takes it out of the
 * lane. Not even endless other work starves the lane: it has one key of many.
 */
export class WorkQueue<K extends string = string> {
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #clock: QueueClock;
  readonly #queue = new Line<K>();
  /** Keys that can wait, and their order: a key that is not in the set any more has its place in vain. */
  readonly #later = new Set<K>();
  readonly #laterQueue = new Line<K>();
  #given = 0;
  #hasAsked = false;
  readonly #turns: Pick<TurnQueue, 'add' | 'hasTime'>;
  readonly #dirty = new Set<K>();
  readonly #processing = new Set<K>();
  readonly #failures = new Map<K, number>();
  readonly #timers = new Map<K, { readonly at: number; readonly timer: Timer }>();
  readonly #waiting: ((key: K | undefined) => void)[] = [];
  #stopped = false;

  constructor(options: WorkQueueOptions, modules: WorkQueueModules) {
    this.#baseDelayMs = options.baseDelayMs ?? 5;
    this.#maxDelayMs = options.maxDelayMs ?? 60_000;
    this.#clock = modules.clock;
    this.#turns = modules.turns ?? spareTurns;
  }

  /** Keys waiting to be given out. */
  get length(): number {
    return this.#queue.length + this.#later.size;
  }

  /** True while something waits or is worked on, and not for what comes back after a delay. */
  get busy(): boolean {
    return this.length > 0 || this.#processing.size > 0;
  }

  /** True while nothing waits, nothing is worked on and nothing comes back after a delay. */
  get idle(): boolean {
    return !this.busy && this.#timers.size === 0;
  }

  /** `canWait`: of the key nothing is known but that it was there when the process began to look. */
  add(key: K, canWait = false): void {
    if (this.#stopped) return;
    if (canWait) {
      this.#addLater(key);
      return;
    }
    if (this.#later.delete(key)) {
      this.#push(key);
      return;
    }
    if (this.#dirty.has(key)) return;
    this.#dirty.add(key);
    if (!this.#processing.has(key)) this.#push(key);
  }

  #addLater(key: K): void {
    if (this.#dirty.has(key)) return;
    this.#dirty.add(key);
    if (this.#processing.has(key)) return;
    this.#later.add(key);
    this.#laterQueue.push(key);
    this.#askForTurn();
  }

  /** The same after a while. Of several delays of a key the one that is over first counts, as in client-go. */
  addAfter(key: K, milliseconds: number): void {
    if (this.#stopped) return;
    if (milliseconds <= 0) {
      this.add(key);
      return;
    }
    const at = this.#clock.monotonic() + milliseconds;
    const pending = this.#timers.get(key);
    if (pending !== undefined && pending.at <= at) return;
    pending?.timer.cancel();
    const timer = this.#clock.after(milliseconds, () => {
      this.#timers.delete(key);
      this.add(key);
    });
    this.#timers.set(key, { at, timer });
  }

  /** After a failure. */
  addRateLimited(key: K): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.addAfter(key, Math.min(this.#maxDelayMs, this.#baseDelayMs * 2 ** Math.min(failures, 30)));
  }

  /** Failures in a row of a key. */
  failuresOf(key: K): number {
    return this.#failures.get(key) ?? 0;
  }

  /** After a success: the next failure starts with the first delay again. */
  forget(key: K): void {
    this.#failures.delete(key);
  }

  /** The next key; undefined when the queue was stopped. Every key must be given back with {@link done}. */
  async get(): Promise<K | undefined> {
    const key = this.#next();
    if (key !== undefined) return key;
    if (this.#stopped) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#askForTurn();
    });
  }

  done(key: K): void {
    this.#processing.delete(key);
    if (this.#dirty.has(key)) this.#push(key);
  }

  /** Ends all {@link get}s; keys that wait are dropped. */
  stop(): void {
    this.#stopped = true;
    for (const { timer } of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    this.#queue.clear();
    this.#later.clear();
    this.#laterQueue.clear();
    this.#dirty.clear();
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  #push(key: K): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) {
      this.#queue.push(key);
    } else {
      this.#take(key);
      waiting(key);
    }
  }

  #next(): K | undefined {
    if (this.#later.size === 0) return this.#shift();
    if (++this.#given % oneOf === 0) return this.#shiftLater();
    return this.#shift() ?? (this.#turns.hasTime ? this.#shiftLater() : undefined);
  }

  /** One who waits, if any does, begins with a key that can wait; then the next one. */
  #askForTurn(): void {
    if (this.#hasAsked || this.#later.size === 0 || this.#waiting.length === 0) return;
    this.#hasAsked = true;
    this.#turns.add(() => {
      this.#hasAsked = false;
      // Who waits does so because there is no other key.
      const key = this.#waiting.length === 0 ? undefined : this.#shiftLater();
      if (key !== undefined) this.#waiting.shift()?.(key);
      this.#askForTurn();
    });
  }

  #shiftLater(): K | undefined {
    for (;;) {
      const key = this.#laterQueue.shift();
      if (key === undefined) return undefined;
      if (!this.#later.delete(key)) continue;
      this.#take(key);
      return key;
    }
  }

  #shift(): K | undefined {
    const key = this.#queue.shift();
    if (key !== undefined) this.#take(key);
    return key;
  }

  #take(key: K): void {
    this.#dirty.delete(key);
    this.#processing.add(key);
  }
}

/** First come, first served, at the same cost however many there are. */
class Line<K> {
  #keys: K[] = [];
  #head = 0;

  get length(): number {
    return this.#keys.length - this.#head;
  }

  push(key: K): void {
    this.#keys.push(key);
  }

  shift(): K | undefined {
    if (this.#head >= this.#keys.length) return undefined;
    const key = this.#keys[this.#head++];
    if (this.#head > 1024 && this.#head * 2 > this.#keys.length) {
      this.#keys = this.#keys.slice(this.#head);
      this.#head = 0;
    }
    return key;
  }

  clear(): void {
    this.#keys = [];
    this.#head = 0;
  }
}
