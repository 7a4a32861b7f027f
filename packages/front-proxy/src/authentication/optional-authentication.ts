import { statusErrors, type UserInfo } from '@multiplane/apimachinery';
import {
  UnionAuthenticator,
  withAuthenticatedGroup,
  X509Authenticator,
  type AuthenticationResponse,
  type CertificateAuthorities,
  type Exchange,
  type RequestAuthenticator,
  type RequestHeaderAuthenticator,
  type RequestInfo,
  type Soon,
} from '@multiplane/apiserver';

interface OptionalAuthenticationModules {
  /** First of all: takes identity headers out of every request. */
  readonly requestHeader: RequestHeaderAuthenticator;
  /** Of `--client-ca-file`. */
  readonly clientAuthorities: CertificateAuthorities | undefined;
  /** Further methods; with any of them every request must be somebody's (C11.4). */
  readonly additional: readonly RequestAuthenticator[];
  /** Workspaces may have issuers of their own, which the shard knows: a token that nobody knows here goes on to it. */
  readonly passesTokensOn: boolean;
  /** Time in milliseconds. */
  readonly now: () => number;
}

/**
 * Who asks, if the proxy can tell (C11.4). A request without a client certificate, when no further method is configured,
 * is passed on as it came: the shard looks at its token. With a certificate, or with further methods, the caller must be
 * known, or is refused; but where workspaces have issuers of their own, a token that none of the methods knows is passed
 * on as it came, too, and the shard decides. The certificate of another proxy is nobody's credential: what that proxy says counts.
 */
export class OptionalAuthentication {
  readonly #modules: OptionalAuthenticationModules;
  readonly #union: UnionAuthenticator;

  constructor(modules: OptionalAuthenticationModules) {
    this.#modules = modules;
    const { requestHeader, clientAuthorities, additional, now } = modules;
    const certificates = new X509Authenticator({ now }, { authorities: clientAuthorities ?? { current: () => [] } });
    const known = new WeakMap<AuthenticationResponse, AuthenticationResponse>();
    const ownCertificate: RequestAuthenticator = {
      authenticate: (exchange) => {
        if (requestHeader.isProxy(exchange)) return undefined;
        const response = certificates.authenticate(exchange);
        if (response === undefined) return undefined;
        // One user object per certificate: what follows from a user is kept by it.
        let complete = known.get(response);
        if (complete === undefined) {
          complete = { ...response, user: withAuthenticatedGroup(response.user) };
          known.set(response, complete);
        }
        return complete;
      },
    };
    this.#union = new UnionAuthenticator(
      { anonymous: false },
      { authenticators: [requestHeader, ownCertificate, ...additional] },
    );
  }

  /** Undefined: pass the request on as it is. Throws a StatusError 401; `onRefused` learns why. */
  authenticate(exchange: Exchange, onRefused: (error: unknown) => void): Soon<UserInfo | undefined> {
    const refused = (error: unknown): undefined => {
      onRefused(error);
      if (this.#passesOn(exchange)) return undefined;
      throw statusErrors.unauthorized();
    };
    let response;
    try {
      response = this.#union.authenticate(exchange, noInfo);
    } catch (error) {
      return refused(error);
    }
    // Certificates are answered for at once: nobody waits a turn for them.
    return response instanceof Promise
      ? response.then((late) => this.#known(exchange, late?.user), refused)
      : this.#known(exchange, response?.user);
  }

  #known(exchange: Exchange, user: UserInfo | undefined): UserInfo | undefined {
    if (user !== undefined) return user;
    if (this.#modules.additional.length > 0 || this.#showsCertificate(exchange)) throw statusErrors.unauthorized();
    return undefined;
  }

  #passesOn(exchange: Exchange): boolean {
    return (
      this.#modules.passesTokensOn &&
      typeof exchange.headers['authorization'] === 'string' &&
      !this.#showsCertificate(exchange)
    );
  }

  #showsCertificate(exchange: Exchange): boolean {
    const { socket } = exchange;
    if (typeof socket.getPeerX509Certificate !== 'function') return false;
    return socket.getPeerX509Certificate() !== undefined && !this.#modules.requestHeader.isProxy(exchange);
  }
}

/** The authenticators of a proxy look at the connection and the headers only. */
const noInfo: RequestInfo = {
  path: '/',
  query: new URLSearchParams(),
  cluster: undefined,
  isResourceRequest: false,
  verb: 'get',
  apiPrefix: '',
  group: '',
  version: '',
  namespace: '',
  resource: '',
  subresource: '',
  name: '',
  parts: [],
};
