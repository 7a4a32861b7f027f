import { anonymousUserName, statusErrors, type UserInfo } from '@multiplane/apimachinery';
import { clusterNameExtra } from '../authentication/service-account-claims.ts';
import type { AuthenticationResponse, RequestAuthenticator } from '../authentication/authenticator.ts';
import type { Filter, RequestContext } from '../request/request-context.ts';
import type { RequestMetrics } from '../request/request-metrics.ts';
import type { ConnectionTable } from '../server/connection-table.ts';

export interface AuthenticationModules {
  readonly authenticator: RequestAuthenticator;
  readonly connections: ConnectionTable;
  readonly metrics: RequestMetrics;
  /** Receives the reason of a failed authentication, for the log; the client only gets 401. */
  readonly onAuthenticationFailure?: ((error: unknown) => void) | undefined;
}

/**
 * Authenticates the caller. Removes the `Authorization` header, so that later stages can neither log nor forward it. A
 * failure closes the connection of an HTTP/2 client, for which requests are cheap.
 */
export function withAuthentication(modules: AuthenticationModules): Filter {
  const { authenticator, connections, metrics, onAuthenticationFailure } = modules;
  const { authentication } = metrics;
  const succeeded = (response: AuthenticationResponse | undefined): UserInfo | undefined => {
    (response === undefined ? authentication.failure : authentication.success).add(1);
    return response?.user;
  };
  const failed = (error: unknown): undefined => {
    authentication.error.add(1);
    onAuthenticationFailure?.(error);
  };
  const admit = ({ exchange }: RequestContext, user: UserInfo | undefined): UserInfo => {
    if (exchange.httpVersion === '2.0' && (user === undefined || user.name === anonymousUserName)) {
      exchange.setHeader('connection', 'close');
    }
    if (user === undefined) throw statusErrors.unauthorized();
    if (user.name !== anonymousUserName) {
      const owner = ownerOf(user);
      connections.markAuthenticated(exchange.socket, owner);
      exchange.chargeTo?.(owner);
    }
    (exchange.headers as Record<string, unknown>)['authorization'] = undefined;
    return user;
  };
  return (next) => {
    const authenticateAsync = async (
      context: RequestContext,
      response: Promise<AuthenticationResponse | undefined>,
    ): Promise<void> => {
      context.user = admit(context, await response.then(succeeded, failed));
      await next(context);
    };
    // Most callers are authenticated synchronously, which saves a promise per request.
    return (context) => {
      let user: UserInfo | undefined;
      try {
        const response = authenticator.authenticate(context.exchange, context.info);
        if (response instanceof Promise) return authenticateAsync(context, response);
        user = succeeded(response);
      } catch (error) {
        user = failed(error);
      }
      context.user = admit(context, user);
      return next(context);
    };
  };
}

/** Service accounts have the same name in every logical cluster. */
function ownerOf({ name, extra }: UserInfo): string {
  return name.startsWith('system:serviceaccount:') ? `${name} ${extra[clusterNameExtra]?.join() ?? ''}` : name;
}
