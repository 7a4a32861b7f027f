import { hash } from 'node:crypto';
import type { Clock } from '@multiplane/component-base';
import { SharedLookupCache } from '../webhooks/shared-lookup-cache.ts';
import type { AuthenticationResponse, TokenAuthenticator } from './authenticator.ts';

const maxEntries = 4096;

/**
 * Caches the responses of another token authenticator for a short time, like kube-apiserver's token cache. Keys are hashes of
 * tokens. Errors are not cached.
 */
export class CachedTokenAuthenticator implements TokenAuthenticator {
  readonly #options: { readonly successTtlMs: number; readonly failureTtlMs: number };
  readonly #delegate: TokenAuthenticator;
  readonly #cache: SharedLookupCache<AuthenticationResponse | undefined>;

  constructor(
    options: {
      /** How long an authenticated token stays valid. */
      readonly successTtlMs: number;
      /** How long a token stays unknown. */
      readonly failureTtlMs: number;
    },
    modules: { readonly delegate: TokenAuthenticator; readonly clock: Clock },
  ) {
    this.#options = options;
    this.#delegate = modules.delegate;
    this.#cache = new SharedLookupCache({ maxEntries }, modules);
  }

  authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResponse | undefined> {
    const { successTtlMs, failureTtlMs } = this.#options;
    return this.#cache.get(hash('sha256', JSON.stringify([token, audiences]), 'base64'), async () => {
      const value = await this.#delegate.authenticateToken(token, audiences);
      return { value, ttlMs: value === undefined ? failureTtlMs : successTtlMs };
    });
  }
}
