import type { Clock, Timer } from '@multiplane/component-base';
import { OutboundBufferLimiter } from '@multiplane/generic-server';
import { FramesInFlight } from './frames-in-flight.ts';

/** A watch as the hub sees it. */
export interface HubMember {
  /** Writes the queued frames. */
  flush(): void;
  /** Called a few times a second: sends bookmarks and checks deadlines. */
  tick(now: number): void;
}

const maxUnreadBytes = 256 * 1024 * 1024;
const tickMs = 250;
/** The time slice of one round of flushes. The first one is short: it delays the responses to the writes. */
const roundMs = 10;
const firstRoundMs = 1;

/**
 * State that all watches of a server share.
 *
 *  - Flushing: an event marks the watches that send it. Once the callback of the event loop that delivered it has ended, with
 *    its microtasks, all marked watches write their queued frames, each in one write. So a burst of events is one write per watch,
 *    and events do not wait for the requests and the work that this iteration of the event loop still starts. One event to
 *    thousands of watches is written in rounds of 10 ms, between which other requests are served.
 *  - Time: a single periodic timer, which runs only while there are watches.
 *  - Memory: a limit of the bytes that clients have not read, over all watches. A disconnected client resumes at the last
 *    event that it read.
 */
export class WatchHub {
  readonly unread: OutboundBufferLimiter;
  readonly framesInFlight = new FramesInFlight();
  readonly #clock: Clock;
  readonly #members = new Set<HubMember>();
  #dirty: HubMember[] = [];
  /** Index of the next watch to flush; others may be appended during a round. */
  #cursor = 0;
  #armed = false;
  #timer: Timer | undefined;

  constructor(
    options: { /** Over all watches. */ readonly maxUnreadBytes?: number | undefined },
    modules: { readonly clock: Clock },
  ) {
    this.unread = new OutboundBufferLimiter({ max: options.maxUnreadBytes ?? maxUnreadBytes });
    this.#clock = modules.clock;
  }

  /** Number of running watches. */
  get size(): number {
    return this.#members.size;
  }

  add(member: HubMember): void {
    this.#members.add(member);
    this.#timer ??= this.#clock.after(tickMs, () => this.#tick());
  }

  remove(member: HubMember): void {
    this.#members.delete(member);
    if (this.#members.size === 0) {
      this.#timer?.cancel();
      this.#timer = undefined;
    }
  }

  /** Schedules {@link HubMember.flush}; a member marks itself once until it is flushed. */
  mark(member: HubMember): void {
    this.#dirty.push(member);
    if (this.#armed) return;
    this.#armed = true;
    process.nextTick(() => this.#round(firstRoundMs));
  }

  #round(ms: number): void {
    const end = this.#clock.monotonic() + ms;
    while (this.#cursor < this.#dirty.length) {
      (this.#dirty[this.#cursor++] as HubMember).flush();
      // Reading the clock costs as much as a small write.
      if ((this.#cursor & 31) === 0 && this.#clock.monotonic() > end) break;
    }
    if (this.#cursor < this.#dirty.length) {
      setImmediate(() => this.#round(roundMs));
      return;
    }
    this.#dirty = [];
    this.#cursor = 0;
    this.#armed = false;
  }

  #tick(): void {
    const now = this.#clock.now();
    for (const member of this.#members) member.tick(now);
    this.#timer = this.#members.size === 0 ? undefined : this.#clock.after(tickMs, () => this.#tick());
  }
}
