import type { Exchange } from '../server/exchange.ts';
import { offeredProtocols, protocolToken } from '../server/web-socket-protocols.ts';
import { tryAuthenticators } from './try-authenticators.ts';
import type {
  AuthenticationResponse,
  RequestAuthenticator,
  MaybePromise,
  TokenAuthenticator,
} from './authenticator.ts';

interface BearerTokenOptions {
  /** Audiences of the server; a token must be valid for at least one. */
  readonly audiences: readonly string[];
}

/** Longer tokens are rejected before they are hashed or verified. */
const maxTokenLength = 64 * 1024;

/**
 * Authenticates `Authorization: Bearer <token>`, or the token in the subprotocols of a WebSocket without such a header. Other
 * schemes and empty tokens are no credential: the request is anonymous, and never gets another identity (CVE-2023-48312). A
 * repeated header is an invalid credential.
 */
export class BearerTokenAuthenticator implements RequestAuthenticator {
  readonly #audiences: readonly string[];
  readonly #tokens: TokenAuthenticator;
  constructor(options: BearerTokenOptions, modules: { readonly tokens: TokenAuthenticator }) {
    this.#audiences = options.audiences;
    this.#tokens = modules.tokens;
  }

  authenticate(exchange: Exchange): MaybePromise<AuthenticationResponse | undefined> {
    const header = exchange.headers['authorization'];
    if (header !== undefined && typeof header !== 'string') throw new Error('more than one Authorization header');
    const token = header === undefined ? webSocketToken(exchange) : bearerToken(header);
    if (token === undefined) return undefined;
    const response = this.#tokens.authenticateToken(token, this.#audiences, exchange.socket);
    return response instanceof Promise ? response.then(requireResponse) : requireResponse(response);
  }
}

/** Rejects a token that no authenticator recognizes. */
function requireResponse(response: AuthenticationResponse | undefined): AuthenticationResponse {
  if (response === undefined) throw new Error('invalid bearer token');
  return response;
}

/** The token in the subprotocols of a WebSocket request. */
function webSocketToken({ headers }: Exchange): string | undefined {
  if (String(headers['upgrade']).toLowerCase() !== 'websocket') return undefined;
  const offered = [headers['sec-websocket-protocol'] ?? []].flat().join(',');
  if (offered.length > maxTokenLength * 2) throw new Error('the bearer token is too long');
  return protocolToken(offeredProtocols(offered));
}

/** The common form, which needs no trimming or splitting. */
const plainBearer = /^Bearer [\w.~+/=-]{1,8192}$/;

/** The token of an `Authorization` header; undefined for another scheme or an empty token. Throws for an oversized token. */
export function bearerToken(header: string): string | undefined {
  if (plainBearer.test(header)) return header.slice(7);
  const text = header.trim();
  if (text.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  if (text.length > maxTokenLength) throw new Error('the bearer token is too long');
  const [token = ''] = text.slice(7).trim().split(' ', 1);
  return token === '' ? undefined : token;
}

/** Tries token authenticators in order. Throws the collected errors if none succeeds and at least one failed. */
export class UnionTokenAuthenticator implements TokenAuthenticator {
  readonly #authenticators: readonly TokenAuthenticator[];
  constructor(modules: { readonly authenticators: readonly TokenAuthenticator[] }) {
    this.#authenticators = modules.authenticators;
  }

  authenticateToken(
    token: string,
    audiences: readonly string[],
    connection?: object,
  ): MaybePromise<AuthenticationResponse | undefined> {
    const failures: unknown[] = [];
    const authenticate = (authenticator: TokenAuthenticator): MaybePromise<AuthenticationResponse | undefined> =>
      authenticator.authenticateToken(token, audiences, connection);
    const response = tryAuthenticators(this.#authenticators, authenticate, failures);
    return response instanceof Promise
      ? response.then((resolved) => throwFailures(resolved, failures))
      : throwFailures(response, failures);
  }
}

function throwFailures(
  response: AuthenticationResponse | undefined,
  failures: readonly unknown[],
): AuthenticationResponse | undefined {
  if (response !== undefined || failures.length === 0) return response;
  throw failures.length === 1 ? failures[0] : new AggregateError(failures, 'invalid bearer token');
}
