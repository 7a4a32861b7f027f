import type { ExpiryKey, Tables } from './tables.ts';

export interface ExpiryTimerOptions {
  readonly now: () => number;
  readonly tables: () => Tables;
  /** Removes a key if it still goes at that time; resolves when that is done or refused. */
  readonly expire: (entry: ExpiryKey) => Promise<void>;
}

/** Keys whose time is over go together in one commit; more than these wait for the next. */
const keysPerRound = 500;
/** Times are met this late at most, so that keys that go at about the same time share a round. */
const graceMs = 200;
/** After a failure, and the longest that a timer may be set. */
const retryMs = 1000;
const longestMs = 3_600_000;

/**
 * Removes keys when their time is over. The index in the file is in the order of time, so only its first entry matters:
 * one timer stands at that time, and a store without expiring keys has none.
 */
export class ExpiryTimer {
  readonly #options: ExpiryTimerOptions;
  #timer: NodeJS.Timeout | undefined;
  #next = Infinity;
  #round: Promise<void> | undefined;
  #closed = false;

  constructor(options: ExpiryTimerOptions) {
    this.#options = options;
  }

  /** A key goes at that time. */
  expect(at: number): void {
    if (this.#closed || at >= this.#next) return;
    this.#next = at;
    clearTimeout(this.#timer);
    const delay = Math.min(Math.max(at - this.#options.now(), 0) + graceMs, longestMs);
    this.#timer = setTimeout(() => this.#start(), delay).unref();
  }

  /** Looks what the file holds; call it once when it is open. */
  begin(): void {
    this.#expectFirst(0);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#round;
  }

  #start(): void {
    this.#next = Infinity;
    this.#round = this.#run().finally(() => {
      this.#round = undefined;
    });
  }

  async #run(): Promise<void> {
    const now = this.#options.now();
    const due = [
      ...this.#options.tables().expiry.getKeys({
        start: undefined,
        end: { at: now + 1, key: '' },
        limit: keysPerRound,
      }),
    ];
    const outcomes = await Promise.allSettled(due.map((entry) => this.#options.expire(entry)));
    if (!this.#closed) this.#expectFirst(outcomes.some(({ status }) => status === 'rejected') ? retryMs : 0);
  }

  #expectFirst(delay: number): void {
    const [first] = this.#options.tables().expiry.getKeys({ start: undefined, end: undefined, limit: 1 });
    if (first !== undefined) this.expect(Math.max(first.at, this.#options.now() + delay));
  }
}
