import { lazyLibrary, LinkedList, type Clock, type ListElement, type Timer } from '@multiplane/component-base';
import type { LookupFunction } from 'node:net';
import type * as Undici from 'undici';
import type { Dispatcher, Pool } from 'undici';
import { limitConcurrentConnects } from './connect-limiter.ts';
import { UpstreamError } from './upstream-error.ts';
import type { UpstreamIdentity, UpstreamIdentitySource } from './upstream-identity.ts';

/** Loaded with the first connection, so that a server that forwards nothing starts without it. */
const loadUndici = lazyLibrary<typeof Undici>(import.meta.url, 'undici');

export interface UpstreamOptions {
  /** Timeout of TCP connect and TLS handshake together. */
  readonly connectTimeoutMs: number;
  /** Connections that are established concurrently. */
  readonly maxConcurrentConnects: number;
  /** Connections for requests that are not long-running; further requests wait for one of them. */
  readonly maxConnections: number;
  /** Idle connections are closed after this time, before the upstream closes them. */
  readonly idleTimeoutMs: number;
  /** While a response is outstanding, a probe is sent after this time without a byte from the upstream. */
  readonly probeAfterMs: number;
  /** Timeout of a probe. */
  readonly probeTimeoutMs: number;
  /**
   * A non-repeatable write is only sent if the upstream was active within this time; otherwise a probe is sent first.
   */
  readonly maxActivityAgeMs: number;
  /** Path of the probe (GET); any response counts as success. */
  readonly probePath: string;
  /** Minimum time between a failed probe and the next one. */
  readonly probeIntervalMs: number;
  /** Streaming responses of an upstream that stays down for this long are aborted. */
  readonly streamGiveUpMs: number;
  /** Writes that the upstream may have received fail with an unknown outcome after this time. */
  readonly writeGiveUpMs: number;
  /** Concurrent requests. */
  readonly maxInFlight: number;
  /** Concurrent long-running requests; each has a connection. */
  readonly maxLongRunning: number;
}

/** A request in flight, as the upstream tracks it. */
export interface PendingRequest {
  readonly longRunning: boolean;
  /** The request can be repeated whatever its outcome. */
  readonly isSafeToRetry: boolean;
  /** Set by the upstream: the list element, the time of sending, and whether the request has released its slot. */
  listElement: ListElement<PendingRequest> | undefined;
  sentAt: number;
  isReleased: boolean;
  /** The upstream is down: fail the request. */
  fail(error: UpstreamError): void;
  /** The proxy stops: end a started response properly, as if the upstream had ended it. */
  end(): void;
}

export interface UpstreamModules {
  readonly identity: UpstreamIdentitySource;
  readonly clock: Clock;
  /** Called when the upstream is found down, or up again. */
  readonly onHealth?: ((origin: string, alive: boolean) => void) | undefined;
  /** Resolves the host of the upstream; default: the resolver of the system. Not called for a literal address. */
  readonly lookup?: LookupFunction | undefined;
}

interface Pools {
  readonly identity: UpstreamIdentity;
  readonly short: Pool;
  readonly long: Pool;
  /** A pool of one connection, outside of the connect limit. */
  readonly probes: Pool;
}

/**
 * One server behind the proxy: its connections and its liveness.
 *
 * **Connections.** HTTP/1.1 with one request at a time, so that slow readers and aborted streams affect no other
 * request. Long-running requests have a pool of their own, because undici scans all connections of a pool for a free
 * one.
 *
 * **Liveness.** A stopped or disconnected server accepts requests and does not respond. There are no periodic checks:
 * only while responses are outstanding and no byte arrived for `probeAfterMs`, one probe is sent. If it succeeds, the
 * requests are slow and the server is up. If it fails, the server is down: outstanding requests fail, and new ones fail
 * unless a new probe succeeds (at most one at a time; new requests wait for it, so that the first request after a
 * recovery succeeds). Started streams are kept for `streamGiveUpMs`, writes that may have been received for
 * `writeGiveUpMs`, because a server that was only stalled still completes them.
 *
 * **Writes.** The outcome of a write to a server that goes down is unknown. So a write that must not be repeated is
 * only sent within `maxActivityAgeMs` of the upstream's last byte; after that a probe goes first. A new connection
 * serves as a probe itself.
 *
 * **No false alarms.** Delays of this process must not count as silence of the upstream: the wait for a response starts
 * when the request is sent, an established connection counts as activity, and an expired deadline is evaluated after
 * the input that was already readable.
 */
export class Upstream {
  readonly origin: string;
  readonly #options: UpstreamOptions;
  readonly #identity: UpstreamIdentitySource;
  readonly #clock: Clock;
  readonly #onHealth: UpstreamModules['onHealth'];
  readonly #lookup: LookupFunction | undefined;
  #pools: Pools | undefined;
  /** Waiting for a connection. */
  readonly #queued = new LinkedList<PendingRequest>();
  /** Sent, waiting for the response to start; ordered by time. */
  readonly #awaitingResponse = new LinkedList<PendingRequest>();
  readonly #streaming = new LinkedList<PendingRequest>();
  #short = 0;
  #long = 0;
  #lastActivityAt = Number.NEGATIVE_INFINITY;
  #lastUsedAt = 0;
  #isMarkedDown = false;
  /** The last connect failed: refused, no such host, or TLS verification. */
  #isUnreachable = false;
  #probe: Promise<boolean> | undefined;
  #lastProbeAt = Number.NEGATIVE_INFINITY;
  #probeTimer: Timer | undefined;
  #giveUpTimers: readonly Timer[] = [];

  constructor(options: UpstreamOptions & { readonly origin: string }, modules: UpstreamModules) {
    this.origin = options.origin;
    this.#options = options;
    this.#identity = modules.identity;
    this.#clock = modules.clock;
    this.#onHealth = modules.onHealth;
    this.#lookup = modules.lookup;
    this.#lastUsedAt = this.#clock.monotonic();
  }

  get isDown(): boolean {
    return this.#isMarkedDown;
  }

  /** Neither down nor was the last connect a failure: one of several equal servers that requests should go to. */
  get isAvailable(): boolean {
    return !this.#isMarkedDown && !this.#isUnreachable;
  }

  /** When the last request was sent, on the monotonic clock; undefined while one is in flight. */
  get idleSince(): number | undefined {
    return this.#short + this.#long === 0 ? this.#lastUsedAt : undefined;
  }

  /**
   * Acquires a slot; throws if none is free or the upstream is down. The caller waits for the result before it sends,
   * and calls {@link onFinished}. `once`: the request must not be sent to an upstream that may be down; with `hasOthers`,
   * neither to one that was never reached, because other upstreams could take it instead.
   */
  acquire(longRunning: boolean, once: boolean, hasOthers = false): Promise<void> | undefined {
    const { maxInFlight, maxLongRunning } = this.#options;
    if (longRunning ? this.#long >= maxLongRunning : this.#short >= maxInFlight) throw new UpstreamError('overloaded');
    if (longRunning) this.#long++;
    else this.#short++;
    if (this.#isMarkedDown) return this.#awaitRecovery(longRunning);
    return once && this.#needsProbe(hasOthers) ? this.#awaitActivity(longRunning) : undefined;
  }

  /** There was activity, but none within `maxActivityAgeMs`. `evenIfNew`: also if there was none at all. */
  #needsProbe(evenIfNew: boolean): boolean {
    return (
      (evenIfNew || Number.isFinite(this.#lastActivityAt)) &&
      this.#clock.monotonic() - this.#lastActivityAt > this.#options.maxActivityAgeMs
    );
  }

  /** Finds out in the background whether an upstream that is not available is up again; at most one probe per interval. */
  recheck(): void {
    const { probeIntervalMs } = this.#options;
    if (this.isAvailable || this.#probe !== undefined) return;
    if (this.#clock.monotonic() - this.#lastProbeAt >= probeIntervalMs) void this.#checkAlive();
  }

  #release(longRunning: boolean): void {
    if (longRunning) this.#long--;
    else this.#short--;
  }

  dispatch(longRunning: boolean, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const pools = this.#currentPools();
    (longRunning ? pools.long : pools.short).dispatch(options, handler);
  }

  /** The request waits for a connection. */
  onQueued(pending: PendingRequest): void {
    this.#move(pending, this.#queued);
  }

  /** The request was sent; its response is outstanding. */
  onSent(pending: PendingRequest): void {
    this.#lastUsedAt = this.#clock.monotonic();
    pending.sentAt = this.#lastUsedAt;
    this.#move(pending, this.#awaitingResponse);
    this.#scheduleProbe(this.#options.probeAfterMs);
  }

  /** The response started; its duration is not limited. */
  onResponseStarted(pending: PendingRequest): void {
    this.onActivity();
    this.#move(pending, this.#streaming);
  }

  /** The request has finished, whatever its result: releases its slot. */
  onFinished(pending: PendingRequest): void {
    pending.listElement?.remove();
    pending.listElement = undefined;
    if (pending.isReleased) return;
    pending.isReleased = true;
    this.#release(pending.longRunning);
  }

  #move(pending: PendingRequest, list: LinkedList<PendingRequest>): void {
    pending.listElement?.remove();
    pending.listElement = list.add(pending);
  }

  /** The upstream sent a byte or accepted a connection. */
  onActivity(): void {
    this.#lastActivityAt = this.#clock.monotonic();
    this.#isUnreachable = false;
    if (this.#isMarkedDown) this.#markUp();
  }

  /**
   * A connect timed out. Returns true and marks the upstream down unless there was activity within the connect timeout;
   * then the upstream, or this process, is only busy.
   */
  onConnectTimeout(): boolean {
    if (this.#clock.monotonic() - this.#lastActivityAt < this.#options.connectTimeoutMs) return false;
    this.#markDown();
    return true;
  }

  /** No connection could be established for a request. */
  onConnectFailure(): void {
    this.#isUnreachable = true;
  }

  /** TLS material for connections outside of the pools (upgrades). */
  get identity(): UpstreamIdentity {
    return this.#identity.current;
  }

  /** Ends the started responses of long-running requests. */
  endLongRunning(): void {
    for (const pending of this.#streaming) if (pending.longRunning) pending.end();
  }

  /** Closes all connections; requests in flight are aborted. */
  async destroy(): Promise<void> {
    this.#probeTimer?.cancel();
    for (const timer of this.#giveUpTimers) timer.cancel();
    const pools = this.#pools;
    this.#pools = undefined;
    await Promise.all([pools?.short.destroy(), pools?.long.destroy(), pools?.probes.destroy()]);
  }

  #currentPools(): Pools {
    const identity = this.#identity.current;
    const known = this.#pools;
    if (known?.identity === identity) return known;
    // Requests in flight complete on their existing connections.
    void known?.short.close();
    void known?.long.close();
    void known?.probes.close();
    const { connectTimeoutMs, maxConcurrentConnects, idleTimeoutMs, maxConnections } = this.#options;
    const undici = loadUndici();
    const connect = undici.buildConnector({
      ...tlsOptions(identity),
      ...(this.#lookup === undefined ? {} : { lookup: this.#lookup }),
      allowH2: false,
      timeout: connectTimeoutMs,
      noDelay: true,
    });
    const options: Pool.Options = {
      allowH2: false,
      pipelining: 1,
      connect: limitConcurrentConnects(
        { maxConcurrent: maxConcurrentConnects },
        { connect, onConnected: () => this.onActivity() },
      ),
      // Inactivity is detected by probes; the timeouts of undici would abort watches.
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

  #scheduleProbe(ms: number): void {
    this.#probeTimer ??= this.#clock.after(ms, () => {
      setImmediate(() => this.#onProbeDue());
    });
  }

  #onProbeDue(): void {
    this.#probeTimer = undefined;
    const oldest = this.#awaitingResponse.first?.value;
    if (oldest === undefined) return;
    const remaining =
      Math.max(oldest.sentAt, this.#lastActivityAt) + this.#options.probeAfterMs - this.#clock.monotonic();
    if (remaining > 0) {
      this.#scheduleProbe(remaining);
      return;
    }
    void this.#checkAlive().then((alive) => {
      if (alive && this.#awaitingResponse.size > 0) this.#scheduleProbe(this.#options.probeAfterMs);
    });
  }

  async #awaitRecovery(longRunning: boolean): Promise<void> {
    const tooSoon = this.#clock.monotonic() - this.#lastProbeAt < this.#options.probeIntervalMs;
    const alive = this.#probe === undefined && tooSoon ? false : await this.#checkAlive();
    if (alive) return;
    this.#release(longRunning);
    throw new UpstreamError('unreachable');
  }

  /** Allows the upstream as much time as a request in flight would. */
  async #awaitActivity(longRunning: boolean): Promise<void> {
    if (await this.#checkAlive(this.#options.probeAfterMs + this.#options.probeTimeoutMs)) return;
    this.#release(longRunning);
    throw new UpstreamError('unreachable');
  }

  /** Probes the upstream; concurrent callers share one probe. */
  #checkAlive(timeoutMs = this.#options.probeTimeoutMs): Promise<boolean> {
    this.#probe ??= this.#sendProbe(timeoutMs).then((alive) => {
      this.#probe = undefined;
      this.#lastProbeAt = this.#clock.monotonic();
      if (alive) this.onActivity();
      else this.#markDown();
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
          controller?.abort(new Error('probe timeout'));
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

  #markDown(): void {
    if (!this.#isMarkedDown) {
      this.#isMarkedDown = true;
      this.#onHealth?.(this.origin, false);
      this.#lastProbeAt = this.#clock.monotonic();
      const { streamGiveUpMs, writeGiveUpMs } = this.#options;
      this.#giveUpTimers = [
        this.#clock.after(writeGiveUpMs, () => void this.#giveUpUnlessAlive(this.#awaitingResponse)),
        this.#clock.after(streamGiveUpMs, () => void this.#giveUpUnlessAlive(this.#streaming)),
      ];
    }
    this.#failAll([...this.#queued, ...[...this.#awaitingResponse].filter(({ isSafeToRetry }) => isSafeToRetry)]);
  }

  async #giveUpUnlessAlive(remaining: LinkedList<PendingRequest>): Promise<void> {
    if (!this.#isMarkedDown || (await this.#checkAlive())) return;
    this.#failAll([...remaining]);
  }

  #failAll(all: readonly PendingRequest[]): void {
    for (const pending of all) {
      this.onFinished(pending);
      pending.fail(new UpstreamError('unanswered'));
    }
  }

  #markUp(): void {
    this.#isMarkedDown = false;
    this.#onHealth?.(this.origin, true);
    for (const timer of this.#giveUpTimers) timer.cancel();
    this.#giveUpTimers = [];
  }
}

/** Options for node:tls `connect`. */
export function tlsOptions({ ca, cert, key, serverName }: UpstreamIdentity): {
  ca?: string[];
  allowPartialTrustChain?: boolean;
  cert?: string;
  key?: string;
  servername?: string;
} {
  return {
    // As in Go, the CA bundle may be the serving certificate itself.
    ...(ca === undefined ? {} : { ca: typeof ca === 'string' ? [ca] : [...ca], allowPartialTrustChain: true }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
}
