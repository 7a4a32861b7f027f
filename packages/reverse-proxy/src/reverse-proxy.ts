import { systemClock, type Clock } from '@multiplane/component-base';
import type { HeaderFilter } from './header-filter.ts';
import { hopsOf, requestHeaders } from './hop-headers.ts';
import type { ProxyExchange } from './proxy-exchange.ts';
import { isSafeMethod, Relay, type OutgoingRequest } from './relay.ts';
import { Upgrade } from './upgrade.ts';
import { Upstream, type UpstreamOptions } from './upstream.ts';
import { UpstreamError } from './upstream-error.ts';
import type { UpstreamIdentitySource } from './upstream-identity.ts';

export interface ReverseProxyOptions extends UpstreamOptions {
  /** A request that passed more proxies is rejected. */
  readonly maxHops: number;
  /** Upstreams whose state is kept; beyond it the least recently used idle one is removed. */
  readonly maxUpstreams: number;
}

export const defaultReverseProxyOptions: ReverseProxyOptions = {
  connectTimeoutMs: 700,
  maxConcurrentConnects: 16,
  maxConnections: 256,
  idleTimeoutMs: 55_000,
  probeAfterMs: 350,
  probeTimeoutMs: 500,
  maxActivityAgeMs: 100,
  probePath: '/livez/ping',
  probeIntervalMs: 100,
  streamGiveUpMs: 10_000,
  writeGiveUpMs: 2_000,
  maxInFlight: 4_000,
  maxLongRunning: 40_000,
  maxHops: 8,
  maxUpstreams: 256,
};

export interface ReverseProxyModules {
  /** The identity towards every upstream. Another identity needs another proxy (kcp issue 4009). */
  readonly identity: UpstreamIdentitySource;
  readonly clock?: Clock | undefined;
  /** Called when an upstream is found down, or up again. */
  readonly onHealth?: ((origin: string, alive: boolean) => void) | undefined;
}

/** The target of a request, and the headers that are added to it. */
export interface ForwardTarget {
  /** Scheme, host and port; a path is prepended to {@link path}. Must not be modified. */
  readonly url: URL;
  /** Path and query, sent verbatim; default: those of the request. */
  readonly path?: string | undefined;
  /** Headers added after filtering, names and values in turn; a name is repeated for each of its values. */
  readonly headers?: readonly string[] | undefined;
  /** Headers that are not accepted from the client. */
  readonly dropHeaders?: HeaderFilter | undefined;
  /** True for requests that last until the client ends them (watches). */
  readonly longRunning?: boolean | undefined;
}

const noHeaders: readonly string[] = [];

/**
 * Forwards requests to other servers and streams the responses back. A proxy has one identity; no state of a request
 * outlives it, and connections carry no other identity.
 */
export class ReverseProxy {
  readonly #options: ReverseProxyOptions;
  readonly #identity: UpstreamIdentitySource;
  readonly #clock: Clock;
  readonly #onHealth: ReverseProxyModules['onHealth'];
  readonly #upstreams = new Map<string, Upstream>();
  /** Origin and path by URL object, because URL computes them on each access. */
  readonly #servers = new WeakMap<URL, { readonly origin: string; readonly base: string }>();
  #closed = false;

  constructor(options: Partial<ReverseProxyOptions>, { identity, clock, onHealth }: ReverseProxyModules) {
    this.#options = { ...defaultReverseProxyOptions, ...options };
    this.#identity = identity;
    this.#clock = clock ?? systemClock;
    this.#onHealth = onHealth;
  }

  /**
   * Forwards one request or upgrade. Resolves when the response is complete or was aborted, or the client disconnected.
   * Rejects with an {@link UpstreamError} if no response was started; then the caller writes one.
   */
  forward(outer: ProxyExchange, target: ForwardTarget): Promise<void> {
    try {
      const exchange = outer.direct ?? outer;
      const hops = hopsOf(exchange.headers) + 1;
      if (hops > this.#options.maxHops) throw new UpstreamError('loop');
      const upgrades = exchange.takeConnection !== undefined && exchange.headers['upgrade'] !== undefined;
      const longRunning = upgrades || target.longRunning === true;
      const { headers = noHeaders, dropHeaders } = target;
      const { origin, base } = this.#serverOf(target.url);
      const request: OutgoingRequest = {
        method: exchange.method,
        path: joinPaths(base, target.path ?? exchange.url),
        headers: requestHeaders(exchange, hops, headers, dropHeaders),
        longRunning,
      };
      const upstream = this.#upstream(origin);
      const run = (): Promise<void> =>
        upgrades
          ? new Upgrade(exchange, upstream, this.#options).run(request)
          : new Relay(exchange, upstream, request).run();
      const ready = upstream.acquire(longRunning, !longRunning && !isSafeMethod(exchange.method));
      return ready === undefined ? run() : ready.then(run);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Ends watches and upgraded connections; other requests complete. Call it when the listener stops. */
  endLongRunning(): void {
    for (const upstream of this.#upstreams.values()) upstream.endLongRunning();
  }

  /** Aborts all requests in flight. Call it once the listener has stopped. */
  async close(): Promise<void> {
    this.#closed = true;
    const upstreams = [...this.#upstreams.values()];
    this.#upstreams.clear();
    await Promise.all(upstreams.map((upstream) => upstream.destroy()));
  }

  #serverOf(url: URL): { readonly origin: string; readonly base: string } {
    let server = this.#servers.get(url);
    if (server === undefined) {
      server = { origin: url.origin, base: url.pathname };
      this.#servers.set(url, server);
    }
    return server;
  }

  #upstream(origin: string): Upstream {
    if (this.#closed) throw new UpstreamError('unreachable');
    const known = this.#upstreams.get(origin);
    if (known !== undefined) return known;
    this.#evictIdle();
    const upstream = new Upstream(
      { ...this.#options, origin },
      { identity: this.#identity, clock: this.#clock, onHealth: this.#onHealth },
    );
    this.#upstreams.set(origin, upstream);
    return upstream;
  }

  /** Mount URLs name arbitrary servers, so beyond the limit the least recently used idle upstream is removed. */
  #evictIdle(): void {
    if (this.#upstreams.size < this.#options.maxUpstreams) return;
    let leastRecentlyUsed: Upstream | undefined;
    for (const upstream of this.#upstreams.values()) {
      const { idleSince } = upstream;
      if (idleSince !== undefined && idleSince < (leastRecentlyUsed?.idleSince ?? Number.POSITIVE_INFINITY))
        leastRecentlyUsed = upstream;
    }
    if (leastRecentlyUsed === undefined) throw new UpstreamError('overloaded');
    this.#upstreams.delete(leastRecentlyUsed.origin);
    void leastRecentlyUsed.destroy();
  }
}

/** Joins a base path and a path with one slash. */
function joinPaths(base: string, path: string): string {
  if (base === '/' || base === '') return path;
  return (base.endsWith('/') ? base.slice(0, -1) : base) + (path.startsWith('/') ? path : `/${path}`);
}
