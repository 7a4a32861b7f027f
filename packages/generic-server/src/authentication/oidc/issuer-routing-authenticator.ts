import type { AuthenticationResponse, TokenAuthenticator } from '../authenticator.ts';
import { claimedIssuer } from './verify-token.ts';

/** An authenticator, and the only issuer whose tokens it knows. */
export interface IssuerAuthenticator {
  readonly issuer: string;
  readonly authenticator: TokenAuthenticator;
}

/**
 * Authenticators of many issuers: a token is read once and shown to those of its issuer alone. Several may have the same
 * one; the first who accepts the token counts, and what the others found wrong does not.
 */
export class TokensByIssuer implements TokenAuthenticator {
  readonly #current: () => readonly IssuerAuthenticator[];
  constructor(modules: { /** Those in force now. */ readonly current: () => readonly IssuerAuthenticator[] }) {
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
