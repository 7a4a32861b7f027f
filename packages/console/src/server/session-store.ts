import { statusErrors } from '@multiplane/apimachinery';
import type { Clock, Timer } from '@multiplane/component-base';
import type { CredentialSource } from './credential.ts';
import { digestOf, newSecret } from './same-secret.ts';
import type { ConsoleUser } from './user-lookup.ts';

export type LoginKind = 'token' | 'link' | 'oidc';

export interface NewSession {
  readonly kind: LoginKind;
  readonly user: ConsoleUser;
  readonly credential: CredentialSource;
  /** The id of the issuer in the configuration. */
  readonly issuer?: string | undefined;
}

export interface Session extends NewSession {
  /** The secret of the cookie. */
  readonly id: string;
  readonly csrfToken: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Aborts when the session ends, whatever ended it. */
  readonly signal: AbortSignal;
  /** Requests that are being forwarded. */
  inFlight: number;
  /** The path of the home workspace, once it was asked for; null: there is none. */
  homeWorkspace?: Promise<string | null> | undefined;
}

export interface SessionStoreOptions {
  readonly lifetimeMs: number;
  readonly maxSessions: number;
  /** When a user has more, the oldest one ends. */
  readonly maxSessionsPerUser: number;
}

interface Stored {
  readonly session: Session;
  readonly controller: AbortController;
  readonly timer: Timer;
}

/**
 * The sessions, with the credentials of their users, in memory only: nothing of them outlives the process, and a log-out ends them
 * for certain.
 */
export class SessionStore {
  readonly #options: SessionStoreOptions;
  readonly #clock: Pick<Clock, 'now' | 'after'>;
  /** By the digest of the id; oldest first. */
  readonly #sessions = new Map<string, Stored>();

  constructor(options: SessionStoreOptions, modules: { readonly clock: Pick<Clock, 'now' | 'after'> }) {
    this.#options = options;
    this.#clock = modules.clock;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Throws a StatusError 429 when there are too many sessions of others. */
  create(content: NewSession): Session {
    const { lifetimeMs, maxSessions, maxSessionsPerUser } = this.#options;
    const own = [...this.#sessions].filter(([, { session }]) => session.user.name === content.user.name);
    const [oldest] = own;
    if (own.length >= maxSessionsPerUser && oldest !== undefined) this.#end(oldest[0]);
    if (this.#sessions.size >= maxSessions) throw statusErrors.tooManyRequests('too many sessions', 60);
    const id = newSecret();
    const key = digestOf(id);
    const controller = new AbortController();
    const now = this.#clock.now();
    const expiresAt = Math.min(now + lifetimeMs, content.credential.expiresAt ?? Infinity);
    const session: Session = {
      ...content,
      id,
      csrfToken: newSecret(),
      expiresAt,
      signal: controller.signal,
      inFlight: 0,
    };
    const timer = this.#clock.after(expiresAt - now, () => this.#end(key));
    this.#sessions.set(key, { session, controller, timer });
    return session;
  }

  /** Undefined for a session that ended. The wall clock decides, too: a suspended machine runs no timers. */
  get(id: string): Session | undefined {
    const key = digestOf(id);
    const session = this.#sessions.get(key)?.session;
    if (session !== undefined && session.expiresAt <= this.#clock.now()) {
      this.#end(key);
      return undefined;
    }
    return session;
  }

  /** Ends the session and its requests in flight. */
  end({ id }: Pick<Session, 'id'>): void {
    this.#end(digestOf(id));
  }

  /** Ends all sessions. */
  clear(): void {
    for (const key of this.#sessions.keys()) this.#end(key);
  }

  #end(key: string): void {
    const stored = this.#sessions.get(key);
    if (stored === undefined) return;
    this.#sessions.delete(key);
    stored.timer.cancel();
    stored.controller.abort();
  }
}
