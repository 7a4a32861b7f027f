import { anonymousUserName, statusErrors, type UserInfo } from '@multiplane/apimachinery';
import type { AuthenticationResponse, RequestAuthenticator } from '../authentication/authenticator.ts';
import type { Filter, RequestContext } from '../request-context.ts';
import type { RequestMetrics } from '../request-metrics.ts';
import type { ConnectionTable } from '../server/connection-table.ts';

export interface AuthenticationModules {
  readonly authenticator: RequestAuthenticator;
  readonly connections: ConnectionTable;
  readonly metrics: RequestMetrics;
  /** Why a credential was refused; for the log, the client only learns that it was. */
  readonly onRefused?: ((error: unknown) => void) | undefined;
}

/**
 * Finds out who asks (K7.1). The credential is taken out of the headers once it did its work: nothing below can log it
 * or pass it on.
 */
export function withAuthentication(modules: AuthenticationModules): Filter {
  const { authenticator, connections, metrics, onRefused } = modules;
  const { authentication } = metrics;
  const found = (response: AuthenticationResponse | undefined): UserInfo | undefined => {
    (response === undefined ? authentication.failure : authentication.success).add(1);
    return response?.user;
  };
  const failed = (error: unknown): undefined => {
    authentication.error.add(1);
    onRefused?.(error);
  };
  const admit = ({ exchange }: RequestContext, user: UserInfo | undefined): UserInfo => {
    // A stranger gets no connection to keep (HTTP/2 makes requests cheap for the client).
    if (exchange.httpVersion === '2.0' && (user === undefined || user.name === anonymousUserName)) {
      exchange.setHeader('connection', 'close');
    }
    if (user === undefined) throw statusErrors.unauthorized();
    if (user.name !== anonymousUserName) connections.authenticated(exchange.socket);
    (exchange.headers as Record<string, unknown>)['authorization'] = undefined;
    return user;
  };
  return (next) => {
    const later = async (
      context: RequestContext,
      response: Promise<AuthenticationResponse | undefined>,
    ): Promise<void> => {
      context.user = admit(context, await response.then(found, failed));
      await next(context);
    };
    // Nearly all callers are known at once: whoever need not wait has no promise made for it.
    return (context) => {
      let user: UserInfo | undefined;
      try {
        const response = authenticator.authenticate(context.exchange, context.info);
        if (response instanceof Promise) return later(context, response);
        user = found(response);
      } catch (error) {
        user = failed(error);
      }
      context.user = admit(context, user);
      return next(context);
    };
  };
}
