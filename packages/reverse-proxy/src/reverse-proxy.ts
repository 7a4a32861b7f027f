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
  /** A request that came through more proxies than this is refused. */
  readonly maxHops: number;
  /** Servers behind that are remembered; the ones unused for longest are forgotten first. */
  readonly maxUpstreams: number;
}

export const defaultReverseProxyOptions: ReverseProxyOptions = {
  connectTimeoutMs: 700,
  connectsAtOnce: 16,
  maxConnections: 256,
  idleTimeoutMs: 55_000,
  silenceMs: 350,
  probeTimeoutMs: 500,
  freshMs: 100,
  probePath: '/livez/ping',
  probeIntervalMs: 100,
  giveUpMs: 10_000,
  writeGiveUpMs: 2_000,
  maxInFlight: 4_000,
  maxLongRunning: 40_000,
  maxHops: 8,
  maxUpstreams: 256,
};

export interface ReverseProxyModules {
  /** Who the proxy is to every upstream. A different identity needs a different proxy (kcp#4009). */
  readonly identity: UpstreamIdentitySource;
  readonly clock?: Clock | undefined;
  /** A server behind was found dead, or alive again. */
  readonly onHealth?: ((origin: string, alive: boolean) => void) | undefined;
}

/** Where a request goes, and as what. */
export interface ForwardTarget {
  /** Scheme, host and port; a path stands before {@link path}. Nobody changes it. */
  readonly url: URL;
  /** Path and query, sent exactly so; as they came when absent. */
  readonly path?: string | undefined;
  /** Added after everything of the client's was filtered: names and values in turn, a name as often as it has values. */
  readonly headers?: readonly string[] | undefined;
  /** What must not come from the client. */
  readonly dropHeaders?: HeaderFilter | undefined;
  /** It lasts as long as the client wants (a watch). */
  readonly longRunning?: boolean | undefined;
}

const noHeaders: readonly string[] = [];

/**
 * Sends requests to other servers and streams their answers back. One proxy has one identity; nothing of a request
 * outlives it, and connections carry no identity but the proxy's own.
 */
export class ReverseProxy {
  readonly #options: ReverseProxyOptions;
  readonly #identity: UpstreamIdentitySource;
  readonly #clock: Clock;
  readonly #onHealth: ReverseProxyModules['onHealth'];
  readonly #upstreams = new Map<string, Upstream>();
  /** Parts of addresses, which URLs put together anew each time they are asked. */
  readonly #servers = new WeakMap<URL, { readonly origin: string; readonly base: string }>();
  #closed = false;

  constructor(options: Partial<ReverseProxyOptions>, { identity, clock, onHealth }: ReverseProxyModules) {
    this.#options = { ...defaultReverseProxyOptions, ...options };
    this.#identity = identity;
    this.#clock = clock ?? systemClock;
    this.#onHealth = onHealth;
  }

  /**
   * Forwards one request, a request for an upgrade included. Resolves when its answer is complete, was cut off, or the
   * client is gone. Rejects with an {@link UpstreamError} when no answer began: then the caller gives one.
   */
  forward(given: ProxyExchange, target: ForwardTarget): Promise<void> {
    try {
      const exchange = given.direct ?? given;
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
      const ready = upstream.enter(longRunning, !longRunning && !isSafeMethod(exchange.method));
      return ready === undefined ? run() : ready.then(run);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Ends watches and upgraded connections; requests finish by themselves. Call it when the server in front stops. */
  endLongRunning(): void {
    for (const upstream of this.#upstreams.values()) upstream.endLongRunning();
  }

  /** Cuts whatever is under way. Call it once the server in front has stopped. */
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
    this.#forgetIdle();
    const upstream = new Upstream(
      { ...this.#options, origin },
      { identity: this.#identity, clock: this.#clock, onHealth: this.#onHealth },
    );
    this.#upstreams.set(origin, upstream);
    return upstream;
  }

  /** Mounts name servers at will: beyond the limit the one goes that nobody has asked for longest. */
  #forgetIdle(): void {
    if (this.#upstreams.size < this.#options.maxUpstreams) return;
    let idlest: Upstream | undefined;
    for (const upstream of this.#upstreams.values()) {
      const { idleSince } = upstream;
      if (idleSince !== undefined && idleSince < (idlest?.idleSince ?? Number.POSITIVE_INFINITY)) idlest = upstream;
    }
    if (idlest === undefined) throw new UpstreamError('overloaded');
    this.#upstreams.delete(idlest.origin);
    void idlest.destroy();
  }
}

/** A base path before a path, with one slash between them. */
function joinPaths(base: string, path: string): string {
  if (base === '/' || base === '') return path;
  return (base.endsWith('/') ? base.slice(0, -1) : base) + (path.startsWith('/') ? path : `/${path}`);
}
