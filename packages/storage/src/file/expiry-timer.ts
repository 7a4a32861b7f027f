import { type Expiry, ExpiryQueue } from './expiry-queue.ts';

export interface ExpiryTimerOptions {
  readonly now: () => number;
  /** Removes a key if it still goes at that time; resolves when that is done or not needed. */
  readonly expire: (expiry: Expiry) => Promise<void>;
}

/** Keys whose time is over go together in one write; more than these wait for the next. */
const keysPerRound = 500;
/** Times are met this late at most, so that keys that go at about the same time share a round. */
const graceMs = 200;
/** After a failure, and the longest that a timer may be set. */
const retryMs = 1000;
const longestMs = 3_600_000;

/** Removes keys when their time is over: one timer for the earliest, none when no key expires. */
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

  /** A key goes at that time. */
  expect(expiry: Expiry): void {
    this.#queue.push(expiry);
    this.#schedule(expiry.at);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#round;
  }

  #schedule(at: number): void {
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
    if (first !== undefined) this.#schedule(failed ? now() + retryMs : first.at);
  }
}
