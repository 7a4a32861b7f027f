import { type Clock, type Timer, sleepOn } from './clock.ts';

interface Pending {
  readonly at: number;
  readonly callback: () => void;
}

/**
 * A clock that stands still until a test advances it.
 *
 * `advance` runs due callbacks in order of time and lets promise chains settle in between, so that a loop which
 * sleeps, works and sleeps again takes as many turns as it would in real time.
 */
export class FakeClock implements Clock {
  #time: number;
  readonly #start: number;
  readonly #pending = new Set<Pending>();

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#time = start;
    this.#start = start;
  }

  now(): number {
    return this.#time;
  }

  monotonic(): number {
    return this.#time - this.#start;
  }

  after(ms: number, callback: () => void): Timer {
    const pending: Pending = { at: this.#time + Math.max(0, ms), callback };
    this.#pending.add(pending);
    return { cancel: () => this.#pending.delete(pending) };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  /** How many timers wait; a test uses it to see that nothing was left behind. */
  get timers(): number {
    return this.#pending.size;
  }

  /** Moves time on and runs everything that falls due on the way. */
  async advance(ms: number): Promise<void> {
    const end = this.#time + ms;
    await settle();
    for (let next = this.#due(end); next !== undefined; next = this.#due(end)) {
      this.#pending.delete(next);
      this.#time = next.at;
      next.callback();
      await settle();
    }
    this.#time = end;
  }

  #due(end: number): Pending | undefined {
    let first: Pending | undefined;
    // A Set keeps insertion order, so timers of the same moment run in the order they were set.
    for (const pending of this.#pending) {
      if (pending.at <= end && (first === undefined || pending.at < first.at)) first = pending;
    }
    return first;
  }
}

/** A turn of the event loop: every promise reaction that was queued before has run after it. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
