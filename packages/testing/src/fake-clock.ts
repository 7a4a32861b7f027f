import { sleepOn, type Clock, type Timer } from '@multiplane/component-base';

interface Pending {
  readonly at: number;
  readonly callback: () => void;
}

/**
 * A clock that only moves when a test advances it.
 *
 * `advance` runs due callbacks in order of time and lets promise chains settle in between, so that a loop which sleeps,
 * works and sleeps again runs as many rounds as it would in real time.
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

  /** Number of pending timers; tests use it to find leaks. */
  get timers(): number {
    return this.#pending.size;
  }

  /** Advances time and runs the timers that become due. */
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

/** One iteration of the event loop: all promise reactions that were queued before it have run. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
