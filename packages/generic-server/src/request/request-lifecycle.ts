import { randomUUID } from 'node:crypto';
import { asLogicalClusterName, isStatusError, type LogicalClusterName } from '@multiplane/apimachinery';
import { LimitedErrors, type Clock, type Logger } from '@multiplane/component-base';
import type { Draining } from '../lifecycle/draining.ts';
import type { Reauthorizer } from '../lifecycle/reauthorizer.ts';
import type { Exchange, Headers } from '../server/exchange.ts';
import { isShardLevelPath } from '../filters/shard-level-paths.ts';
import { MountedPath } from './mounted-path.ts';
import type { RequestInfo } from './request-info.ts';
import { resolveRequestInfo } from './request-info-resolver.ts';
import { cleanTarget, parseRequestPath, type RequestPath } from './request-path.ts';
import type { RequestMetrics } from './request-metrics.ts';
import { respondStatusError, writeText } from '../response/responses.ts';
import { ClientDisconnectedError } from '../server/base-exchange.ts';
import type { ServerExchange } from '../server/dispatched-exchange.ts';
import { acceptsGzip, GzipExchange } from '../server/gzip-exchange.ts';
import { isLongRunning, ServerRequestContext } from './server-request-context.ts';

export interface RequestLifecycleModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: RequestMetrics;
  readonly draining: Draining;
  /** Ends long-running requests whose callers lose their access. */
  readonly reauthorizer: Pick<Reauthorizer, 'register'>;
  /** The logical cluster of a path such as `root:a:b`; undefined if no workspace has the path. */
  readonly resolvePath: (path: string) => Promise<LogicalClusterName | PathProblem | MountedPath | undefined>;
  /** The logical cluster of a request without one, such as of an in-cluster client. Not called for non-resource paths of the server. */
  readonly clusterOfRequest?: ((headers: Headers) => LogicalClusterName | undefined) | undefined;
  /** Replaces {@link resolveRequestInfo} for a server with other paths. */
  readonly classify?: ((method: string, target: RequestPath) => RequestInfo) | undefined;
}

/** The path resolves to a logical cluster of another shard. */
export const pathOnOtherShard = Symbol('the path is on another shard');
/** A workspace on the path is unavailable. */
export const pathUnavailable = Symbol('the path is unavailable');
export type PathProblem = typeof pathOnOtherShard | typeof pathUnavailable;

type ContextHandler = (context: ServerRequestContext) => Promise<void>;

const panicText = 'This request caused apiserver to panic. Look in the logs for details.';
const printableAuditId = /^[\x21-\x7e]{1,64}$/;

/**
 * The outermost stage of the handler chain: assigns the audit id, resolves the logical cluster and the request info, and
 * turns errors into responses. It never rejects.
 *
 * A StatusError becomes the response. Any other error is a bug: it is logged, at a limited rate, and the client gets a generic 500. If the
 * response has started already, it is aborted in both cases.
 */
export class RequestLifecycle {
  readonly #modules: RequestLifecycleModules;
  readonly #next: ContextHandler;
  readonly #errors: LimitedErrors;

  constructor(modules: RequestLifecycleModules, next: ContextHandler) {
    this.#modules = modules;
    this.#next = next;
    this.#errors = new LimitedErrors(modules);
  }

  readonly handle = async (raw: ServerExchange): Promise<void> => {
    const { clock, metrics } = this.#modules;
    const startedAt = clock.monotonic();
    const auditId = auditIdOf(raw);
    raw.setHeader('audit-id', auditId);
    let info: RequestInfo | undefined;
    let context: ServerRequestContext | undefined;
    let exchange: Exchange = raw;
    try {
      const target = parseTarget(raw);
      if (target === undefined) return;
      const { clusterPath } = target;
      // A logical cluster name is not looked up here: only authorized callers may learn whether it exists.
      const found =
        clusterPath === undefined
          ? (target.cluster ?? this.#defaultCluster(raw, target))
          : await this.#modules.resolvePath(clusterPath);
      if (found === pathUnavailable) {
        writeText(raw, 503, 'Not available.\n');
        return;
      }
      const mount = found instanceof MountedPath ? found : undefined;
      const cluster = found === pathOnOtherShard || found instanceof MountedPath ? undefined : found;
      const isMissing = clusterPath !== undefined && cluster === undefined;
      const { classify } = this.#modules;
      info =
        classify === undefined
          ? resolveRequestInfo(raw.method, target, isMissing ? missingCluster : cluster)
          : classify(raw.method, target);
      if (info.verb !== 'watch' && acceptsGzip(raw.headers)) exchange = new GzipExchange(raw);
      context = new ServerRequestContext(exchange, info, auditId, clock.now());
      if (mount !== undefined) context.mount = mount;
      else if (isMissing) context.missingWorkspace = { path: clusterPath, isOnOtherShard: found === pathOnOtherShard };
      await (isLongRunning(info) ? this.#runLongRunning(context) : this.#next(context));
      if (!exchange.headersSent && !raw.ended && !raw.isClosed)
        throw new TypeError('a handler returned without a response');
    } catch (error) {
      if (exchange.headersSent && !raw.ended && !raw.isClosed) metrics.aborted(raw, info, context?.definition);
      const responding = this.#respondToError(exchange, info, error);
      if (responding !== undefined) await responding;
    } finally {
      context?.finish();
      metrics.finished(raw, info, context?.definition, exchange.status, clock.monotonic() - startedAt);
    }
  };

  #defaultCluster({ headers }: ServerExchange, { path, segments }: RequestPath): LogicalClusterName | undefined {
    return segments[0] === 'services' || isShardLevelPath(path) ? undefined : this.#modules.clusterOfRequest?.(headers);
  }

  async #runLongRunning(context: ServerRequestContext): Promise<void> {
    const { draining, reauthorizer } = this.#modules;
    context.preconditions = [];
    const done = draining.register(context);
    const release = reauthorizer.register(context);
    try {
      await this.#next(context);
    } finally {
      release();
      done();
    }
  }

  /** Undefined: the response is written. */
  #respondToError(exchange: Exchange, info: RequestInfo | undefined, error: unknown): Promise<void> | undefined {
    if (error instanceof ClientDisconnectedError || exchange.signal.aborted) return undefined;
    const fail = (failure: unknown): void => {
      if (exchange.signal.aborted) return;
      this.#errors.error('failed to respond to an error', { error: failure });
      exchange.destroy();
    };
    try {
      if (isStatusError(error))
        return respondStatusError({ exchange, info: info ?? noInfo }, error, info?.cluster)?.catch(fail);
      this.#errors.error('failed to handle a request', { error, method: exchange.method, path: info?.path });
      if (exchange.headersSent) exchange.destroy();
      else writeText(exchange, 500, `${panicText}\n`);
    } catch (failure) {
      fail(failure);
    }
    return undefined;
  }
}

/**
 * The cluster of a request whose path does not exist. The request passes the whole chain, so that authorizers refuse it in
 * the same way as an existing workspace that the caller may not access.
 */
const missingCluster = asLogicalClusterName('system:nowhere');

const noInfo = { query: new URLSearchParams() };

/** Returns undefined if the client was redirected to a path without doubled slashes. */
function parseTarget(exchange: ServerExchange): RequestPath | undefined {
  const clean = cleanTarget(exchange.url);
  if (clean === undefined) return parseRequestPath(exchange.url);
  parseRequestPath(clean);
  exchange.setHeader('location', clean);
  redirect(exchange, clean);
  return undefined;
}

/** As Go's `http.Redirect`: reads get a page with a link. */
function redirect(exchange: ServerExchange, location: string): void {
  const isRead = exchange.method === 'GET' || exchange.method === 'HEAD';
  if (isRead) exchange.setHeader('content-type', 'text/html; charset=utf-8');
  exchange.respond(
    307,
    exchange.method === 'GET' ? `<a href="${escapeHtml(location)}">Temporary Redirect</a>.\n\n` : '',
  );
}

const htmlEscapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};
const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => htmlEscapes[character] ?? '');

/** The `Audit-ID` header of the client if it is printable and short, else a new id. */
function auditIdOf(exchange: Exchange): string {
  const given = exchange.headers['audit-id'];
  return typeof given === 'string' && printableAuditId.test(given) ? given : randomUUID();
}
