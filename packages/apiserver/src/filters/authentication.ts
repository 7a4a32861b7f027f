import { anonymousUserName, statusErrors } from '@multiplane/apimachinery';
import type { RequestAuthenticator } from '../authentication/authenticator.ts';
import type { Filter } from '../request-context.ts';
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
  return (next) => async (context) => {
    const { exchange } = context;
    const { authentication } = modules.metrics;
    let user;
    try {
      user = (await modules.authenticator.authenticate(exchange, context.info))?.user;
      (user === undefined ? authentication.failure : authentication.success).add(1);
    } catch (error) {
      authentication.error.add(1);
      modules.onRefused?.(error);
    }
    // A stranger gets no connection to keep (HTTP/2 makes requests cheap for the client).
    if (exchange.httpVersion === '2.0' && (user === undefined || user.name === anonymousUserName)) {
      exchange.setHeader('connection', 'close');
    }
    if (user === undefined) throw statusErrors.unauthorized();
    if (user.name !== anonymousUserName) modules.connections.authenticated(exchange.socket);
    context.user = user;
    (exchange.headers as Record<string, unknown>)['authorization'] = undefined;
    await next(context);
  };
}
