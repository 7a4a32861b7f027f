import { EventLoopScheduler, sleepOn, type Clock, type Timer } from '@multiplane/component-base';
import { eventLoopIdle } from './event-loop-idle.ts';
import { eventually } from './eventually.ts';

interface Pending {
  readonly at: number;
  readonly callback: () => void;
}

/**
 * Time that only passes when a test advances it, for the two modules that depend on it: timers, and the time slices of the
 * event loop ({@link FakeClock.scheduler}).
 *
 * `advance` runs due callbacks in order of time. After each it waits until the event loop is idle, so that a loop which
 * sleeps, works and sleeps again runs as many rounds as it would in real time, however slow the machine is and however
 * often the work yields.
 */
export class FakeClock implements Clock {
  /** Its slices are exceeded only by time that the test advances. */
  readonly scheduler = new EventLoopScheduler({ now: () => this.monotonic(), schedule: setImmediate });
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

  /**
   * Advances time and runs the timers that become due; waits before, between and after them until the event loop is idle and
   * `isIdle` holds. `isIdle` is for work that takes real time: requests over sockets, jobs of other threads.
   */
  async advance(ms: number, isIdle: () => boolean = () => true): Promise<void> {
    const end = this.#time + ms;
    await settled(isIdle);
    for (let next = this.#due(end); next !== undefined; next = this.#due(end)) {
      this.#pending.delete(next);
      this.#time = next.at;
      next.callback();
      await settled(isIdle);
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

async function settled(isIdle: () => boolean): Promise<void> {
  await eventLoopIdle();
  while (!isIdle()) {
    await eventually(() => {
      if (!isIdle()) throw new Error('work that was started before the clock advances has not ended');
    });
    await eventLoopIdle();
  }
}
