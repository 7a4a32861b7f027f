import { constants, type ServerHttp2Session } from 'node:http2';

/** How often a client may do what costs it nothing and the server something: `burst` at once, then `perSecond`. */
export interface Budget {
  readonly burst: number;
  readonly perSecond: number;
}

export interface SessionLimits {
  /** Streams that the client resets before their answer is complete (CVE-2023-44487). */
  readonly resets: Budget;
  /** PING frames (CVE-2019-9512). */
  readonly pings: Budget;
  /** SETTINGS frames (CVE-2019-9515). */
  readonly settings: Budget;
}

class TokenBucket {
  readonly #budget: Budget;
  readonly #now: () => number;
  #tokens: number;
  #filledAt: number;
  constructor(budget: Budget, now: () => number) {
    this.#budget = budget;
    this.#now = now;
    this.#tokens = budget.burst;
    this.#filledAt = now();
  }
  take(): boolean {
    const now = this.#now();
    const { burst, perSecond } = this.#budget;
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) / 1000) * perSecond);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}

/**
 * Watches one HTTP/2 session for floods of cheap frames; a session over its budget gets GOAWAY (ENHANCE_YOUR_CALM) and is
 * closed. The library below limits what never reaches us (CONTINUATION frames, queued acknowledgements, header size).
 */
export class SessionGuard {
  readonly #session: ServerHttp2Session;
  readonly #resets: TokenBucket;
  readonly #now: () => number;
  #closedAt: number;
  #refused = false;
  /** Streams that are open. */
  openStreams = 0;

  constructor(session: ServerHttp2Session, limits: SessionLimits, now: () => number) {
    this.#session = session;
    this.#now = now;
    this.#closedAt = now();
    this.#resets = new TokenBucket(limits.resets, now);
    const pings = new TokenBucket(limits.pings, now);
    const settings = new TokenBucket(limits.settings, now);
    session.on('ping', () => {
      if (!pings.take()) this.#refuse();
    });
    session.on('remoteSettings', () => {
      if (!settings.take()) this.#refuse();
    });
  }

  /** A stream is over; `reset`: the client did not wait for its end. */
  closed(reset: boolean): void {
    this.openStreams--;
    this.#closedAt = this.#now();
    if (reset && !this.#resets.take()) this.#refuse();
  }

  /** True when there has been no stream since `time`. */
  isIdle(time: number): boolean {
    return this.openStreams === 0 && this.#closedAt <= time;
  }

  #refuse(): void {
    if (this.#refused || this.#session.destroyed) return;
    this.#refused = true;
    this.#session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    // Frames leave only after the ones that came in are dealt with; destroyed any earlier, the client learns no reason.
    setImmediate(() => this.#session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM));
  }
}
