import { offeredProtocols, unauthenticatedProtocols, type Exchange } from '@multiplane/apiserver';

const protocols = 'sec-websocket-protocol';

/** Takes the bearer token out of a request, also the one a browser hides among the protocols of a WebSocket (K7.2). */
export function withoutCredentials(exchange: Pick<Exchange, 'headers'>): void {
  const headers = exchange.headers as Record<string, string | readonly string[] | undefined>;
  headers['authorization'] = undefined;
  const offered = headers[protocols];
  if (offered === undefined) return;
  const rest = unauthenticatedProtocols(offeredProtocols([offered].flat().join(',')));
  headers[protocols] = rest.length === 0 ? undefined : rest.join(', ');
}
