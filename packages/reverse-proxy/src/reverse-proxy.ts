import type { LookupFunction } from 'node:net';
import { systemClock, traced, type Clock } from '@multiplane/component-base';
import type { HeaderFilter } from './header-filter.ts';
import { hopsOf, requestHeaders } from './hop-headers.ts';
import type { ProxyExchange } from './proxy-exchange.ts';
import { isSafeMethod, Relay, type OutgoingRequest, type RelayedBytes } from './relay.ts';
import { Upgrade } from './upgrade.ts';
import { Upstream, type UpstreamOptions } from './upstream.ts';
import { UpstreamError, type UpstreamFailure } from './upstream-error.ts';
import type { UpstreamIdentitySource } from './upstream-identity.ts';

export interface ReverseProxyOptions extends UpstreamOptions {
  /** A request that passed more proxies is rejected. */
  readonly maxHops: number;
  /** Upstreams whose state is kept; beyond it the least recently used idle one is removed. */
  readonly maxUpstreams: number;
  /** Whether upstreams are told which connection of a client a request is from: only servers of this control plane. */
  readonly namesConnections: boolean;
}

const defaultReverseProxyOptions: ReverseProxyOptions = {
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
  namesConnections: false,
};

export interface ReverseProxyModules {
  /** The identity towards every upstream. Another identity needs another proxy (kcp issue 4009). */
  readonly identity: UpstreamIdentitySource;
  readonly clock?: Clock | undefined;
  /** Called when an upstream is found down, or up again. */
  readonly onHealth?: ((origin: string, alive: boolean) => void) | undefined;
  /** Resolves the hosts of upstreams; default: the resolver of the system. Not called for literal addresses. */
  readonly lookup?: LookupFunction | undefined;
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
  /** Called at the end with the bytes of the bodies that were relayed; not for upgraded connections. */
  readonly onRelayed?: ((bytes: RelayedBytes) => void) | undefined;
}

const noHeaders: readonly string[] = [];
/** The upstream received nothing of the request. */
const undelivered: ReadonlySet<UpstreamFailure> = new Set(['unreachable', 'overloaded', 'tls']);

/**
 * Forwards requests to other servers and streams the responses back. A proxy has one identity; no state of a request
 * outlives it, and connections carry no other identity.
 */
export class ReverseProxy {
  readonly #options: ReverseProxyOptions;
  readonly #identity: UpstreamIdentitySource;
  readonly #clock: Clock;
  readonly #onHealth: ReverseProxyModules['onHealth'];
  readonly #lookup: ReverseProxyModules['lookup'];
  readonly #upstreams = new Map<string, Upstream>();
  /** Origin and path by URL object, because URL computes them on each access. */
  readonly #servers = new WeakMap<URL, { readonly origin: string; readonly base: string }>();
  /** Requests that {@link forwardToAny} sent, by its list of servers. */
  readonly #turns = new WeakMap<readonly URL[], number>();
  #closed = false;

  constructor(options: Partial<ReverseProxyOptions>, { identity, clock, onHealth, lookup }: ReverseProxyModules) {
    this.#options = { ...defaultReverseProxyOptions, ...options };
    this.#identity = identity;
    this.#clock = clock ?? systemClock;
    this.#onHealth = onHealth;
    this.#lookup = lookup;
  }

  /**
   * Forwards one request or upgrade. Resolves when the response is complete or was aborted, or the client disconnected.
   * Rejects with an {@link UpstreamError} if no response was started; then the caller writes one.
   */
  forward(outer: ProxyExchange, target: ForwardTarget): Promise<void> {
    return traced('proxy', () => this.#forward(outer, target));
  }

  #forward(outer: ProxyExchange, target: ForwardTarget): Promise<void> {
    try {
      const { ready, run } = this.#prepare(outer, target, false);
      return ready === undefined ? run() : ready.then(run);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /**
   * Forwards one request to one of several equal servers, in turn. Servers that are down are left out until a probe finds
   * them up again. The next server gets the request if it cannot have reached the first one: any request while no
   * connection is used for it, safe ones without a body also when the connection could not be established.
   * Resolves and rejects as {@link forward}; `urls` has at least one entry, and the same list is the same object.
   */
  async forwardToAny(outer: ProxyExchange, urls: readonly URL[], target: Omit<ForwardTarget, 'url'>): Promise<void> {
    const { method, headers } = outer;
    const isRepeatable =
      isSafeMethod(method) &&
      headers['content-length'] === undefined &&
      headers['transfer-encoding'] === undefined &&
      headers['upgrade'] === undefined;
    let failure: Error | undefined;
    for (const url of this.#inTurn(urls)) {
      let isSent = false;
      try {
        const { ready, run } = this.#prepare(outer, { ...target, url }, urls.length > 1);
        if (ready !== undefined) await ready;
        isSent = true;
        return await run();
      } catch (error) {
        if (!(error instanceof UpstreamError) || !undelivered.has(error.failure)) throw error;
        if (isSent && !isRepeatable) throw error;
        failure = error;
      }
    }
    throw failure ?? new UpstreamError('unreachable');
  }

  /** The available servers, beginning with another one each time; behind them those that are not, which are probed. */
  #inTurn(urls: readonly URL[]): readonly URL[] {
    if (urls.length === 1) return urls;
    const turn = this.#turns.get(urls) ?? 0;
    this.#turns.set(urls, (turn + 1) % urls.length);
    const available: URL[] = [];
    const others: URL[] = [];
    for (let i = 0; i < urls.length; i++) {
      const url = urls[(turn + i) % urls.length] as URL;
      const upstream = this.#upstreams.get(url.origin);
      if (upstream === undefined || upstream.isAvailable) available.push(url);
      else {
        upstream.recheck();
        others.push(url);
      }
    }
    return [...available, ...others];
  }

  /** Acquires a slot of the upstream: `run` sends the request once `ready` has resolved. Throws UpstreamError. */
  #prepare(
    outer: ProxyExchange,
    target: ForwardTarget,
    hasOthers: boolean,
  ): { readonly ready: Promise<void> | undefined; readonly run: () => Promise<void> } {
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
      headers: requestHeaders(exchange, hops, headers, dropHeaders, this.#options.namesConnections),
      longRunning,
      onRelayed: target.onRelayed,
    };
    const upstream = this.#upstream(origin);
    const run = (): Promise<void> =>
      upgrades
        ? new Upgrade(exchange, upstream, this.#options).run(request)
        : new Relay(exchange, upstream, request).run();
    return { ready: upstream.acquire(longRunning, !longRunning && !isSafeMethod(exchange.method), hasOthers), run };
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
      { identity: this.#identity, clock: this.#clock, onHealth: this.#onHealth, lookup: this.#lookup },
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
