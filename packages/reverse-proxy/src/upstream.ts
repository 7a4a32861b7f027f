import { lazyLibrary, LinkedList, type Clock, type ListElement, type Timer } from '@multiplane/component-base';
import type * as Undici from 'undici';
import type { Dispatcher, Pool } from 'undici';
import { pacedConnector } from './paced-connector.ts';
import { UpstreamError } from './upstream-error.ts';
import type { UpstreamIdentity, UpstreamIdentitySource } from './upstream-identity.ts';

/** Loaded by the first connection: a server that forwards nothing starts without it. */
const loadUndici = lazyLibrary<typeof Undici>(import.meta.url, 'undici');

export interface UpstreamOptions {
  /** TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** Connections that are being made at the same time. */
  readonly connectsAtOnce: number;
  /** Connections for requests that are no watches; further requests wait for one of them. */
  readonly maxConnections: number;
  /** An idle connection is closed after this: sooner than the upstream would. */
  readonly idleTimeoutMs: number;
  /** Without a byte from the upstream for this long while somebody waits for an answer, it is asked whether it lives. */
  readonly silenceMs: number;
  /** How long it has for that. */
  readonly probeTimeoutMs: number;
  /** A write that may not be repeated goes only to an upstream that was heard from so recently; else it is asked first. */
  readonly freshMs: number;
  /** Asked for with GET; any answer at all will do. */
  readonly probePath: string;
  /** Time between a failed probe and the next. */
  readonly probeIntervalMs: number;
  /** Streams at an upstream that has been dead this long are given up. */
  readonly giveUpMs: number;
  /** The same for writes it may have got: whoever waits for one is told sooner that nobody knows. */
  readonly writeGiveUpMs: number;
  /** Requests at the same time. */
  readonly maxInFlight: number;
  /** Watches and the like at the same time; each has a connection. */
  readonly maxLongRunning: number;
}

/** A request under way, as its upstream sees it. */
export interface Pending {
  readonly longRunning: boolean;
  /** It may be sent again, whatever became of it. */
  readonly isHarmless: boolean;
  /** Where its upstream has it, since when it is owed an answer, and whether it is over: the upstream's to set. */
  place: ListElement<Pending> | undefined;
  owedSince: number;
  hasLeft: boolean;
  /** The upstream is dead: give up. */
  fail(error: UpstreamError): void;
  /** The proxy stops: what has begun ends properly, as if the upstream had ended it. */
  end(): void;
}

export interface UpstreamModules {
  readonly identity: UpstreamIdentitySource;
  readonly clock: Clock;
  /** An upstream was found dead, or alive again. */
  readonly onHealth?: ((origin: string, alive: boolean) => void) | undefined;
}

interface Pools {
  readonly identity: UpstreamIdentity;
  readonly short: Pool;
  readonly long: Pool;
  /** One connection that waits for no other. */
  readonly probes: Pool;
}

/**
 * One server behind the proxy: its connections, and whether it lives.
 *
 * Connections speak HTTP/1.1 with one request at a time, so that a reader who is slow, or a stream that is cut, touches
 * nobody else's; requests and long-running ones have pools of their own, because undici looks through all connections
 * of a pool for a free one.
 *
 * A server that is stopped or behind a pulled cable accepts requests and answers none. There are no periodic checks:
 * only while answers are owed and nothing at all has come for `silenceMs`, one probe is sent. If it is answered, the
 * requests are slow and the server is well. If not, the server is down: whoever waits fails at once, and so does who
 * comes, unless a new probe (at most one at a time) says otherwise; new requests wait for that probe, so the first one
 * after a recovery succeeds. Streams that had begun are kept for `giveUpMs`, writes that may have arrived for
 * `writeGiveUpMs`: the server may only have been stalled, and then they end as if nothing had been.
 *
 * Nobody can tell what became of a write that went to a dead server. So it goes only where there was a sign of life just
 * now; where there was none for `freshMs`, the upstream is asked first, and a dead one never gets the write. Others need
 * no such care, and a connection that has yet to be made is a question by itself.
 *
 * What waits here and not there must never count as silence: a request is owed an answer only once it has left, a
 * connection that was made is a sign of life, and a deadline that is over is looked at after the input that lay waiting
 * while this process was busy.
 */
export class Upstream {
  readonly origin: string;
  readonly #options: UpstreamOptions;
  readonly #identity: UpstreamIdentitySource;
  readonly #clock: Clock;
  readonly #onHealth: UpstreamModules['onHealth'];
  #pools: Pools | undefined;
  /** Not sent yet. */
  readonly #queued = new LinkedList<Pending>();
  /** Sent; in order of time. */
  readonly #owed = new LinkedList<Pending>();
  readonly #streaming = new LinkedList<Pending>();
  #short = 0;
  #long = 0;
  #heardAt = Number.NEGATIVE_INFINITY;
  #usedAt = 0;
  #down = false;
  #probe: Promise<boolean> | undefined;
  #probedAt = Number.NEGATIVE_INFINITY;
  #silence: Timer | undefined;
  #funerals: readonly Timer[] = [];

  constructor(options: UpstreamOptions & { readonly origin: string }, modules: UpstreamModules) {
    this.origin = options.origin;
    this.#options = options;
    this.#identity = modules.identity;
    this.#clock = modules.clock;
    this.#onHealth = modules.onHealth;
    this.#usedAt = this.#clock.monotonic();
  }

  get isDown(): boolean {
    return this.#down;
  }

  /** When it was last sent a request, by the monotonic clock; undefined while one is under way. */
  get idleSince(): number | undefined {
    return this.#short + this.#long === 0 ? this.#usedAt : undefined;
  }

  /**
   * Takes a place; throws when there is none, or when the upstream is dead. Wait for the result, and tell when the request
   * is {@link over}. `once`: it must not be sent to an upstream that may be dead.
   */
  enter(longRunning: boolean, once: boolean): Promise<void> | undefined {
    const { maxInFlight, maxLongRunning } = this.#options;
    if (longRunning ? this.#long >= maxLongRunning : this.#short >= maxInFlight) throw new UpstreamError('overloaded');
    if (longRunning) this.#long++;
    else this.#short++;
    if (this.#down) return this.#awaitRecovery(longRunning);
    return once && this.#isStale ? this.#awaitSign(longRunning) : undefined;
  }

  /** There are connections, perhaps, and for a while nothing came over them. */
  get #isStale(): boolean {
    return Number.isFinite(this.#heardAt) && this.#clock.monotonic() - this.#heardAt > this.#options.freshMs;
  }

  #leave(longRunning: boolean): void {
    if (longRunning) this.#long--;
    else this.#short--;
  }

  dispatch(longRunning: boolean, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const pools = this.#currentPools();
    (longRunning ? pools.long : pools.short).dispatch(options, handler);
  }

  /** A request waits for a connection. */
  queued(pending: Pending): void {
    this.#move(pending, this.#queued);
  }

  /** It leaves, and waits for its answer to begin. */
  sent(pending: Pending): void {
    this.#usedAt = this.#clock.monotonic();
    pending.owedSince = this.#usedAt;
    this.#move(pending, this.#owed);
    this.#listenForSilence(this.#options.silenceMs);
  }

  /** Its answer began: it may take as long as it likes. */
  streams(pending: Pending): void {
    this.heard();
    this.#move(pending, this.#streaming);
  }

  /** It is over, one way or another. */
  over(pending: Pending): void {
    pending.place?.remove();
    pending.place = undefined;
    if (pending.hasLeft) return;
    pending.hasLeft = true;
    this.#leave(pending.longRunning);
  }

  #move(pending: Pending, list: LinkedList<Pending>): void {
    pending.place?.remove();
    pending.place = list.add(pending);
  }

  /** Something came from the upstream. */
  heard(): void {
    this.#heardAt = this.#clock.monotonic();
    if (this.#down) this.#recovered();
  }

  /**
   * A connection could not be made in time. True: the upstream is dead; false: others heard from it meanwhile, it is only
   * busy, or this process is.
   */
  unreachable(): boolean {
    if (this.#clock.monotonic() - this.#heardAt < this.#options.connectTimeoutMs) return false;
    this.#died();
    return true;
  }

  /** TLS material for a connection outside of the pools (upgrades). */
  get identity(): UpstreamIdentity {
    return this.#identity.current;
  }

  /** Ends what would go on for as long as its client wants. */
  endLongRunning(): void {
    for (const pending of this.#streaming) if (pending.longRunning) pending.end();
  }

  /** New requests fail; those under way are cut. */
  async destroy(): Promise<void> {
    this.#silence?.cancel();
    for (const funeral of this.#funerals) funeral.cancel();
    const pools = this.#pools;
    this.#pools = undefined;
    await Promise.all([pools?.short.destroy(), pools?.long.destroy(), pools?.probes.destroy()]);
  }

  #currentPools(): Pools {
    const identity = this.#identity.current;
    const known = this.#pools;
    if (known?.identity === identity) return known;
    // Requests under way end on the connections they have.
    void known?.short.close();
    void known?.long.close();
    void known?.probes.close();
    const { connectTimeoutMs, connectsAtOnce, idleTimeoutMs, maxConnections } = this.#options;
    const undici = loadUndici();
    const connect = undici.buildConnector({
      ...tlsOptions(identity),
      allowH2: false,
      timeout: connectTimeoutMs,
      noDelay: true,
    });
    const options: Pool.Options = {
      allowH2: false,
      pipelining: 1,
      connect: pacedConnector({ atOnce: connectsAtOnce }, { connect, onConnected: () => this.heard() }),
      // Time without a byte is what the silence is for; undici would end watches.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleTimeoutMs,
      keepAliveMaxTimeout: idleTimeoutMs,
      maxHeaderSize: 256 * 1024,
    };
    this.#pools = {
      identity,
      short: new undici.Pool(this.origin, { ...options, connections: maxConnections }),
      long: new undici.Pool(this.origin, options),
      probes: new undici.Pool(this.origin, { ...options, connections: 1, connect }),
    };
    return this.#pools;
  }

  #listenForSilence(ms: number): void {
    this.#silence ??= this.#clock.after(ms, () => {
      setImmediate(() => this.#onSilence());
    });
  }

  #onSilence(): void {
    this.#silence = undefined;
    const oldest = this.#owed.first?.value;
    if (oldest === undefined) return;
    const left = Math.max(oldest.owedSince, this.#heardAt) + this.#options.silenceMs - this.#clock.monotonic();
    if (left > 0) {
      this.#listenForSilence(left);
      return;
    }
    void this.#ask().then((alive) => {
      if (alive && this.#owed.size > 0) this.#listenForSilence(this.#options.silenceMs);
    });
  }

  async #awaitRecovery(longRunning: boolean): Promise<void> {
    const tooSoon = this.#clock.monotonic() - this.#probedAt < this.#options.probeIntervalMs;
    const alive = this.#probe === undefined && tooSoon ? false : await this.#ask();
    if (alive) return;
    this.#leave(longRunning);
    throw new UpstreamError('unreachable');
  }

  /** It has as long as a request that was sent would give it. */
  async #awaitSign(longRunning: boolean): Promise<void> {
    if (await this.#ask(this.#options.silenceMs + this.#options.probeTimeoutMs)) return;
    this.#leave(longRunning);
    throw new UpstreamError('unreachable');
  }

  /** Whether the upstream answers anything; one question at a time. */
  #ask(timeoutMs = this.#options.probeTimeoutMs): Promise<boolean> {
    this.#probe ??= this.#sendProbe(timeoutMs).then((alive) => {
      this.#probe = undefined;
      this.#probedAt = this.#clock.monotonic();
      if (alive) this.heard();
      else this.#died();
      return alive;
    });
    return this.#probe;
  }

  #sendProbe(timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      let controller: Dispatcher.DispatchController | undefined;
      const timer = this.#clock.after(timeoutMs, () => {
        setImmediate(() => {
          resolve(false);
          controller?.abort(new Error('no answer in time'));
        });
      });
      const settle = (alive: boolean): void => {
        timer.cancel();
        resolve(alive);
      };
      try {
        this.#currentPools().probes.dispatch(
          { path: this.#options.probePath, method: 'GET' },
          {
            onRequestStart: (given) => (controller = given),
            onResponseStart: () => settle(true),
            onResponseData: () => {},
            onResponseEnd: () => {},
            onResponseError: () => settle(false),
          },
        );
      } catch {
        settle(false);
      }
    });
  }

  #died(): void {
    if (!this.#down) {
      this.#down = true;
      this.#onHealth?.(this.origin, false);
      this.#probedAt = this.#clock.monotonic();
      const { giveUpMs, writeGiveUpMs } = this.#options;
      this.#funerals = [
        this.#clock.after(writeGiveUpMs, () => void this.#bury(this.#owed)),
        this.#clock.after(giveUpMs, () => void this.#bury(this.#streaming)),
      ];
    }
    this.#giveUp([...this.#queued, ...[...this.#owed].filter(({ isHarmless }) => isHarmless)]);
  }

  async #bury(left: LinkedList<Pending>): Promise<void> {
    if (!this.#down || (await this.#ask())) return;
    this.#giveUp([...left]);
  }

  #giveUp(all: readonly Pending[]): void {
    for (const pending of all) {
      this.over(pending);
      pending.fail(new UpstreamError('unanswered'));
    }
  }

  #recovered(): void {
    this.#down = false;
    this.#onHealth?.(this.origin, true);
    for (const funeral of this.#funerals) funeral.cancel();
    this.#funerals = [];
  }
}

/** Options for node's `tls.connect`. */
export function tlsOptions({ ca, cert, key, serverName }: UpstreamIdentity): {
  ca?: string[];
  cert?: string;
  key?: string;
  servername?: string;
} {
  return {
    ...(ca === undefined ? {} : { ca: typeof ca === 'string' ? [ca] : [...ca] }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
}
