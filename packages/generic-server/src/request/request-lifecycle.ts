import { randomUUID } from 'node:crypto';
import { asLogicalClusterName, isStatusError, type LogicalClusterName } from '@multiplane/apimachinery';
import type { Clock, Logger } from '@multiplane/component-base';
import type { Draining } from './draining.ts';
import type { Exchange, Headers } from './exchange.ts';
import { isShardLevelPath } from './filters/shard-level-paths.ts';
import { MountedPath } from './mounted-path.ts';
import type { RequestInfo } from './request-info.ts';
import { resolveRequestInfo } from './request-info-resolver.ts';
import { cleanTarget, parseRequestPath, type RequestPath } from './request-path.ts';
import type { RequestMetrics } from './request-metrics.ts';
import { writeStatusError, writeText } from './responses.ts';
import { ClientGoneError } from './server/base-exchange.ts';
import type { EdgeExchange } from './server/dispatched-exchange.ts';
import { acceptsGzip, GzipExchange } from './server/gzip-exchange.ts';
import { isLongRunning, ServerRequestContext } from './server-request-context.ts';

export interface RequestEdgeModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: RequestMetrics;
  readonly draining: Draining;
  /** The logical cluster behind a path such as `root:a:b`; undefined when nobody knows one. */
  readonly resolvePath: (path: string) => Promise<LogicalClusterName | PathProblem | MountedPath | undefined>;
  /** The logical cluster of a request that names none; documents of the server itself stay outside of any. */
  readonly clusterOfRequest?: ((headers: Headers) => LogicalClusterName | undefined) | undefined;
  /** What a request wants, for a server with other paths than {@link resolveRequestInfo} knows. */
  readonly classify?: ((method: string, target: RequestPath) => RequestInfo) | undefined;
}

/** The path leads to a logical cluster of another shard. */
export const pathLeadsElsewhere = Symbol('the path leads elsewhere');
/** A workspace of the path cannot be used now. */
export const pathIsUnavailable = Symbol('the path is unavailable');
export type PathProblem = typeof pathLeadsElsewhere | typeof pathIsUnavailable;

type ContextHandler = (context: ServerRequestContext) => Promise<void>;

const panicText = 'This request caused apiserver to panic. Look in the logs for details.';
const printableAuditId = /^[\x21-\x7e]{1,64}$/;

/**
 * The border between bytes and the chain: gives a request its audit id and its info, and turns whatever is thrown below
 * into an answer. Nothing is ever thrown above it.
 *
 * A StatusError is the answer. Anything else is a fault of ours: it is logged, and the client learns nothing of it.
 * Once an answer has begun, neither can be told any more: it is cut off.
 */
export class RequestEdge {
  readonly #modules: RequestEdgeModules;
  readonly #next: ContextHandler;

  constructor(modules: RequestEdgeModules, next: ContextHandler) {
    this.#modules = modules;
    this.#next = next;
  }

  readonly handle = async (raw: EdgeExchange): Promise<void> => {
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
      // A name is taken as it is: whether it exists is told only to those who may know (C11.7).
      const found =
        clusterPath === undefined
          ? (target.cluster ?? this.#impliedCluster(raw, target))
          : await this.#modules.resolvePath(clusterPath);
      if (found === pathIsUnavailable) {
        writeText(raw, 503, 'Not available.\n');
        return;
      }
      const mount = found instanceof MountedPath ? found : undefined;
      const cluster = found === pathLeadsElsewhere || found instanceof MountedPath ? undefined : found;
      const isMissing = clusterPath !== undefined && cluster === undefined;
      const { classify } = this.#modules;
      info =
        classify === undefined
          ? resolveRequestInfo(raw.method, target, isMissing ? nowhere : cluster)
          : classify(raw.method, target);
      if (info.verb !== 'watch' && acceptsGzip(raw.headers)) exchange = new GzipExchange(raw);
      context = new ServerRequestContext(exchange, info, auditId, clock.now());
      if (mount !== undefined) context.mount = mount;
      else if (isMissing) context.missingWorkspace = { path: clusterPath, isElsewhere: found === pathLeadsElsewhere };
      await (isLongRunning(info) ? this.#runLong(context) : this.#next(context));
      if (!exchange.headersSent && !raw.ended && !raw.gone) throw new TypeError('a handler returned without an answer');
    } catch (error) {
      if (exchange.headersSent && !raw.ended && !raw.gone) metrics.aborted(raw, info, context?.definition);
      this.#answer(exchange, info, error);
    } finally {
      context?.over();
      metrics.finished(raw, info, context?.definition, exchange.status, clock.monotonic() - startedAt);
    }
  };

  #impliedCluster({ headers }: EdgeExchange, { path, segments }: RequestPath): LogicalClusterName | undefined {
    return segments[0] === 'services' || isShardLevelPath(path) ? undefined : this.#modules.clusterOfRequest?.(headers);
  }

  async #runLong(context: ServerRequestContext): Promise<void> {
    const done = this.#modules.draining.register(context);
    try {
      await this.#next(context);
    } finally {
      done();
    }
  }

  #answer(exchange: Exchange, info: RequestInfo | undefined, error: unknown): void {
    if (error instanceof ClientGoneError || exchange.signal.aborted) return;
    try {
      if (isStatusError(error)) {
        writeStatusError({ exchange, info: info ?? noInfo }, error);
        return;
      }
      this.#modules.logger.error('a request failed', { error, method: exchange.method, path: info?.path });
      if (exchange.headersSent) exchange.destroy();
      else writeText(exchange, 500, `${panicText}\n`);
    } catch (failure) {
      this.#modules.logger.error('an error could not be answered', { error: failure });
      exchange.destroy();
    }
  }
}

/**
 * Stands for the cluster behind a path that leads to none, so that such a request goes the way of all others: an
 * authorizer refuses it like a workspace that exists and is closed to the caller.
 */
const nowhere = asLogicalClusterName('system:nowhere');

const noInfo = { query: new URLSearchParams() };

/** Undefined: the client was sent to a cleaner path. */
function parseTarget(exchange: EdgeExchange): RequestPath | undefined {
  const clean = cleanTarget(exchange.url);
  if (clean === undefined) return parseRequestPath(exchange.url);
  parseRequestPath(clean);
  exchange.setHeader('location', clean);
  exchange.respond(307, '');
  return undefined;
}

/** The client's own id when it sent a sane one (K1.3), else a new one. */
function auditIdOf(exchange: Exchange): string {
  const given = exchange.headers['audit-id'];
  return typeof given === 'string' && printableAuditId.test(given) ? given : randomUUID();
}
