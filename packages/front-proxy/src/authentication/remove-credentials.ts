import { type Exchange, offeredProtocols, protocolsWithoutBearer } from '@multiplane/generic-server';

const protocols = 'sec-websocket-protocol';

/** Removes the bearer token from a request, also from the subprotocols of a WebSocket. */
export function removeCredentials(exchange: Pick<Exchange, 'headers'>): void {
  const headers = exchange.headers as Record<string, string | readonly string[] | undefined>;
  headers['authorization'] = undefined;
  const offered = headers[protocols];
  if (offered === undefined) return;
  const rest = protocolsWithoutBearer(offeredProtocols([offered].flat().join(',')));
  headers[protocols] = rest.length === 0 ? undefined : rest.join(', ');
}
