import { constants, type ServerHttp2Session } from 'node:http2';

/** A token bucket: `burst` frames at a time, refilled by `perSecond`. */
export interface FrameRateLimit {
  readonly burst: number;
  readonly perSecond: number;
}

export interface SessionLimits {
  /** Streams that the client resets before the response is complete (CVE-2023-44487). */
  readonly resets: FrameRateLimit;
  /** PING frames (CVE-2019-9512). */
  readonly pings: FrameRateLimit;
  /** SETTINGS frames (CVE-2019-9515). */
  readonly settings: FrameRateLimit;
}

class TokenBucket {
  readonly #limit: FrameRateLimit;
  readonly #now: () => number;
  #tokens: number;
  #filledAt: number;
  constructor(limit: FrameRateLimit, now: () => number) {
    this.#limit = limit;
    this.#now = now;
    this.#tokens = limit.burst;
    this.#filledAt = now();
  }
  take(): boolean {
    const now = this.#now();
    const { burst, perSecond } = this.#limit;
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) / 1000) * perSecond);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}

/**
 * Limits the rate of frames that cost the client little and the server much. A session above a limit gets GOAWAY
 * (ENHANCE_YOUR_CALM) and is closed. nghttp2 limits what does not reach Node (CONTINUATION frames, queued acknowledgements,
 * header size).
 */
export class SessionGuard {
  readonly #session: ServerHttp2Session;
  readonly #resets: TokenBucket;
  readonly #now: () => number;
  #lastStreamAt: number;
  #isRejected = false;
  openStreams = 0;

  constructor(session: ServerHttp2Session, limits: SessionLimits, now: () => number) {
    this.#session = session;
    this.#now = now;
    this.#lastStreamAt = now();
    this.#resets = new TokenBucket(limits.resets, now);
    const pings = new TokenBucket(limits.pings, now);
    const settings = new TokenBucket(limits.settings, now);
    session.on('ping', () => {
      if (!pings.take()) this.#reject();
    });
    session.on('remoteSettings', () => {
      if (!settings.take()) this.#reject();
    });
  }

  /** A stream ended; `reset`: the client did not wait for the end of the response. */
  streamClosed(reset: boolean): void {
    this.openStreams--;
    this.#lastStreamAt = this.#now();
    if (reset && !this.#resets.take()) this.#reject();
  }

  /** True if the session has had no stream since `time` (monotonic milliseconds). */
  isIdle(time: number): boolean {
    return this.openStreams === 0 && this.#lastStreamAt <= time;
  }

  #reject(): void {
    if (this.#isRejected || this.#session.destroyed) return;
    this.#isRejected = true;
    this.#session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    // GOAWAY is flushed after the received frames are processed; an earlier destroy would hide the reason from the client.
    setImmediate(() => this.#session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM));
  }
}
