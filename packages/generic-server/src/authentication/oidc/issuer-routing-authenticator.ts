import type { AuthenticationResponse, TokenAuthenticator } from '../authenticator.ts';
import { claimedIssuer } from './verify-token.ts';

/** An authenticator for the tokens of one issuer. */
export interface IssuerAuthenticator {
  readonly issuer: string;
  readonly authenticator: TokenAuthenticator;
}

/**
 * Passes a token only to the authenticators of its (unverified) issuer. If several authenticators have the same issuer, the
 * first success wins, and errors of the others are dropped.
 */
export class IssuerRoutingAuthenticator implements TokenAuthenticator {
  readonly #current: () => readonly IssuerAuthenticator[];
  constructor(modules: { /** The current authenticators. */ readonly current: () => readonly IssuerAuthenticator[] }) {
    this.#current = modules.current;
  }

  async authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResponse | undefined> {
    const claimed = claimedIssuer(token);
    if (claimed === undefined) return undefined;
    const failures: unknown[] = [];
    for (const { issuer, authenticator } of this.#current()) {
      if (issuer !== claimed) continue;
      try {
        const response = await authenticator.authenticateToken(token, audiences);
        if (response !== undefined) return response;
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 1) throw new AggregateError(failures, 'invalid bearer token');
    if (failures.length === 1) throw failures[0];
    return undefined;
  }
}
