import type { IncomingMessage, ServerResponse } from 'node:http';
import { statusErrors } from '@multiplane/apimachinery';
import type { Credential } from './credential.ts';
import { checkCsrf, refuseOtherSites } from './cross-site.ts';
import type { SealedCookie, SealedCookies } from './sealed-cookies.ts';
import type { NewSession, Session, SessionStore } from './session-store.ts';

export interface SessionAccessModules {
  readonly sessions: SessionStore;
  readonly cookies: SealedCookies;
}

/** Which session a request belongs to, and whether the console itself caused the request. */
export class SessionAccess {
  readonly #options: { readonly cookie: SealedCookie; readonly externalUrl: string | undefined };
  readonly #modules: SessionAccessModules;

  constructor(
    options: { readonly cookie: SealedCookie; readonly externalUrl: string | undefined },
    modules: SessionAccessModules,
  ) {
    this.#options = options;
    this.#modules = modules;
  }

  /** The session of a request of this site; undefined without one. Throws a StatusError 403 for other sites. */
  async find(request: IncomingMessage): Promise<Session | undefined> {
    refuseOtherSites(request, this.#options.externalUrl);
    return this.#sessionOf(request);
  }

  /** The same with the CSRF token where it is needed; throws a StatusError 401 without a session. */
  async require(request: IncomingMessage): Promise<Session> {
    const session = await this.find(request);
    if (session === undefined) throw statusErrors.unauthorized();
    checkCsrf(request, session);
    return session;
  }

  /** The credential of a session, which ends when it cannot be renewed. */
  async credentialOf(session: Session): Promise<Credential> {
    try {
      return await session.credential.current();
    } catch (error) {
      this.#modules.sessions.end(session);
      throw error;
    }
  }

  /** Starts a session in place of the one that the browser had. */
  async start(request: IncomingMessage, response: ServerResponse, content: NewSession): Promise<Session> {
    const { sessions, cookies } = this.#modules;
    const before = await this.#sessionOf(request);
    if (before !== undefined) sessions.end(before);
    const session = sessions.create(content);
    await cookies.set(response, this.#options.cookie, { id: session.id });
    return session;
  }

  /** Ends a session, whether or not the browser forgets its cookie. */
  end(response: ServerResponse, session: Session): void {
    this.#modules.sessions.end(session);
    this.#modules.cookies.clear(response, this.#options.cookie);
  }

  async #sessionOf(request: IncomingMessage): Promise<Session | undefined> {
    const { sessions, cookies } = this.#modules;
    const content = await cookies.read<{ readonly id?: unknown }>(request, this.#options.cookie);
    return typeof content?.id === 'string' ? sessions.get(content.id) : undefined;
  }
}
