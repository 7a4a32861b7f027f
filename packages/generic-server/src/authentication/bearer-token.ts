import type { Exchange } from '../exchange.ts';
import { offeredProtocols, protocolToken } from '../server/web-socket-protocols.ts';
import { askInTurn } from './ask-in-turn.ts';
import type { AuthenticationResponse, RequestAuthenticator, Soon, TokenAuthenticator } from './authenticator.ts';

interface BearerTokenOptions {
  /** Audiences of this server: a token must be valid for one of them. */
  readonly audiences: readonly string[];
}

/** Longest token that is looked at; beyond it nothing is hashed or verified. */
const maxTokenLength = 64 * 1024;

/**
 * `Authorization: Bearer <token>`, or the protocols of a WebSocket where there is no such header (K7.2). Another scheme, or a Bearer scheme with nothing behind it, presents nothing: such
 * a caller is a stranger, never somebody else (CVE-2023-48312). A repeated header is a wrong credential.
 */
export class BearerTokenAuthenticator implements RequestAuthenticator {
  readonly #audiences: readonly string[];
  readonly #tokens: TokenAuthenticator;
  constructor(options: BearerTokenOptions, modules: { readonly tokens: TokenAuthenticator }) {
    this.#audiences = options.audiences;
    this.#tokens = modules.tokens;
  }

  authenticate(exchange: Exchange): Soon<AuthenticationResponse | undefined> {
    const header = exchange.headers['authorization'];
    if (header !== undefined && typeof header !== 'string') throw new Error('more than one Authorization header');
    const token = header === undefined ? webSocketToken(exchange) : bearerToken(header);
    if (token === undefined) return undefined;
    const response = this.#tokens.authenticateToken(token, this.#audiences, exchange.socket);
    return response instanceof Promise ? response.then(accepted) : accepted(response);
  }
}

/** A token was presented: it is somebody's, or wrong. */
function accepted(response: AuthenticationResponse | undefined): AuthenticationResponse {
  if (response === undefined) throw new Error('invalid bearer token');
  return response;
}

/** The token that a browser's WebSocket brings; looked for only where one is asked for. */
function webSocketToken({ headers }: Exchange): string | undefined {
  if (String(headers['upgrade']).toLowerCase() !== 'websocket') return undefined;
  const offered = [headers['sec-websocket-protocol'] ?? []].flat().join(',');
  if (offered.length > maxTokenLength * 2) throw new Error('the bearer token is too long');
  return protocolToken(offeredProtocols(offered));
}

/** As nearly all send it: nothing to trim, nothing to split. */
const plainBearer = /^Bearer [\w.~+/=-]{1,8192}$/;

/** The token behind a Bearer scheme (any case); undefined for another scheme or an empty token. Throws for one of absurd length. */
export function bearerToken(header: string): string | undefined {
  if (plainBearer.test(header)) return header.slice(7);
  const text = header.trim();
  if (text.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  if (text.length > maxTokenLength) throw new Error('the bearer token is too long');
  const [token = ''] = text.slice(7).trim().split(' ', 1);
  return token === '' ? undefined : token;
}

/** Asks token authenticators in their order; errors are collected as in the union of request authenticators. */
export class UnionTokenAuthenticator implements TokenAuthenticator {
  readonly #authenticators: readonly TokenAuthenticator[];
  constructor(modules: { readonly authenticators: readonly TokenAuthenticator[] }) {
    this.#authenticators = modules.authenticators;
  }

  authenticateToken(
    token: string,
    audiences: readonly string[],
    connection?: object,
  ): Soon<AuthenticationResponse | undefined> {
    const failures: unknown[] = [];
    const ask = (authenticator: TokenAuthenticator): Soon<AuthenticationResponse | undefined> =>
      authenticator.authenticateToken(token, audiences, connection);
    const response = askInTurn(this.#authenticators, ask, failures);
    return response instanceof Promise
      ? response.then((late) => unlessRefused(late, failures))
      : unlessRefused(response, failures);
  }
}

function unlessRefused(
  response: AuthenticationResponse | undefined,
  failures: readonly unknown[],
): AuthenticationResponse | undefined {
  if (response !== undefined || failures.length === 0) return response;
  throw failures.length === 1 ? failures[0] : new AggregateError(failures, 'invalid bearer token');
}
