import type { DataFile } from './data-file.ts';
import type { ExpiryKey } from './tables.ts';

export interface ExpiryTimerOptions {
  readonly now: () => number;
  readonly file: DataFile;
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
    this.#round = this.#expectFirst(0);
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
    const { file, now: clock, expire } = this.#options;
    const now = clock();
    const due = await file.read(async ({ expiry }) => [
      ...expiry.getKeys({ start: undefined, end: { at: now + 1, key: '' }, limit: keysPerRound }),
    ]);
    const outcomes = await Promise.allSettled(due.map((entry) => expire(entry)));
    const failed = outcomes.some(({ status }) => status === 'rejected');
    if (!this.#closed) await this.#expectFirst(failed ? retryMs : 0);
  }

  async #expectFirst(delay: number): Promise<void> {
    const { file, now } = this.#options;
    const [first] = await file.read(async ({ expiry }) => [
      ...expiry.getKeys({ start: undefined, end: undefined, limit: 1 }),
    ]);
    if (first !== undefined) this.expect(Math.max(first.at, now() + delay));
  }
}
