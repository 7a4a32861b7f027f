import type { ServerResponse } from 'node:http';
import { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { encodeJsonGo, errorText, statusErrors } from '@multiplane/apimachinery';
import {
  lazyLibrary,
  metricsContentType,
  parseHealthRequest,
  renderHealth,
  type HealthChecks,
  type Logger,
  type MetricsRegistry,
} from '@multiplane/component-base';
import type express from 'express';
import type { Express, Request, Response, Router } from 'express';
import type { Handler, RequestContext } from './request-context.ts';
import type { RequestMetrics } from './request-metrics.ts';
import { writeMethodNotAllowed, writeNotFoundText, writeStatusError } from './responses.ts';

/** Loaded by the first request for one of these documents: a start does not wait for it. */
const loadExpress = lazyLibrary<typeof express>(import.meta.url, 'express');

/** What `/version` tells. `major` and `minor` are plain numbers (K9.4). */
export interface VersionInfo {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  /** As Go says it: `linux/amd64`. */
  readonly platform: string;
}

/** The public documents of the ServiceAccount token issuer (K7.2). */
export interface IssuerDocuments {
  openIdConfiguration(): object;
  jwks(): object;
}

export interface OuterApplicationModules {
  readonly health: HealthChecks;
  readonly registry: MetricsRegistry;
  readonly metrics: RequestMetrics;
  readonly version: VersionInfo;
  readonly logger: Logger;
  readonly issuer?: IssuerDocuments | undefined;
  /** More paths that `/` lists. */
  readonly paths?: (() => readonly string[]) | undefined;
  /** Routes a server adds (a console). */
  readonly routes?: Router | undefined;
}

/** How long clients may keep the issuer's documents. */
const issuerCacheControl = 'public, max-age=3600';
const ownPaths = ['/healthz', '/livez', '/metrics', '/openapi/v2', '/openapi/v3', '/readyz', '/version'];

/**
 * Everything that is neither a resource nor discovery nor OpenAPI: documents of the server itself, on express. It is
 * slow and knows HTTP/2 only through a shim, so nothing hot may live here.
 */
export function outerApplication(modules: OuterApplicationModules): Handler {
  tellBuild(modules);
  let applications: Applications | undefined;

  return async (context) => {
    if (answeredHere(context, modules) || (await answeredHealth(context, modules))) return;
    const { exchange, info } = context;
    if (exchange.handOver === undefined) {
      writeNotFoundText(exchange);
      return;
    }
    applications ??= applicationsOf(modules);
    const missing = Promise.withResolvers<'missing'>();
    const { request, response, finished } = exchange.handOver();
    request.url = info.path + queryOf(exchange.url);
    const application = exchange.httpVersion === '2.0' ? applications.http2 : applications.http1;
    application(request as Request, response as Response, (error?: unknown) => {
      if (error === undefined) missing.resolve('missing');
      else missing.reject(error instanceof Error ? error : new Error('express failed', { cause: error }));
    });
    if ((await Promise.race([finished, missing.promise])) === 'missing') {
      sendNotFound(response);
      await finished;
    }
  };
}

/** The same routes for both protocols. */
interface Applications {
  readonly http1: Express;
  readonly http2: Express;
}

function applicationsOf(modules: OuterApplicationModules): Applications {
  const library = loadExpress();
  const router = library.Router({ caseSensitive: true, strict: true });
  addMetrics(router, modules);
  addIssuer(router, modules);
  const paths = (): string[] => [...new Set([...ownPaths, ...(modules.paths?.() ?? [])])].sort();
  router.get('/', (_request, response) => sendJson(response, 'application/json', { paths: paths() }));
  if (modules.routes !== undefined) router.use(modules.routes);
  return { http1: applicationOf(library, router), http2: asHttp2(library, applicationOf(library, router)) };
}

/** What must speak in Status: `/version` is a built-in path with built-in errors (K1.2). */
function answeredHere(context: RequestContext, { version }: OuterApplicationModules): boolean {
  const { exchange, info } = context;
  if (info.path !== '/version' && !info.path.startsWith('/version/')) return false;
  if (info.path.length > '/version/'.length) {
    writeStatusError(context, statusErrors.unknownResource());
  } else if (exchange.method === 'GET') {
    exchange.setHeader('content-type', 'application/json');
    exchange.respond(200, encodeJsonGo(versionDocument(version), { pretty: true }));
  } else {
    writeMethodNotAllowed(context);
  }
  return true;
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
 * Probes are answered without the library: a start is asked whether it is ready before anything else, and loading it holds
 * the event loop.
 */
async function answeredHealth(context: RequestContext, { health, logger }: OuterApplicationModules): Promise<boolean> {
  const { exchange, info } = context;
  const asked = parseHealthRequest(info.path, new URLSearchParams(queryOf(exchange.url)));
  if (asked === undefined) return false;
  const answer = await renderHealth(health, asked);
  // Anybody may ask, and a server that starts or waits is asked all the time: a line each, no stack.
  for (const { name, error } of answer.failures)
    logger.warn('a health check failed', { check: name, why: errorText(error) });
  // A single check that passes is the one answer without this header (recorded).
  const plain = asked.check !== undefined && answer.status === 200;
  for (const [name, value] of Object.entries(answer.headers))
    if (!plain || name.toLowerCase() !== 'x-content-type-options') exchange.setHeader(name, value);
  exchange.respond(answer.status, answer.body);
  return true;
}

const queryOf = (url: string): string => {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark);
};

/** `kubernetes_build_info`: a constant whose labels say what runs (K9.5). */
function tellBuild({ registry, version }: OuterApplicationModules): void {
  const labels = {
    major: version.major,
    minor: version.minor,
    git_version: version.gitVersion,
    git_commit: version.gitCommit,
    platform: version.platform,
  };
  const build = registry.gauge({
    name: 'kubernetes_build_info',
    help: 'What this program is.',
    labels: { major: 1, minor: 1, git_version: 1, git_commit: 1, platform: 1 },
  });
  build.set(1, labels);
}

function addMetrics(router: Router, { registry, metrics }: OuterApplicationModules): void {
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
}

function addIssuer(router: Router, { issuer }: OuterApplicationModules): void {
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

function applicationOf(library: typeof express, router: Router): Express {
  const application = library();
  application.disable('x-powered-by');
  application.disable('etag');
  application.enable('strict routing');
  application.use(router);
  return application;
}

/**
 * Express sets the prototype of each request and response to objects that inherit from node:http's classes, whose
 * methods do not work on HTTP/2. This puts express' own methods on top of the compatibility layer's classes instead.
 */
function asHttp2(library: typeof express, application: Express): Express {
  application.request = rebase<Request>(library.request, Http2ServerRequest.prototype, application);
  application.response = rebase<Response>(library.response, Http2ServerResponse.prototype, application);
  return application;
}

function rebase<T extends object>(methods: T, prototype: object, application: Express): T {
  const own = Object.getOwnPropertyDescriptors(methods);
  return Object.create(prototype, {
    ...own,
    app: { configurable: true, enumerable: true, writable: true, value: application },
  }) as T;
}
