import type { Clock, TimeSlices } from '@multiplane/component-base';
import type { CacheEntry, CacheEvent } from '@multiplane/storage';
import { maxUnreadMs } from './watch-stream.ts';

/** Bytes of objects whose events are delivered before the client must have read them. */
const batchBytes = 256 * 1024;

export interface EventReplayOptions {
  /** Bytes of events that may arrive while older ones wait. */
  readonly maxArrivedBytes: number;
}

export interface EventReplayModules {
  readonly clock: Clock;
  readonly slices: TimeSlices;
  readonly deliver: (event: CacheEvent) => void;
  /** Undefined if everything that was delivered is written and the client has read enough; else resolves when it is, or the watch has ended. */
  readonly settled: () => Promise<void> | undefined;
  /** Whether the watch has ended. */
  readonly isEnded: () => boolean;
  /** Disconnects a client that reads too slowly. */
  readonly terminate: () => void;
}

/**
 * The events that a watch has missed, and those that arrive before it has caught up.
 *
 *  1. A subscription delivers all missed events at once: megabytes, if a client was away for a minute. They are in the event window
 *     of the cache, so keeping references takes no memory of its own while they are.
 *  2. {@link run} passes them on in batches, in time slices and as fast as the client reads, like the initial events of a watch.
 *     Otherwise the client would be disconnected for what it could not have read yet, and never catch up.
 *  3. From then on events are passed on as they arrive.
 */
export class EventReplay {
  readonly #options: EventReplayOptions;
  readonly #modules: EventReplayModules;
  #events: CacheEvent[] = [];
  #next = 0;
  #isRunning = false;
  #arrivedBytes = 0;
  #isLive = false;

  constructor(options: EventReplayOptions, modules: EventReplayModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Whether the watch has received all events that the cache has dispatched. */
  get isLive(): boolean {
    return this.#isLive;
  }

  readonly onEvent = (event: CacheEvent): void => {
    if (this.#isLive) {
      this.#modules.deliver(event);
      return;
    }
    if (this.#isRunning) this.#arrivedBytes += sizeOf(event);
    if (this.#arrivedBytes > this.#options.maxArrivedBytes) this.#modules.terminate();
    else this.#events.push(event);
  };

  /**
   * Delivers what has arrived until none is left; called once, when the subscription has delivered the missed events. Rejects if an
   * event cannot be delivered.
   */
  async run(): Promise<void> {
    const { slices, isEnded } = this.#modules;
    this.#isRunning = true;
    while (!this.#deliverBatch()) {
      const settled = this.#modules.settled();
      if (settled !== undefined) await this.#unlessUnread(settled);
      if (slices.isExceeded) await slices.yield();
      if (isEnded()) break;
    }
    this.#events = [];
    this.#next = 0;
    this.#isLive = !isEnded();
  }

  /** Returns whether no event is left. */
  #deliverBatch(): boolean {
    const { deliver, slices } = this.#modules;
    let bytes = 0;
    while (this.#next < this.#events.length) {
      if (bytes > batchBytes || slices.isExceeded) return false;
      const event = this.#events[this.#next++] as CacheEvent;
      bytes += sizeOf(event);
      deliver(event);
    }
    return true;
  }

  /** Waits, and disconnects a client that reads nothing for a minute: it keeps events in memory. */
  async #unlessUnread(settled: Promise<void>): Promise<void> {
    const timer = this.#modules.clock.after(maxUnreadMs, this.#modules.terminate);
    await settled;
    timer.cancel();
  }
}

const sizeOf = ({ current, previous }: CacheEvent): number => ((current ?? previous) as CacheEntry).value.length;
