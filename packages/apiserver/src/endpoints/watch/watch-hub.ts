import type { Clock, Timer } from '@multiplane/component-base';
import { UnreadBytes } from '../unread-bytes.ts';

/** A watch as the hub sees it. */
export interface HubMember {
  /** Sends what is queued. */
  flush(): void;
  /** Called a few times a second: time for a bookmark, or for the end. */
  tick(now: number): void;
}

const maxUnreadBytes = 256 * 1024 * 1024;
const tickMs = 250;
/** How long one round of flushing holds the event loop. */
const roundMs = 10;

/**
 * What all watches of a server share, so that none needs a timer of its own.
 *
 * Flushing: an event marks every watch that it concerns; once per turn of the event loop all marked watches write what
 * they have, each in one write. So a burst of events is one write per watch, and a single event to thousands of watches
 * is handed out in rounds of 10 ms between which requests are served.
 * Time: one ticking timer, which runs only while there are watches.
 * Memory: {@link UnreadBytes}, for what clients leave unread. Who is cut off goes on from the last line it read.
 */
export class WatchHub {
  readonly unread: UnreadBytes;
  readonly #clock: Clock;
  readonly #members = new Set<HubMember>();
  #dirty: HubMember[] = [];
  /** Next of them to flush; more may be added behind while a round goes on. */
  #cursor = 0;
  #armed = false;
  #timer: Timer | undefined;

  constructor(
    options: { /** Of all watches together. */ readonly maxUnreadBytes?: number | undefined },
    modules: { readonly clock: Clock },
  ) {
    this.unread = new UnreadBytes({ max: options.maxUnreadBytes ?? maxUnreadBytes });
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

  /** Calls {@link HubMember.flush} soon; a member marks itself once until then. */
  mark(member: HubMember): void {
    this.#dirty.push(member);
    if (this.#armed) return;
    this.#armed = true;
    setImmediate(() => this.#round());
  }

  #round(): void {
    const end = performance.now() + roundMs;
    while (this.#cursor < this.#dirty.length) {
      (this.#dirty[this.#cursor++] as HubMember).flush();
      // Looking at the clock costs as much as a small write.
      if ((this.#cursor & 31) === 0 && performance.now() > end) break;
    }
    if (this.#cursor < this.#dirty.length) {
      setImmediate(() => this.#round());
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
