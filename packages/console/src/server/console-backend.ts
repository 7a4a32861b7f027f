import { statusErrors } from '@multiplane/apimachinery';
import { lazyLibrary, type Clock, type Logger, type MetricsRegistry } from '@multiplane/component-base';
import { expressHandler, type BaseExchange, type ExpressHandler } from '@multiplane/generic-server';
import type express from 'express';
import type { Request, Response, Router } from 'express';
import { ApiProxy } from './api-proxy.ts';
import type { ApiServer } from './api-server.ts';
import { basePath } from './base-path.ts';
import { BrowserAssets } from './browser-assets.ts';
import type { OidcIssuer } from './console-configuration.ts';
import type { Credential } from './credential.ts';
import { exportConsumers } from './export-consumers.ts';
import { homeWorkspaceOf } from './home-workspace.ts';
import { userKubeconfig } from './kubeconfig.ts';
import { LoginLinks } from './login-links.ts';
import { LoginRoutes } from './login-routes.ts';
import { OidcLogin } from './oidc-login.ts';
import { operatorMetrics } from './operator-metrics.ts';
import { operatorTenants } from './operator-tenants.ts';
import type { ConsoleOptions } from './options.ts';
import { RateLimiter } from './rate-limiter.ts';
import { SealedCookies, sessionCookie } from './sealed-cookies.ts';
import { setSecurityHeaders } from './security-headers.ts';
import { redirect, sendError, sendJson, sendText } from './send.ts';
import { SessionAccess } from './session-access.ts';
import { SessionStore, type Session } from './session-store.ts';
import { lookUpUser } from './user-lookup.ts';

export interface ConsoleBackendOptions extends ConsoleOptions {
  readonly profile: 'all-in-one' | 'sharded';
  readonly issuers: readonly OidcIssuer[];
  /** The built browser application. */
  readonly browserFolder: string;
}

export interface ConsoleBackendModules {
  readonly server: () => ApiServer;
  /** The API as clients reach it, for kubeconfigs. */
  readonly external: () => { readonly url: string; readonly ca: string | undefined };
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

type Answer = (request: Request, response: Response) => Promise<void> | void;

/** Loaded by the first request. */
const loadExpress = lazyLibrary<typeof express>(import.meta.url, 'express');
const proxyPrefix = `${basePath}proxy/`;
const clusterPath = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?::[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;
const limits = {
  sessionsPerUser: 20,
  unusedLinks: 100,
  logins: { burst: 60, perSecond: 1, maxSources: 10_000 },
  proxy: { maxInFlight: 10_000, maxInFlightPerSession: 1_000, maxBodyBytes: 8 * 1024 * 1024 },
} as const;

/**
 * The backend of the console. It has no rights: a request carries the credential of the user of its session, or does not leave this
 * process.
 */
export class ConsoleBackend {
  readonly #options: ConsoleBackendOptions;
  readonly #modules: ConsoleBackendModules;
  readonly #sessions: SessionStore;
  readonly #access: SessionAccess;
  readonly #issuers: ReadonlyMap<string, OidcLogin>;
  readonly #logins: LoginRoutes;
  readonly #assets: BrowserAssets;
  readonly #proxy: ApiProxy;
  readonly #handler: ExpressHandler;

  constructor(options: ConsoleBackendOptions, modules: ConsoleBackendModules) {
    const { clock, server, metrics } = modules;
    const externalUrl = options.consoleExternalUrl;
    this.#options = options;
    this.#modules = modules;
    this.#sessions = new SessionStore(
      {
        lifetimeMs: options.consoleSessionLifetime,
        maxSessions: options.consoleMaxSessions,
        maxSessionsPerUser: limits.sessionsPerUser,
      },
      { clock },
    );
    const cookies = new SealedCookies();
    const cookie = sessionCookie(Math.ceil(options.consoleSessionLifetime / 1000));
    this.#access = new SessionAccess({ cookie, externalUrl }, { sessions: this.#sessions, cookies });
    this.#issuers = new Map(options.issuers.map((issuer) => [issuer.id, new OidcLogin(issuer, { clock })]));
    const links = { lifetimeMs: options.consoleLoginLinkLifetime, maxLinks: limits.unusedLinks };
    this.#logins = new LoginRoutes(
      { externalUrl },
      {
        server,
        access: this.#access,
        links: new LoginLinks(links, { clock }),
        limiter: new RateLimiter(limits.logins, { clock }),
        cookies,
        issuers: this.#issuers,
        counted: metrics.counter({
          name: 'multiplane_console_logins_total',
          help: 'Attempts to log in to the console.',
          labels: { method: ['token', 'link', 'oidc'], result: ['success', 'refused', 'limited', 'error'] },
        }),
        describe: (session) => this.#describe(session),
      },
    );
    this.#assets = new BrowserAssets({ folder: options.browserFolder });
    this.#proxy = new ApiProxy(limits.proxy, { server });
    metrics.gauge({
      name: 'multiplane_console_sessions',
      help: 'Sessions of the console.',
      read: () => this.#sessions.size,
    });
    metrics.gauge({
      name: 'multiplane_console_inflight_requests',
      help: 'Requests that the console is forwarding, watches included.',
      read: () => this.#proxy.inFlight,
    });
    const library = loadExpress();
    const router = library.Router({ caseSensitive: true, strict: true });
    this.#addRoutes(router);
    const onMissing = (response: Response): void => sendError(response, statusErrors.unknownResource());
    this.#handler = expressHandler(library, { router, onMissing: (response) => onMissing(response as Response) });
  }

  /** Answers a request; never rejects. */
  async handle(exchange: BaseExchange): Promise<void> {
    try {
      await this.#handler(exchange, exchange.url);
    } catch (error) {
      // Routes answer their errors themselves; what is left is a path that express cannot decode.
      this.#modules.logger.debug('a request of the console failed', { error });
      exchange.destroy();
    }
  }

  /** Ends all sessions, and with them the requests that are being forwarded. */
  close(): void {
    this.#sessions.clear();
    this.#proxy.close();
  }

  #addRoutes(router: Router): void {
    const base = basePath.slice(0, -1);
    const logins = this.#logins;
    router.use((_request, response, next) => {
      setSecurityHeaders(response);
      next();
    });
    const on = (method: 'get' | 'post', path: string, answer: Answer): void => {
      router[method](base + path, (request, response) => this.#answer(request, response, answer));
    };
    on('get', '', (_request, response) => redirect(response, 307, basePath));
    on('get', '/session', (request, response) => this.#getSession(request, response));
    on('post', '/login/token', (request, response) => logins.byToken(request, response));
    on('post', '/login/links', (request, response) => logins.createLink(request, response));
    on('get', '/login/link', (request, response) => logins.showLink(request, response));
    on('post', '/login/link', (request, response) => logins.byLink(request, response));
    on('get', '/login/oidc/:id', (request, response) => logins.startOidc(request, response));
    on('get', '/login/oidc/:id/callback', (request, response) => logins.finishOidc(request, response));
    on('post', '/logout', (request, response) => logins.logOut(request, response));
    on('get', '/kubeconfig', (request, response) => this.#getKubeconfig(request, response));
    on('get', '/operator/metrics', (request, response) => this.#ask(request, response, operatorMetrics));
    on('get', '/operator/tenants', (request, response) => this.#ask(request, response, operatorTenants));
    on('get', '/provider/consumers', (request, response) => {
      const { cluster, export: name } = request.query;
      if (typeof cluster !== 'string' || typeof name !== 'string')
        throw statusErrors.badRequest('cluster and export are required');
      const asked = { cluster, name };
      return this.#ask(request, response, (server, credential) => exportConsumers(server, credential, asked));
    });
    router.use((request, response, next) => {
      if (!request.url.startsWith(proxyPrefix)) next();
      else void this.#answer(request, response, (incoming, outgoing) => this.#forward(incoming, outgoing));
    });
    router.get(`${base}/assets/*path`, (request, response, next) => {
      if (!this.#assets.sendAsset(request, response, request.path.slice(`${basePath}assets/`.length))) next();
    });
    // The application routes all other paths, so that each of them can be reloaded.
    router.get(/^\/console\/(?!assets\/|proxy\/|login\/oidc)/, (request, response) => {
      this.#assets.sendPage(request, response);
    });
  }

  async #answer(request: Request, response: Response, answer: Answer): Promise<void> {
    try {
      await answer(request, response);
    } catch (error) {
      this.#modules.logger.debug('a request of the console failed', { error });
      sendError(response, error);
    }
  }

  async #getSession(request: Request, response: Response): Promise<void> {
    const session = await this.#access.find(request);
    if (session !== undefined) {
      sendJson(response, 200, await this.#describe(session));
      return;
    }
    const issuers = [...this.#issuers.values()].map(({ issuer }) => issuer);
    const oidc = issuers.map(({ id, displayName }) => ({ kind: 'oidc', id, displayName }));
    sendJson(response, 401, { loginMethods: [...oidc, { kind: 'token' }] });
  }

  async #describe(session: Session): Promise<object> {
    return {
      user: session.user,
      issuer: session.issuer ?? null,
      expiresAt: new Date(session.expiresAt).toISOString(),
      csrfToken: session.csrfToken,
      server: {
        version: this.#modules.version,
        profile: this.#options.profile,
        features: { operatorMetrics: true },
      },
      homeWorkspace: await this.#homeWorkspaceOf(session),
    };
  }

  /** Asked for once per session; without an answer the console works, too. */
  #homeWorkspaceOf(session: Session): Promise<string | null> {
    const ask = async (): Promise<string | null> => {
      try {
        return await homeWorkspaceOf(this.#modules.server(), await session.credential.current());
      } catch (error) {
        this.#modules.logger.debug('failed to find the home workspace of a user', { error });
        session.homeWorkspace = undefined;
        return null;
      }
    };
    return (session.homeWorkspace ??= ask());
  }

  async #getKubeconfig(request: Request, response: Response): Promise<void> {
    const session = await this.#access.require(request);
    const { cluster } = request.query;
    if (typeof cluster !== 'string' || cluster.length > 1_024 || !clusterPath.test(cluster))
      throw statusErrors.badRequest('cluster: the path of a workspace is required');
    const { url, ca } = this.#modules.external();
    const issuer = session.issuer === undefined ? undefined : this.#issuers.get(session.issuer)?.issuer;
    const name = cluster.replaceAll(':', '-');
    response.setHeader('content-disposition', `attachment; filename="${name}.kubeconfig"`);
    sendText(response, 200, 'application/yaml', userKubeconfig({ cluster, server: url, ca }, session, issuer));
  }

  /** Sends what is put together from several requests in the name of the user. */
  async #ask(
    request: Request,
    response: Response,
    find: (server: ApiServer, credential: Credential) => Promise<object>,
  ): Promise<void> {
    const session = await this.#access.require(request);
    const credential = await this.#access.credentialOf(session);
    sendJson(response, 200, await find(this.#modules.server(), credential));
  }

  async #forward(request: Request, response: Response): Promise<void> {
    const session = await this.#access.require(request);
    // What tenants store must not become a page, a script or a style of the console.
    const destination = request.headers['sec-fetch-dest'];
    if (destination !== undefined && destination !== 'empty')
      throw statusErrors.forbidden({ group: '', resource: '' }, '', 'the API serves no pages, scripts and images');
    const credential = await this.#access.credentialOf(session);
    const path = request.originalUrl.slice(proxyPrefix.length - 1);
    await this.#proxy.forward(request, response, { session, credential, path });
    if (response.statusCode === 401) await this.#verify(session, credential);
  }

  /** Ends a session whose credential the API server refuses everywhere, not just where the request went. */
  async #verify(session: Session, credential: Credential): Promise<void> {
    const user = await lookUpUser(this.#modules.server(), credential).catch(() => session.user);
    if (user === undefined) this.#sessions.end(session);
  }
}
