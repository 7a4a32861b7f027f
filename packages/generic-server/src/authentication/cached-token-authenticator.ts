import { hash } from 'node:crypto';
import type { Clock } from '@multiplane/component-base';
import { ExpiringAnswers } from '../webhooks/expiring-answers.ts';
import type { AuthenticationResponse, TokenAuthenticator } from './authenticator.ts';

const maxEntries = 4096;

/**
 * Remembers for a short while what another authenticator said of a token (K7.1). Tokens are kept as hashes. What went
 * wrong is not remembered.
 */
export class CachedTokens implements TokenAuthenticator {
  readonly #options: { readonly acceptedMs: number; readonly refusedMs: number };
  readonly #delegate: TokenAuthenticator;
  readonly #answers: ExpiringAnswers<AuthenticationResponse | undefined>;

  constructor(
    options: {
      /** How long a token stays accepted. */
      readonly acceptedMs: number;
      /** How long it stays unknown. */
      readonly refusedMs: number;
    },
    modules: { readonly delegate: TokenAuthenticator; readonly clock: Clock },
  ) {
    this.#options = options;
    this.#delegate = modules.delegate;
    this.#answers = new ExpiringAnswers({ maxEntries }, modules);
  }

  authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResponse | undefined> {
    const { acceptedMs, refusedMs } = this.#options;
    return this.#answers.get(hash('sha256', JSON.stringify([token, audiences]), 'base64'), async () => {
      const value = await this.#delegate.authenticateToken(token, audiences);
      return { value, ttlMs: value === undefined ? refusedMs : acceptedMs };
    });
  }
}
