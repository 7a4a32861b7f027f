import type { UserInfo } from '@multiplane/apimachinery';
import type { Exchange } from '../exchange.ts';
import type { RequestInfo } from '../request-info.ts';

/** An answer, or the promise of one: most who ask need not wait, and a promise for each of them costs every request. */
export type Soon<T> = T | Promise<T>;

/**
 * Finds out who makes a request. Undefined: nothing was presented that this authenticator knows; throws when something
 * was presented and is wrong (the union goes on and answers 401 when nobody succeeds).
 */
export interface RequestAuthenticator {
  authenticate(exchange: Exchange, info: RequestInfo): Soon<AuthenticationResponse | undefined>;
}

/** The same for one bearer token. `connection` is the one it came over, if over any. */
export interface TokenAuthenticator {
  authenticateToken(
    token: string,
    audiences: readonly string[],
    connection?: object,
  ): Soon<AuthenticationResponse | undefined>;
}

export interface AuthenticationResponse {
  readonly user: UserInfo;
  /** Audiences the credential is valid for, of those asked for. */
  readonly audiences?: readonly string[] | undefined;
}
