import { anonymousUserName, statusErrors, type UserInfo } from '@multiplane/apimachinery';
import { CredentialPrecondition } from '../authentication/credential-precondition.ts';
import { clusterNameExtra } from '../authentication/service-account-claims.ts';
import type { AuthenticationResponse, RequestAuthenticator } from '../authentication/authenticator.ts';
import type { Filter, RequestContext } from '../request/request-context.ts';
import type { RequestMetrics } from '../request/request-metrics.ts';
import { isServer } from '../server/connection-names.ts';
import type { ConnectionTable } from '../server/connection-table.ts';

export interface AuthenticationModules {
  readonly authenticator: RequestAuthenticator;
  readonly connections: ConnectionTable;
  readonly metrics: RequestMetrics;
  /** Receives the reason of a failed authentication, for the log; the client only gets 401. */
  readonly onAuthenticationFailure?: ((error: unknown) => void) | undefined;
}

/**
 * Authenticates the caller, and names its connection. Removes the `Authorization` header, so that later stages can neither log
 * nor forward it. A failure closes the connection of an HTTP/2 client, for which requests are cheap.
 */
export function withAuthentication(modules: AuthenticationModules): Filter {
  const { authenticator, connections, metrics, onAuthenticationFailure } = modules;
  const { authentication } = metrics;
  const succeeded = (response: AuthenticationResponse | undefined): AuthenticationResponse | undefined => {
    (response === undefined ? authentication.failure : authentication.success).add(1);
    return response;
  };
  const failed = (error: unknown): undefined => {
    authentication.error.add(1);
    onAuthenticationFailure?.(error);
  };
  const admit = ({ exchange }: RequestContext, response: AuthenticationResponse | undefined): UserInfo => {
    const user = response?.user;
    if (exchange.httpVersion === '2.0' && (user === undefined || user.name === anonymousUserName)) {
      exchange.setHeader('connection', 'close');
    }
    if (user === undefined) throw statusErrors.unauthorized();
    if (user.name !== anonymousUserName) {
      const owner = ownerOf(user);
      connections.markAuthenticated(exchange.socket, owner);
      exchange.chargeTo?.(owner);
    }
    // Whether a proxy may name the connection depends on the credential of the proxy's own connection.
    connections.names.assign(
      exchange,
      () => response?.isDispatched === true || isServer(user) || authenticator.isProxy?.(exchange) === true,
    );
    (exchange.headers as Record<string, unknown>)['authorization'] = undefined;
    return user;
  };
  /** Before authentication, which removes the credentials from the headers. Few requests run long. */
  const credentialOf = ({ preconditions, exchange, info }: RequestContext): CredentialPrecondition | undefined =>
    preconditions === undefined ? undefined : new CredentialPrecondition(authenticator, exchange, info);
  return (next) => {
    const authenticateAsync = async (
      context: RequestContext,
      pending: Promise<AuthenticationResponse | undefined>,
      credential: CredentialPrecondition | undefined,
    ): Promise<void> => {
      const response = await pending.then(succeeded, failed);
      context.user = admit(context, response);
      credential?.addTo(context, response);
      await next(context);
    };
    // Most callers are authenticated synchronously, which saves a promise per request.
    return (context) => {
      const credential = credentialOf(context);
      let response: AuthenticationResponse | undefined;
      try {
        const result = authenticator.authenticate(context.exchange, context.info);
        if (result instanceof Promise) return authenticateAsync(context, result, credential);
        response = succeeded(result);
      } catch (error) {
        response = failed(error);
      }
      context.user = admit(context, response);
      credential?.addTo(context, response);
      return next(context);
    };
  };
}

/** Service accounts have the same name in every logical cluster. */
function ownerOf({ name, extra }: UserInfo): string {
  return name.startsWith('system:serviceaccount:') ? `${name} ${extra[clusterNameExtra]?.join() ?? ''}` : name;
}
