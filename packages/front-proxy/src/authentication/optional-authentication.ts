import { statusErrors, type UserInfo } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import {
  type AuthenticationResponse,
  type CertificateAuthorities,
  CredentialPrecondition,
  exceptOfProxies,
  type Exchange,
  type RequestAuthenticator,
  type RequestHeaderAuthenticator,
  type RequestInfo,
  type MaybePromise,
  UnionAuthenticator,
  withAuthenticatedGroup,
  WorkspaceCertificateAuthenticator,
  X509Authenticator,
} from '@multiplane/generic-server';

interface OptionalAuthenticationOptions {
  /** Forward requests with unknown tokens: workspaces may have issuers that only the shard knows. */
  readonly forwardsUnknownTokens: boolean;
}

interface OptionalAuthenticationModules {
  /** The first authenticator: removes identity headers from every request. */
  readonly requestHeader: RequestHeaderAuthenticator;
  /** CAs of `--client-ca-file`. */
  readonly clientAuthorities: CertificateAuthorities | undefined;
  /** CAs of `--workspace-client-ca-file`. */
  readonly workspaceAuthorities?: CertificateAuthorities | undefined;
  /** Token authenticators. If there are any, every request must be authenticated. */
  readonly additional: readonly RequestAuthenticator[];
  readonly clock: Clock;
}

/**
 * Authenticates requests as far as the front-proxy can, like kcp's optional authentication:
 *
 * - A request without a client certificate is forwarded unchanged if there are no token authenticators; the shard
 *   authenticates it.
 * - A request with a client certificate, or any request if there are token authenticators, must be authenticated, else it is
 *   rejected with 401. With `forwardsUnknownTokens`, a request with an unknown token is forwarded unchanged instead.
 * - The certificate of a trusted proxy is no credential; the identity headers of that proxy are.
 */
export class OptionalAuthentication {
  readonly #options: OptionalAuthenticationOptions;
  readonly #modules: OptionalAuthenticationModules;
  readonly #union: UnionAuthenticator;

  constructor(options: OptionalAuthenticationOptions, modules: OptionalAuthenticationModules) {
    this.#options = options;
    this.#modules = modules;
    const { requestHeader, clientAuthorities, workspaceAuthorities, additional, clock } = modules;
    const now = (): number => clock.now();
    const certificates = exceptOfProxies(
      requestHeader,
      new X509Authenticator({ now }, { authorities: clientAuthorities ?? { current: () => [] } }),
    );
    // One user object per certificate, because later stages cache by user object.
    const completeResponses = new WeakMap<AuthenticationResponse, AuthenticationResponse>();
    const userCertificate: RequestAuthenticator = {
      authenticate: (exchange) => {
        const response = certificates.authenticate(exchange);
        if (response === undefined) return undefined;
        let complete = completeResponses.get(response);
        if (complete === undefined) {
          complete = { ...response, user: withAuthenticatedGroup(response.user) };
          completeResponses.set(response, complete);
        }
        return complete;
      },
    };
    const ofWorkspaces =
      workspaceAuthorities === undefined
        ? []
        : [
            exceptOfProxies(
              requestHeader,
              new WorkspaceCertificateAuthenticator({ now }, { authorities: workspaceAuthorities }),
            ),
          ];
    this.#union = new UnionAuthenticator(
      { anonymous: false },
      { authenticators: [requestHeader, userCertificate, ...ofWorkspaces, ...additional] },
    );
  }

  /** Returns undefined if the request is to be forwarded unchanged. Throws a StatusError 401; `onFailure` gets the reason. */
  authenticate(exchange: Exchange, onFailure: (error: unknown) => void): MaybePromise<UserInfo | undefined> {
    const handleFailure = (error: unknown): undefined => {
      onFailure(error);
      if (this.#isForwardable(exchange)) return undefined;
      throw statusErrors.unauthorized();
    };
    let response;
    try {
      response = this.#union.authenticate(exchange, noInfo);
    } catch (error) {
      return handleFailure(error);
    }
    // Certificates are verified synchronously, which saves a promise per request.
    return response instanceof Promise
      ? response.then((resolved) => this.#requireUser(exchange, resolved?.user), handleFailure)
      : this.#requireUser(exchange, response?.user);
  }

  /** Evaluates the credentials of a long-running request again; to be called before {@link authenticate}. */
  credentialOf(exchange: Exchange): CredentialPrecondition {
    return new CredentialPrecondition(this.#union, exchange, noInfo);
  }

  /** True for the connection of a trusted proxy. */
  isProxy(exchange: Exchange): boolean {
    return this.#modules.requestHeader.isProxy(exchange);
  }

  #requireUser(exchange: Exchange, user: UserInfo | undefined): UserInfo | undefined {
    if (user !== undefined) return user;
    if (this.#modules.additional.length > 0 || this.#hasUserCertificate(exchange)) throw statusErrors.unauthorized();
    return undefined;
  }

  #isForwardable(exchange: Exchange): boolean {
    return (
      this.#options.forwardsUnknownTokens &&
      typeof exchange.headers['authorization'] === 'string' &&
      !this.#hasUserCertificate(exchange)
    );
  }

  #hasUserCertificate(exchange: Exchange): boolean {
    const { socket } = exchange;
    if (typeof socket.getPeerX509Certificate !== 'function') return false;
    return socket.getPeerX509Certificate() !== undefined && !this.#modules.requestHeader.isProxy(exchange);
  }
}

/** The authenticators of the front-proxy read only the connection and the headers. */
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
