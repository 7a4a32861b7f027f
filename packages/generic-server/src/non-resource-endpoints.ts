import type { ServerResponse } from 'node:http';
import { accepts, encodeJsonGo, errorText, parseAccept, statusErrors } from '@multiplane/apimachinery';
import {
  lazyLibrary,
  metricsContentType,
  parseHealthRequest,
  renderHealth,
  StartupUnfinishedError,
  type HealthChecks,
  type Logger,
  type MetricsRegistry,
} from '@multiplane/component-base';
import type express from 'express';
import type { Router } from 'express';
import { HealthMetrics } from './health-metrics.ts';
import type { Handler, RequestContext } from './request/request-context.ts';
import type { RequestMetrics } from './request/request-metrics.ts';
import { expressHandler, type ExpressHandler, type SocketExchange } from './server/express-handler.ts';
import { acceptHeader, notRepresentableAs } from './response/negotiation.ts';
import { writeMethodNotAllowed, writeNotFoundText, writeStatusError } from './response/responses.ts';

/** Loaded on the first request, so that it does not delay the start. */
const loadExpress = lazyLibrary<typeof express>(import.meta.url, 'express');

/** The document at `/version`. `major` and `minor` are decimal numbers. */
export interface VersionInfo {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  /** `GOOS/GOARCH`, such as `linux/amd64`. */
  readonly platform: string;
}

/** OpenID Connect discovery documents of the ServiceAccount token issuer (KEP-1393). */
export interface IssuerDocuments {
  openIdConfiguration(): object;
  jwks(): object;
}

export interface NonResourceEndpointsModules {
  readonly health: HealthChecks;
  readonly registry: MetricsRegistry;
  readonly metrics: RequestMetrics;
  readonly version: VersionInfo;
  readonly logger: Logger;
  readonly issuer?: IssuerDocuments | undefined;
  /** Additional paths in the list at `/`. */
  readonly paths?: (() => readonly string[]) | undefined;
  /** Additional routes of a server. */
  readonly routes?: Router | undefined;
}

const issuerCacheControl = 'public, max-age=3600';
const commonPaths = [
  '/healthz',
  '/livez',
  '/metrics',
  '/metrics/slis',
  '/openapi/v2',
  '/openapi/v3',
  '/readyz',
  '/version',
];

/**
 * Handles requests that are neither resource requests nor discovery nor OpenAPI: health, version, metrics and well-known
 * documents. Express is slow and supports HTTP/2 only through Node's compatibility layer, so no frequent request may use it;
 * probes and `/version` bypass it.
 */
export function nonResourceEndpoints(modules: NonResourceEndpointsModules): Handler {
  registerBuildInfo(modules);
  const indicators = new HealthMetrics();
  let respond: ExpressHandler | undefined;

  return async (context) => {
    if (respondToVersion(context, modules) || (await respondToProbe(context, indicators, modules))) return;
    const { exchange, info } = context;
    if (exchange.handOver === undefined) {
      writeNotFoundText(exchange);
      return;
    }
    respond ??= createHandler(indicators, modules);
    await respond(exchange as SocketExchange, info.path + queryOf(exchange.url));
  };
}

function createHandler(indicators: HealthMetrics, modules: NonResourceEndpointsModules): ExpressHandler {
  const library = loadExpress();
  const router = library.Router({ caseSensitive: true, strict: true });
  addMetrics(router, indicators, modules);
  addIssuer(router, modules);
  const paths = (): string[] => [...new Set([...commonPaths, ...(modules.paths?.() ?? [])])].sort();
  // Kubernetes' index has no route of its own, so it answers every method.
  router.all('/', (_request, response) => sendJson(response, 'application/json', { paths: paths() }));
  if (modules.routes !== undefined) router.use(modules.routes);
  return expressHandler(library, { router, onMissing: sendNotFound });
}

/** Serves `/version`, whose errors are a Status. Returns false for other paths. */
function respondToVersion(context: RequestContext, { version }: NonResourceEndpointsModules): boolean {
  const { exchange, info } = context;
  if (info.path !== '/version' && !info.path.startsWith('/version/')) return false;
  if (info.path.length > '/version/'.length) {
    writeStatusError(context, statusErrors.unknownResource());
  } else if (exchange.method === 'GET') {
    if (!acceptsJson(context)) return true;
    exchange.setHeader('content-type', 'application/json');
    exchange.respond(200, encodeJsonGo(versionDocument(version), { pretty: true }));
  } else {
    writeMethodNotAllowed(context);
  }
  return true;
}

/** Answers with 406 where a client takes no JSON. */
function acceptsJson(context: RequestContext): boolean {
  const accept = acceptHeader(context.exchange.headers);
  if (accept === '' || parseAccept(accept).some((clause) => accepts(clause, 'application/json'))) return true;
  writeStatusError(context, notRepresentableAs(['application/json']));
  return false;
}

function versionDocument({ major, minor, ...build }: VersionInfo): object {
  const previous = String(Number(minor) - 1);
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: previous,
    gitVersion: build.gitVersion,
    gitCommit: build.gitCommit,
    gitTreeState: build.gitTreeState,
    buildDate: build.buildDate,
    goVersion: '',
    compiler: 'node',
    platform: build.platform,
  };
}

/**
 * Serves health checks. Returns false for other paths. Without express, because probes arrive during the start, and loading
 * it blocks the event loop.
 */
async function respondToProbe(
  context: RequestContext,
  indicators: HealthMetrics,
  { health, logger }: NonResourceEndpointsModules,
): Promise<boolean> {
  const { exchange, info } = context;
  const probe = parseHealthRequest(info.path, new URLSearchParams(queryOf(exchange.url)));
  if (probe === undefined) return false;
  const response = await renderHealth(health, probe);
  indicators.observe(probe.endpoint, response.results);
  // Probes are frequent and unauthenticated, so a failure is logged without its stack.
  for (const { name, error } of response.failures) {
    const level = error instanceof StartupUnfinishedError ? 'info' : 'warn';
    logger[level]('health check failed', { check: name, reason: errorText(error) });
  }
  // kube-apiserver omits this header only for a single check that passes.
  const omitsNoSniff = probe.check !== undefined && response.status === 200;
  for (const [name, value] of Object.entries(response.headers))
    if (!omitsNoSniff || name.toLowerCase() !== 'x-content-type-options') exchange.setHeader(name, value);
  exchange.respond(response.status, response.body);
  return true;
}

const queryOf = (url: string): string => {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark);
};

/** Sets `kubernetes_build_info`, a constant gauge with the version as labels. */
function registerBuildInfo({ registry, version }: NonResourceEndpointsModules): void {
  const labels = {
    major: version.major,
    minor: version.minor,
    git_version: version.gitVersion,
    git_commit: version.gitCommit,
    platform: version.platform,
  };
  const build = registry.gauge({
    name: 'kubernetes_build_info',
    help: 'Version of this program.',
    labels: { major: 1, minor: 1, git_version: 1, git_commit: 1, platform: 1 },
  });
  build.set(1, labels);
}

function addMetrics(
  router: Router,
  indicators: HealthMetrics,
  { registry, metrics }: NonResourceEndpointsModules,
): void {
  router.get('/metrics', async (_request, response) => {
    metrics.collect();
    response.setHeader('content-type', metricsContentType);
    send(response, 200, await registry.render());
  });
  router.delete('/metrics', (_request, response) => {
    registry.reset();
    response.setHeader('content-type', 'text/plain; charset=utf-8');
    send(response, 200, 'metrics reset\n');
  });
  router.get('/metrics/slis', async (_request, response) => {
    response.setHeader('content-type', metricsContentType);
    send(response, 200, await indicators.render());
  });
  router.delete('/metrics/slis', (_request, response) => {
    indicators.reset();
    response.setHeader('content-type', 'text/plain; charset=utf-8');
    send(response, 200, 'metrics reset\n');
  });
}

function addIssuer(router: Router, { issuer }: NonResourceEndpointsModules): void {
  if (issuer === undefined) return;
  router.get('/.well-known/openid-configuration', (_request, response) => {
    response.setHeader('cache-control', issuerCacheControl);
    sendJson(response, 'application/json', issuer.openIdConfiguration());
  });
  router.get('/openid/v1/jwks', (_request, response) => {
    response.setHeader('cache-control', issuerCacheControl);
    sendJson(response, 'application/jwk-set+json', issuer.jwks());
  });
}

function sendJson(response: ServerResponse, contentType: string, document: object): void {
  response.setHeader('content-type', contentType);
  send(response, 200, encodeJsonGo(document, { pretty: contentType === 'application/json' }));
}

function send(response: ServerResponse, status: number, body: string): void {
  response.statusCode = status;
  response.setHeader('content-length', Buffer.byteLength(body));
  response.end(body);
}

function sendNotFound(response: ServerResponse): void {
  response.setHeader('content-type', 'text/plain; charset=utf-8');
  response.setHeader('x-content-type-options', 'nosniff');
  send(response, 404, '404 page not found\n');
}
