import type { UserInfo } from '@multiplane/apimachinery';
import type { Exchange } from '../server/exchange.ts';
import type { RequestInfo } from '../request/request-info.ts';

/** A value or a promise of it: most callers are authenticated synchronously, which saves a promise per request. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * Authenticates a request. Returns undefined if the request has no credential of this authenticator's kind; throws for an
 * invalid credential. The union then tries the next authenticator and rejects the request with 401 if none succeeds.
 */
export interface RequestAuthenticator {
  authenticate(exchange: Exchange, info: RequestInfo): MaybePromise<AuthenticationResponse | undefined>;
  /** True for the connection of a trusted proxy, whose certificate is not the credential of a user. */
  isProxy?(exchange: Exchange): boolean;
}

/** Authenticates a bearer token. `connection`: the connection of the request, if any, as a key for caches. */
export interface TokenAuthenticator {
  authenticateToken(
    token: string,
    audiences: readonly string[],
    connection?: object,
  ): MaybePromise<AuthenticationResponse | undefined>;
}

export interface AuthenticationResponse {
  readonly user: UserInfo;
  /** The requested audiences for which the credential is valid. */
  readonly audiences?: readonly string[] | undefined;
  /** A handler chain of this process passed the request on, and verifies the credential while it runs. */
  readonly isDispatched?: boolean | undefined;
}
