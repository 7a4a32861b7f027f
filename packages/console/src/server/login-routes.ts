import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonObject, parseJson, StatusError, statusErrors, type JsonObject } from '@multiplane/apimachinery';
import type { Counter } from '@multiplane/component-base';
import type { Request } from 'express';
import type { ApiServer } from './api-server.ts';
import { basePath } from './base-path.ts';
import { boundedText } from './bounded-text.ts';
import { fixedCredential, type Credential } from './credential.ts';
import { originOf, refuseOtherSites } from './cross-site.ts';
import { invalidLinkPage, linkPage } from './link-page.ts';
import type { LoginLinks } from './login-links.ts';
import type { OidcLogin, PendingLogin } from './oidc-login.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { returnTo } from './return-to.ts';
import { newSecret } from './same-secret.ts';
import { loginCookie, type SealedCookies } from './sealed-cookies.ts';
import { setPagePolicy } from './security-headers.ts';
import { redirect, sendJson, sendText } from './send.ts';
import type { SessionAccess } from './session-access.ts';
import type { LoginKind, Session } from './session-store.ts';
import { tokenExpiry } from './token-expiry.ts';
import { lookUpUser, type ConsoleUser } from './user-lookup.ts';

export interface LoginRoutesModules {
  readonly server: () => ApiServer;
  readonly access: SessionAccess;
  readonly links: LoginLinks;
  readonly limiter: RateLimiter;
  readonly cookies: SealedCookies;
  readonly issuers: ReadonlyMap<string, OidcLogin>;
  readonly counted: Counter<'method' | 'result'>;
  readonly describe: (session: Session) => Promise<object>;
}

const maxBodyBytes = 64 * 1024;
const maxTokenLength = 16 * 1024;

/** The ways into a session. Each ends with the API server's word about whose credential it is. */
export class LoginRoutes {
  readonly #options: { readonly externalUrl: string | undefined };
  readonly #modules: LoginRoutesModules;

  constructor(options: { readonly externalUrl: string | undefined }, modules: LoginRoutesModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** `POST login/token`. */
  async byToken(request: Request, response: ServerResponse): Promise<void> {
    const { token } = await this.#body(request, 'token');
    if (!isToken(token)) throw statusErrors.badRequest('token: a token is required');
    const credential: Credential = { kind: 'token', token };
    const user = await this.#lookUp(credential, 'token');
    const session = await this.#modules.access.start(request, response, {
      kind: 'token',
      user,
      credential: fixedCredential(credential, tokenExpiry(token)),
    });
    sendJson(response, 200, await this.#modules.describe(session));
  }

  /**
   * `POST login/links`: makes a one-time link for the credential in the body. Whoever holds a credential may log a browser in with
   * it, so that this takes no other permission.
   */
  async createLink(request: Request, response: ServerResponse): Promise<void> {
    const { token, certificate, privateKey } = await this.#body(request, 'link');
    let credential: Credential;
    if (isToken(token)) credential = { kind: 'token', token };
    else if (typeof certificate === 'string' && typeof privateKey === 'string')
      credential = { kind: 'certificate', certificate, privateKey };
    else throw statusErrors.badRequest('a token, or a certificate and its privateKey, is required');
    const user = await this.#lookUp(credential, 'link');
    const { code, expiresAt } = this.#modules.links.create({ user, credential });
    sendJson(response, 201, {
      path: `${basePath}login/link?code=${code}`,
      expiresAt: new Date(expiresAt).toISOString(),
      user: user.name,
    });
  }

  /** `GET login/link`: names the user, and leaves the link unused. */
  showLink(request: Request, response: ServerResponse): void {
    const { code } = request.query;
    const user = typeof code === 'string' ? this.#modules.links.peek(code) : undefined;
    if (user === undefined || typeof code !== 'string') {
      sendInvalidLink(response);
      return;
    }
    const nonce = newSecret();
    setPagePolicy(response, nonce);
    sendText(response, 200, 'text/html', linkPage({ nonce, user: user.name, code }));
  }

  /** `POST login/link`, by the form of that page. */
  async byLink(request: Request, response: ServerResponse): Promise<void> {
    refuseOtherSites(request, this.#options.externalUrl);
    this.#limit(request, 'link');
    const code = new URLSearchParams(await boundedText(request, maxBodyBytes)).get('code') ?? '';
    const link = this.#modules.links.redeem(code);
    if (link === undefined) {
      this.#count('link', 'refused');
      sendInvalidLink(response);
      return;
    }
    const { user, credential } = link;
    const expiry = credential.kind === 'token' ? tokenExpiry(credential.token) : undefined;
    const content = { kind: 'link', user, credential: fixedCredential(credential, expiry) } as const;
    await this.#modules.access.start(request, response, content);
    this.#count('link', 'success');
    redirect(response, 303, basePath);
  }

  /** `GET login/oidc/:id`. */
  async startOidc(request: Request, response: ServerResponse): Promise<void> {
    this.#limit(request, 'oidc');
    const origin = originOf(request, this.#options.externalUrl);
    const { url, pending } = await this.#issuerOf(request).start(origin, returnTo(request.query['returnTo']));
    await this.#modules.cookies.set(response, loginCookie, pending);
    redirect(response, 303, url);
  }

  /** `GET login/oidc/:id/callback`. */
  async finishOidc(request: Request, response: ServerResponse): Promise<void> {
    this.#limit(request, 'oidc');
    const { cookies, access } = this.#modules;
    const login = this.#issuerOf(request);
    const pending = await cookies.read<PendingLogin>(request, loginCookie);
    cookies.clear(response, loginCookie);
    if (pending?.issuer !== login.issuer.id)
      throw statusErrors.badRequest('this log-in was not started in this browser, or it took too long');
    const mark = request.originalUrl.indexOf('?');
    const query = mark < 0 ? '' : request.originalUrl.slice(mark);
    const origin = originOf(request, this.#options.externalUrl);
    const credential = await this.#counting('oidc', () => login.finish(origin, query, pending));
    const user = await this.#lookUp(await credential.current(), 'oidc');
    await access.start(request, response, { kind: 'oidc', user, credential, issuer: login.issuer.id });
    redirect(response, 303, returnTo(pending.returnTo));
  }

  /** `POST logout`. */
  async logOut(request: Request, response: ServerResponse): Promise<void> {
    const { access } = this.#modules;
    const session = await access.require(request);
    access.end(response, session);
    sendJson(response, 200, { endSessionUrl: (await session.credential.end?.()) ?? null });
  }

  #issuerOf(request: Request): OidcLogin {
    const { id } = request.params;
    const login = typeof id === 'string' ? this.#modules.issuers.get(id) : undefined;
    if (login === undefined) throw statusErrors.unknownResource();
    return login;
  }

  async #body(request: IncomingMessage, method: LoginKind): Promise<JsonObject> {
    refuseOtherSites(request, this.#options.externalUrl);
    this.#limit(request, method);
    // A form of another site cannot have this type.
    if (!/^application\/json(?:;|$)/i.test(request.headers['content-type'] ?? ''))
      throw statusErrors.badRequest('the body has to be of type application/json');
    const text = await boundedText(request, maxBodyBytes);
    let body;
    try {
      body = parseJson(text);
    } catch (cause) {
      throw Object.assign(statusErrors.badRequest('the body is not JSON'), { cause });
    }
    if (!isJsonObject(body)) throw statusErrors.badRequest('the body is not a JSON object');
    return body;
  }

  /** Throws a StatusError 401 for a credential that the API server refuses. */
  #lookUp(credential: Credential, method: LoginKind): Promise<ConsoleUser> {
    return this.#counting(method, async () => {
      const user = await lookUpUser(this.#modules.server(), credential);
      if (user === undefined) throw statusErrors.unauthorized();
      if (method !== 'link') this.#count(method, 'success');
      return user;
    });
  }

  async #counting<T>(method: LoginKind, attempt: () => Promise<T>): Promise<T> {
    try {
      return await attempt();
    } catch (error) {
      this.#count(method, error instanceof StatusError && error.code === 401 ? 'refused' : 'error');
      throw error;
    }
  }

  #limit(request: IncomingMessage, method: LoginKind): void {
    const seconds = this.#modules.limiter.take(request.socket.remoteAddress ?? '');
    if (seconds === 0) return;
    this.#count(method, 'limited');
    throw statusErrors.tooManyRequests('too many attempts to log in', seconds);
  }

  #count(method: LoginKind, result: 'success' | 'refused' | 'limited' | 'error'): void {
    this.#modules.counted.add(1, { method, result });
  }
}

/** Printable ASCII without spaces, so that it is one header value. */
const isToken = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= maxTokenLength && /^[\x21-\x7e]+$/.test(value);

function sendInvalidLink(response: ServerResponse): void {
  const nonce = newSecret();
  setPagePolicy(response, nonce);
  sendText(response, 404, 'text/html', invalidLinkPage(nonce));
}
