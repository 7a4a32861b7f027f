import { isStatusError, StatusError, statusErrors, type UserInfo } from '@multiplane/apimachinery';
import {
  LimitedErrors,
  metricsContentType,
  parseHealthRequest,
  renderHealth,
  type Clock,
  type HealthChecks,
  type Logger,
  type MetricsRegistry,
  type Tracer,
} from '@multiplane/component-base';
import {
  respondToPreflight,
  type AddressPolicy,
  type BaseExchange,
  CancellableExchange,
  type ConnectionNames,
  type Precondition,
  type Reauthorizer,
  cleanTarget,
  clusterOfToken,
  identityHeaders,
  isServer,
  type MaybePromise,
  writeNotFoundText,
  writeStatusError,
  writeText,
} from '@multiplane/generic-server';
import { mountUnreachable, UpstreamError, type HeaderFilter, type ReverseProxy } from '@multiplane/reverse-proxy';
import type { GroupFilter } from './authentication/group-filter.ts';
import { removeCredentials } from './authentication/remove-credentials.ts';
import type { WorkspaceTokens } from './authentication/workspace-tokens.ts';
import { checkImpersonation } from './authentication/impersonation-check.ts';
import type { OptionalAuthentication } from './authentication/optional-authentication.ts';
import type { Mapping } from './mapping/mapping-file.ts';
import type { ProxyMetrics } from './proxy-metrics.ts';
import { traceProxied } from './trace-proxied.ts';
import type { Destination, Router } from './routing/router.ts';
import { isLongRunning, parseTarget, type RequestTarget } from './routing/request-target.ts';

export interface FrontProxyHandlerOptions {
  readonly corsAllowedOrigins: readonly RegExp[];
}

export interface FrontProxyHandlerModules {
  readonly router: Router;
  readonly authentication: OptionalAuthentication;
  /** Authenticates tokens for backends other than shards; absent: such tokens are forwarded. */
  readonly workspaceTokens?: Pick<WorkspaceTokens, 'authenticate'> | undefined;
  /** Ends long-running requests whose credentials end. */
  readonly reauthorizer: Pick<Reauthorizer, 'register'>;
  readonly groups: GroupFilter;
  /** Identity headers, which are removed from all requests of clients. */
  readonly identityHeaders: HeaderFilter;
  readonly proxyOf: (mapping: Mapping) => ReverseProxy;
  /** How servers behind mounts outside of this control plane are called: as by `proxyOf`, at addresses that the policy allows. */
  readonly mounts: { readonly proxyOf: (mapping: Mapping) => ReverseProxy; readonly policy: AddressPolicy };
  /** Whether a user may read the metrics. */
  readonly mayReadMetrics: (user: UserInfo) => Promise<boolean>;
  /** Called for every request of a user whom this server or the shard authenticated; only the former has a name here. */
  readonly onAuthenticated: (exchange: BaseExchange, user: string | undefined) => void;
  /** Names the connections of clients for the shards. */
  readonly connectionNames: Pick<ConnectionNames, 'assign'>;
  /** Absent: requests are not traced. */
  readonly tracer?: Tracer | undefined;
  readonly health: HealthChecks;
  readonly registry: MetricsRegistry;
  readonly metrics: ProxyMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

const noInfo = { query: new URLSearchParams() };
const noHeaders: readonly string[] = [];

/**
 * Handles requests, outermost stage first:
 *
 * ```
 *   health → CORS → path normalization → cluster of in-cluster clients → routing → authentication → identity headers → forward
 * ```
 * Like in kcp, routing precedes authentication, so all callers get the same error for a missing workspace. Errors become
 * responses here; {@link handle} never rejects.
 */
export class FrontProxyHandler {
  readonly #options: FrontProxyHandlerOptions;
  readonly #modules: FrontProxyHandlerModules;
  readonly #errors: LimitedErrors;
  /** Upstream identities by user object; the user object of a certificate lives as long as its connection. */
  readonly #upstreamUsers = new WeakMap<UserInfo, UserInfo>();
  readonly #identityHeaders = new WeakMap<
    UserInfo,
    { readonly mapping: Mapping; readonly headers: readonly string[] }
  >();

  constructor(options: FrontProxyHandlerOptions, modules: FrontProxyHandlerModules) {
    this.#options = options;
    this.#modules = modules;
    this.#errors = new LimitedErrors(modules);
  }

  readonly handle = async (exchange: BaseExchange): Promise<void> => {
    const { clock, metrics } = this.#modules;
    const startedAt = clock.monotonic();
    let longRunning = false;
    try {
      if (mayBeProbe(exchange) && (await this.#respondToProbe(exchange))) return;
      if (this.#respondToPreflight(exchange)) return;
      const clean = cleanTarget(exchange.url);
      const target = targetOf(exchange, clean);
      if (clean !== undefined) {
        exchange.setHeader('location', clean);
        exchange.respond(307, '');
        return;
      }
      longRunning = isLongRunning(target) || exchange.takeConnection !== undefined;
      if (longRunning) metrics.longRunning++;
      if (target.path === '/metrics') await this.#serveMetrics(exchange);
      else await this.#route(exchange, target, longRunning);
    } catch (error) {
      this.#respondToError(exchange, error);
    } finally {
      if (longRunning) metrics.longRunning--;
      metrics.finished(exchange.method, exchange.status, longRunning ? undefined : clock.monotonic() - startedAt);
    }
  };

  async #route(exchange: BaseExchange, target: RequestTarget, longRunning: boolean): Promise<void> {
    const routed = this.#modules.router.route(target, exchange.method);
    const destination = routed instanceof Promise ? await routed : routed;
    if (destination.kind === 'not-found') {
      forbidCaching(exchange);
      writeNotFoundText(exchange);
      return;
    }
    if (destination.kind === 'unavailable') {
      forbidCaching(exchange);
      writeText(exchange, 503, 'Not available.\n');
      return;
    }
    const credential = longRunning ? this.#modules.authentication.credentialOf(exchange) : undefined;
    const authenticated = this.#authenticate(exchange);
    let user = authenticated instanceof Promise ? await authenticated : authenticated;
    const preconditions: Precondition[] = [];
    if (user !== undefined) credential?.addTo({ preconditions }, { user });
    else if (destination.cluster !== undefined)
      user = await this.#authenticateInWorkspace(exchange, destination.cluster, preconditions);
    const { authentication, connectionNames } = this.#modules;
    connectionNames.assign(exchange, () => (user !== undefined && isServer(user)) || authentication.isProxy(exchange));
    const headers = user === undefined ? noHeaders : this.#headersOf(this.#upstreamUser(user), exchange, destination);
    // A token that only shards know must not reach a logical cluster that a tenant chose, and is no anonymous request either.
    if (user === undefined && destination.mount === 'own' && exchange.headers['authorization'] !== undefined)
      throw statusErrors.unauthorized();
    // The identity headers replace the token of an authenticated user.
    if (user !== undefined || destination.mount !== undefined) removeCredentials(exchange);
    const watched = longRunning && user !== undefined ? this.#watch(exchange, preconditions) : undefined;
    const { tracer, metrics } = this.#modules;
    try {
      const forward = (): Promise<void> =>
        this.#proxyTo(destination).forward(watched?.exchange ?? exchange, {
          url: destination.url,
          path: destination.path,
          headers,
          dropHeaders: this.#modules.identityHeaders,
          longRunning,
          onRelayed: destination.shard === '' ? undefined : metrics.relayedTo(destination.shard),
        });
      await (tracer === undefined ? forward() : traceProxied(tracer, exchange, user, destination.shard, forward));
      if (user === undefined && destination.shard !== '' && isAcceptedToken(exchange))
        this.#modules.onAuthenticated(exchange, undefined);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      metrics.failed(destination.shard, error);
      this.#modules.logger.debug('failed to forward a request', { shard: destination.shard, error });
      if (destination.mount === 'external' && error.failure !== 'loop')
        throw statusErrors.serviceUnavailable(mountUnreachable);
      respondToUpstreamError(exchange, error);
    } finally {
      watched?.release();
    }
  }

  /** Throws a StatusError for a mount at an address that tenants may not use. */
  #proxyTo({ mapping, mount, url }: Extract<Destination, { kind: 'forward' }>): Pick<ReverseProxy, 'forward'> {
    const { proxyOf, mounts } = this.#modules;
    if (mount !== 'external') return proxyOf(mapping);
    if (!mounts.policy.allowsHost(url.hostname)) throw statusErrors.serviceUnavailable(mountUnreachable);
    return mounts.proxyOf(mapping);
  }

  /** Ends a long-running request when the credential of its user ends; the shard knows the user by identity headers only. */
  #watch(
    exchange: BaseExchange,
    preconditions: readonly Precondition[],
  ): { readonly exchange: CancellableExchange; readonly release: () => void } {
    const ended = new AbortController();
    const cancel = (reason: Error): void => ended.abort(reason);
    const unregister = this.#modules.reauthorizer.register({ info: {}, preconditions, cancel });
    const cancellable = new CancellableExchange(exchange, ended.signal);
    const release = (): void => {
      unregister();
      cancellable.release();
    };
    return { exchange: cancellable, release };
  }

  /** The user; undefined if the shard authenticates the request. Throws a StatusError 401. */
  #authenticate(exchange: BaseExchange): MaybePromise<UserInfo | undefined> {
    const { authentication, logger, onAuthenticated } = this.#modules;
    const result = authentication.authenticate(exchange, (error) => logger.debug('authentication failed', { error }));
    const report = (user: UserInfo | undefined): UserInfo | undefined => {
      if (user !== undefined) onAuthenticated(exchange, user.name);
      return user;
    };
    return result instanceof Promise ? result.then(report) : report(result);
  }

  /** The user of a token that the shard of the logical cluster knows; adds that the token stays valid to the preconditions. */
  async #authenticateInWorkspace(
    exchange: BaseExchange,
    cluster: string,
    preconditions: Precondition[],
  ): Promise<UserInfo | undefined> {
    const found = await this.#modules.workspaceTokens?.authenticate(exchange, cluster);
    if (found === undefined) return undefined;
    preconditions.push(found.precondition);
    this.#modules.onAuthenticated(exchange, found.user.name);
    return found.user;
  }

  /** The user as upstream servers see it, with filtered groups. */
  #upstreamUser(user: UserInfo): UserInfo {
    let upstreamUser = this.#upstreamUsers.get(user);
    if (upstreamUser === undefined) {
      upstreamUser = { ...user, groups: this.#modules.groups.apply(user.groups) };
      this.#upstreamUsers.set(user, upstreamUser);
    }
    return upstreamUser;
  }

  #headersOf(
    user: UserInfo,
    exchange: BaseExchange,
    { mapping }: Extract<Destination, { kind: 'forward' }>,
  ): readonly string[] {
    checkImpersonation(user, exchange.headers);
    const cached = this.#identityHeaders.get(user);
    if (cached?.mapping === mapping) return cached.headers;
    const headers = identityHeaders(user, mapping.headers);
    if (headers === undefined) throw statusErrors.unauthorized();
    this.#identityHeaders.set(user, { mapping, headers });
    return headers;
  }

  async #respondToProbe(exchange: BaseExchange): Promise<boolean> {
    const { url } = exchange;
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const probe = parseHealthRequest(path, new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1)));
    if (probe === undefined) return false;
    const response = await renderHealth(this.#modules.health, probe);
    for (const [name, value] of Object.entries(response.headers)) exchange.setHeader(name, value);
    exchange.respond(response.status, response.body);
    return true;
  }

  /** Sets CORS headers. Returns true if the request was a preflight. */
  #respondToPreflight(exchange: BaseExchange): boolean {
    return (
      this.#options.corsAllowedOrigins.length > 0 && respondToPreflight(exchange, this.#options.corsAllowedOrigins)
    );
  }

  async #serveMetrics(exchange: BaseExchange): Promise<void> {
    const { mayReadMetrics, metrics, registry } = this.#modules;
    const user = await this.#authenticate(exchange);
    if (user === undefined) throw statusErrors.unauthorized();
    if (!(await mayReadMetrics(user))) {
      throw statusErrors.forbidden(
        { group: '', resource: '' },
        '',
        `User ${JSON.stringify(user.name)} cannot get path "/metrics"`,
      );
    }
    metrics.collect();
    exchange.setHeader('content-type', metricsContentType);
    exchange.respond(200, await registry.render());
  }

  #respondToError(exchange: BaseExchange, error: unknown): void {
    try {
      if (!exchange.headersSent) forbidCaching(exchange);
      if (isStatusError(error)) {
        if (!exchange.headersSent) exchange.setHeader('x-content-type-options', 'nosniff');
        writeStatusError({ exchange, info: noInfo }, error);
        return;
      }
      this.#errors.error('failed to handle a request', { error, method: exchange.method });
      if (exchange.headersSent) exchange.destroy();
      else writeText(exchange, 500, 'Internal Server Error\n');
    } catch (failure) {
      this.#errors.error('failed to respond to an error', { error: failure });
      exchange.destroy();
    }
  }
}

/** The front-proxy's own responses must not be cached, like those of shards: a missing workspace may be created. */
function forbidCaching(exchange: BaseExchange): void {
  exchange.setHeader('cache-control', 'no-cache, private');
}

/** Whether a shard accepted the bearer token of a forwarded request: it answers 401 to one that it does not know. */
const isAcceptedToken = ({ headers: { authorization }, status }: BaseExchange): boolean =>
  status >= 200 &&
  status < 500 &&
  status !== 401 &&
  status !== 429 &&
  typeof authorization === 'string' &&
  /^bearer \S/i.test(authorization);

/** Whether the path starts with `/h`, `/l` or `/r`: a cheap check for healthz, livez and readyz. */
function mayBeProbe({ url }: BaseExchange): boolean {
  const second = url.charCodeAt(1);
  return second === 0x68 || second === 0x6c || second === 0x72;
}

/** In-cluster clients send no `/clusters/` prefix; the claims of their token name the logical cluster. */
function targetOf(exchange: BaseExchange, clean: string | undefined): RequestTarget {
  const url = clean ?? exchange.url;
  const target = parseTarget(url);
  const { segments } = target;
  if (segments[0] === 'clusters' || segments[0] === 'services') return target;
  const cluster = clusterOfToken(exchange.headers);
  return cluster === undefined ? target : parseTarget(`/clusters/${cluster}${url}`);
}

/** Responds to a failure of the upstream server: 503 for requests that may be retried, else 502 as in kcp. */
function respondToUpstreamError(exchange: BaseExchange, error: UpstreamError): void {
  switch (error.failure) {
    case 'unreachable':
    case 'overloaded':
      throw statusErrors.serviceUnavailable(error.message, 1);
    case 'unanswered':
      throw statusErrors.timeout(error.message);
    case 'loop':
      throw new StatusError({ code: error.status, reason: '', message: error.message, cause: error });
    default:
      exchange.respond(error.status, '');
  }
}
