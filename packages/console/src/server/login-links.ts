import { statusErrors } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import type { Credential } from './credential.ts';
import { digestOf, newSecret } from './same-secret.ts';
import type { ConsoleUser } from './user-lookup.ts';

export interface LoginLink {
  readonly user: ConsoleUser;
  readonly credential: Credential;
}

export interface LoginLinksOptions {
  readonly lifetimeMs: number;
  readonly maxLinks: number;
}

/** One-time log-in links: each holds the credential of its user until it is used or expires. */
export class LoginLinks {
  readonly #options: LoginLinksOptions;
  readonly #clock: Pick<Clock, 'now'>;
  /** By the digest of the code; oldest first, so that expired ones are first. */
  readonly #links = new Map<string, LoginLink & { readonly expiresAt: number }>();

  constructor(options: LoginLinksOptions, modules: { readonly clock: Pick<Clock, 'now'> }) {
    this.#options = options;
    this.#clock = modules.clock;
  }

  /** Throws a StatusError 429 when too many links wait to be used. */
  create(link: LoginLink): { readonly code: string; readonly expiresAt: number } {
    const now = this.#clock.now();
    for (const [key, { expiresAt }] of this.#links) if (expiresAt <= now) this.#links.delete(key);
    if (this.#links.size >= this.#options.maxLinks) throw statusErrors.tooManyRequests('too many unused links', 60);
    const code = newSecret();
    const expiresAt = now + this.#options.lifetimeMs;
    this.#links.set(digestOf(code), { ...link, expiresAt });
    return { code, expiresAt };
  }

  /** The user whom a link logs in; does not use it up. */
  peek(code: string): ConsoleUser | undefined {
    return this.#valid(code)?.user;
  }

  /** Uses the link up. */
  redeem(code: string): LoginLink | undefined {
    const link = this.#valid(code);
    this.#links.delete(digestOf(code));
    return link;
  }

  #valid(code: string): LoginLink | undefined {
    const link = this.#links.get(digestOf(code));
    return link === undefined || link.expiresAt <= this.#clock.now() ? undefined : link;
  }
}
