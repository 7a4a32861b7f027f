import { type Expiry, ExpiryQueue } from './expiry-queue.ts';

export interface ExpiryTimerOptions {
  readonly now: () => number;
  /** Deletes a key if it still has this expiry time; resolves when that is done or not necessary. */
  readonly expire: (expiry: Expiry) => Promise<void>;
}

/** Maximum number of keys that are deleted in one write. */
const keysPerRound = 500;
/** Keys are deleted up to this much late, so that keys with similar expiry times share a write. */
const graceMs = 200;
/** The delay after a failure, and the longest delay of a timer. */
const retryMs = 1000;
const longestMs = 3_600_000;

/** Deletes expired keys: one timer for the earliest expiry time, none when no key expires. */
export class ExpiryTimer {
  readonly #options: ExpiryTimerOptions;
  readonly #queue = new ExpiryQueue();
  #timer: NodeJS.Timeout | undefined;
  #next = Infinity;
  #round: Promise<void> | undefined;
  #closed = false;

  constructor(options: ExpiryTimerOptions) {
    this.#options = options;
  }

  /** Schedules the expiry of a key. */
  schedule(expiry: Expiry): void {
    this.#queue.push(expiry);
    this.#setTimer(expiry.at);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#round;
  }

  #setTimer(at: number): void {
    if (this.#closed || at >= this.#next) return;
    this.#next = at;
    clearTimeout(this.#timer);
    const delay = Math.min(Math.max(at - this.#options.now(), 0) + graceMs, longestMs);
    this.#timer = setTimeout(() => this.#start(), delay).unref();
  }

  #start(): void {
    this.#next = Infinity;
    this.#round = this.#run().finally(() => {
      this.#round = undefined;
    });
  }

  async #run(): Promise<void> {
    const { now, expire } = this.#options;
    const due = this.#queue.takeDue(now(), keysPerRound);
    const outcomes = await Promise.allSettled(due.map((expiry) => expire(expiry)));
    let failed = false;
    for (const [i, { status }] of outcomes.entries()) {
      if (status === 'fulfilled') continue;
      failed = true;
      this.#queue.push(due[i] as Expiry);
    }
    const { first } = this.#queue;
    if (first !== undefined) this.#setTimer(failed ? now() + retryMs : first.at);
  }
}
