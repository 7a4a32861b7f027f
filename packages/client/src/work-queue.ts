import type { Clock, Timer } from '@multiplane/component-base';

/** Timers and time, so that tests decide when a delay is over. */
type QueueClock = Pick<Clock, 'after' | 'monotonic'>;

interface WorkQueueOptions {
  /** First delay after a failure in milliseconds, doubled with each further one. */
  readonly baseDelayMs?: number;
  readonly maxDelayMs?: number;
}

/**
 * The queue of a controller, with the guarantees of client-go's:
 *
 * - a key is in the queue at most once, however often it is added;
 * - a key that is being worked on is not given out again: what is added meanwhile comes back when it is done;
 * - a failed key comes back after a delay that doubles with each failure in a row, until {@link forget}.
 *
 * So one controller never works on one key twice at the same time, and never misses a change that came during the work.
 */
export class WorkQueue<K extends string = string> {
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #clock: QueueClock;
  #queue: K[] = [];
  #head = 0;
  readonly #dirty = new Set<K>();
  readonly #processing = new Set<K>();
  readonly #failures = new Map<K, number>();
  readonly #timers = new Map<K, { readonly at: number; readonly timer: Timer }>();
  readonly #waiting: ((key: K | undefined) => void)[] = [];
  #stopped = false;

  constructor(options: WorkQueueOptions, modules: { readonly clock: QueueClock }) {
    this.#baseDelayMs = options.baseDelayMs ?? 5;
    this.#maxDelayMs = options.maxDelayMs ?? 60_000;
    this.#clock = modules.clock;
  }

  /** Keys waiting to be given out. */
  get length(): number {
    return this.#queue.length - this.#head;
  }

  /** True while nothing waits, nothing is worked on and nothing comes back after a delay. */
  get idle(): boolean {
    return this.length === 0 && this.#processing.size === 0 && this.#timers.size === 0;
  }

  add(key: K): void {
    if (this.#stopped || this.#dirty.has(key)) return;
    this.#dirty.add(key);
    if (!this.#processing.has(key)) this.#push(key);
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
    const key = this.#shift();
    if (key !== undefined) return key;
    if (this.#stopped) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
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
    this.#queue = [];
    this.#head = 0;
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

  #shift(): K | undefined {
    if (this.#head >= this.#queue.length) return undefined;
    const key = this.#queue[this.#head++] as K;
    if (this.#head > 1024 && this.#head * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
    this.#take(key);
    return key;
  }

  #take(key: K): void {
    this.#dirty.delete(key);
    this.#processing.add(key);
  }
}
