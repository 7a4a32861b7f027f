import { isStatusError, StatusError, statusErrors, type UserInfo } from '@multiplane/apimachinery';
import {
  answersPreflight,
  cleanTarget,
  clusterOfToken,
  identityHeaders,
  writeNotFoundText,
  writeStatusError,
  writeText,
  type BaseExchange,
  type Soon,
} from '@multiplane/apiserver';
import {
  metricsContentType,
  parseHealthRequest,
  renderHealth,
  type Clock,
  type HealthChecks,
  type Logger,
  type MetricsRegistry,
} from '@multiplane/component-base';
import { UpstreamError, type HeaderFilter, type ReverseProxy } from '@multiplane/reverse-proxy';
import type { GroupFilter } from './authentication/group-filter.ts';
import { withoutCredentials } from './authentication/credentials.ts';
import { checkImpersonation } from './authentication/impersonation-check.ts';
import type { OptionalAuthentication } from './authentication/optional-authentication.ts';
import type { Mapping } from './mapping/mapping-file.ts';
import type { ProxyMetrics } from './proxy-metrics.ts';
import type { Destination, Router } from './routing/router.ts';
import { isLongRunning, parseTarget, type RequestTarget } from './routing/request-target.ts';

export interface FrontProxyHandlerOptions {
  readonly corsAllowedOrigins: readonly RegExp[];
}

export interface FrontProxyHandlerModules {
  readonly router: Router;
  readonly authentication: OptionalAuthentication;
  readonly groups: GroupFilter;
  /** What must not come from a client. */
  readonly identityHeaders: HeaderFilter;
  readonly proxyOf: (mapping: Mapping) => ReverseProxy;
  /** Whether a user may read the metrics. */
  readonly mayReadMetrics: (user: UserInfo) => Promise<boolean>;
  /** Somebody known made a request through this connection. */
  readonly onAuthenticated: (exchange: BaseExchange) => void;
  readonly health: HealthChecks;
  readonly registry: MetricsRegistry;
  readonly metrics: ProxyMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

const noInfo = { query: new URLSearchParams() };
const nobody: readonly string[] = [];

/**
 * The way of a request through the front-proxy (C11.3), outermost first:
 *
 * ```
 *   health → cors → clean path → in-cluster ServiceAccount → routing → metrics │ authentication → identity headers → forward
 * ```
 * Routing comes before authentication, as in the reference: a workspace that does not exist is refused to everybody in
 * the same words. Whatever is thrown below becomes an answer here; nothing is thrown above.
 */
export class FrontProxyHandler {
  readonly #options: FrontProxyHandlerOptions;
  readonly #modules: FrontProxyHandlerModules;
  /** By the objects of users: those of certificates last as long as their connections. */
  readonly #passedOn = new WeakMap<UserInfo, UserInfo>();
  readonly #stamps = new WeakMap<UserInfo, { readonly mapping: Mapping; readonly headers: readonly string[] }>();

  constructor(options: FrontProxyHandlerOptions, modules: FrontProxyHandlerModules) {
    this.#options = options;
    this.#modules = modules;
  }

  readonly handle = async (exchange: BaseExchange): Promise<void> => {
    const { clock, metrics } = this.#modules;
    const startedAt = clock.monotonic();
    let longRunning = false;
    try {
      if (mayAskForHealth(exchange) && (await this.#answersHealth(exchange))) return;
      if (this.#answersCors(exchange)) return;
      const clean = cleanTarget(exchange.url);
      const target = targetOf(exchange, clean);
      if (clean !== undefined) {
        exchange.setHeader('location', clean);
        exchange.respond(307, '');
        return;
      }
      longRunning = isLongRunning(target) || exchange.takeConnection !== undefined;
      if (longRunning) metrics.longRunning++;
      if (target.path === '/metrics') await this.#metrics(exchange);
      else await this.#route(exchange, target, longRunning);
    } catch (error) {
      this.#answer(exchange, error);
    } finally {
      if (longRunning) metrics.longRunning--;
      metrics.finished(exchange.method, exchange.status, longRunning ? undefined : clock.monotonic() - startedAt);
    }
  };

  async #route(exchange: BaseExchange, target: RequestTarget, longRunning: boolean): Promise<void> {
    const destination = this.#modules.router.route(target, exchange.method);
    if (destination.kind === 'not-found') {
      keptByNobody(exchange);
      writeNotFoundText(exchange);
      return;
    }
    if (destination.kind === 'unavailable') {
      keptByNobody(exchange);
      writeText(exchange, 503, 'Not available.\n');
      return;
    }
    const known = this.#authenticate(exchange);
    const user = known instanceof Promise ? await known : known;
    const headers = user === undefined ? nobody : this.#identity(this.#passOn(user), exchange, destination);
    // Who is known needs no token any more, and a server elsewhere that a tenant named gets nobody's.
    if (user !== undefined || destination.isForeign) withoutCredentials(exchange);
    try {
      await this.#modules.proxyOf(destination.mapping).forward(exchange, {
        url: destination.url,
        path: destination.path,
        headers,
        dropHeaders: this.#modules.identityHeaders,
        longRunning,
      });
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      this.#modules.metrics.failed(destination.shard, error);
      this.#modules.logger.debug('a server behind did not answer', { shard: destination.shard, error });
      answerFailure(exchange, error);
    }
  }

  /** Who asks, as far as the proxy can tell; throws a StatusError 401. */
  #authenticate(exchange: BaseExchange): Soon<UserInfo | undefined> {
    const { authentication, logger, onAuthenticated } = this.#modules;
    const answer = authentication.authenticate(exchange, (error) => logger.debug('credentials refused', { error }));
    const welcome = (user: UserInfo | undefined): UserInfo | undefined => {
      if (user !== undefined) onAuthenticated(exchange);
      return user;
    };
    return answer instanceof Promise ? answer.then(welcome) : welcome(answer);
  }

  /** The user as servers behind see it. */
  #passOn(user: UserInfo): UserInfo {
    let passedOn = this.#passedOn.get(user);
    if (passedOn === undefined) {
      passedOn = { ...user, groups: this.#modules.groups.apply(user.groups) };
      this.#passedOn.set(user, passedOn);
    }
    return passedOn;
  }

  #identity(
    user: UserInfo,
    exchange: BaseExchange,
    { mapping }: Extract<Destination, { kind: 'forward' }>,
  ): readonly string[] {
    checkImpersonation(user, exchange.headers);
    const known = this.#stamps.get(user);
    if (known?.mapping === mapping) return known.headers;
    const headers = identityHeaders(user, mapping.headers);
    if (headers === undefined) throw statusErrors.unauthorized();
    this.#stamps.set(user, { mapping, headers });
    return headers;
  }

  async #answersHealth(exchange: BaseExchange): Promise<boolean> {
    const { url } = exchange;
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const asked = parseHealthRequest(path, new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1)));
    if (asked === undefined) return false;
    const answer = await renderHealth(this.#modules.health, asked);
    for (const [name, value] of Object.entries(answer.headers)) exchange.setHeader(name, value);
    exchange.respond(answer.status, answer.body);
    return true;
  }

  /** True when the request was a browser's question whether it may ask. */
  #answersCors(exchange: BaseExchange): boolean {
    return this.#options.corsAllowedOrigins.length > 0 && answersPreflight(exchange, this.#options.corsAllowedOrigins);
  }

  async #metrics(exchange: BaseExchange): Promise<void> {
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

  #answer(exchange: BaseExchange, error: unknown): void {
    try {
      if (!exchange.headersSent) keptByNobody(exchange);
      if (isStatusError(error)) {
        if (!exchange.headersSent) exchange.setHeader('x-content-type-options', 'nosniff');
        writeStatusError({ exchange, info: noInfo }, error);
        return;
      }
      this.#modules.logger.error('a request failed', { error, method: exchange.method });
      if (exchange.headersSent) exchange.destroy();
      else writeText(exchange, 500, 'Internal Server Error\n');
    } catch (failure) {
      this.#modules.logger.error('an error could not be answered', { error: failure });
      exchange.destroy();
    }
  }
}

/** An answer of this proxy's own is for whoever asked, as a shard's is (K1.3): a workspace that is missing may come. */
function keptByNobody(exchange: BaseExchange): void {
  exchange.setHeader('cache-control', 'no-cache, private');
}

/** Nothing but healthz, livez and readyz begins so, and every request is asked. */
function mayAskForHealth({ url }: BaseExchange): boolean {
  const second = url.charCodeAt(1);
  return second === 0x68 || second === 0x6c || second === 0x72;
}

/** In-cluster clients know no `/clusters/`: their token says where they are (C1.5, C7.3). */
function targetOf(exchange: BaseExchange, clean: string | undefined): RequestTarget {
  const url = clean ?? exchange.url;
  const target = parseTarget(url);
  const { segments } = target;
  if (segments[0] === 'clusters' || segments[0] === 'services') return target;
  const cluster = clusterOfToken(exchange.headers);
  return cluster === undefined ? target : parseTarget(`/clusters/${cluster}${url}`);
}

/** What a server that did not answer is answered with: 503 in Status for what may be tried again, 502 as the reference. */
function answerFailure(exchange: BaseExchange, error: UpstreamError): void {
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
