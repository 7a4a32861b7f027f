/** Browsers cannot set headers of a WebSocket: they send a token as one of the protocols that they offer (K7.2). */
const bearerProtocol = 'base64url.bearer.authorization.k8s.io.';

/** The protocols of a `Sec-WebSocket-Protocol` header, in their order. */
export function offeredProtocols(header: string): string[] {
  return header
    .split(',')
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== '');
}

/** Those that are no credentials: one of them is what the server agrees to, and a token never comes back. */
export function unauthenticatedProtocols(offered: Iterable<string>): string[] {
  return [...offered].filter((protocol) => !protocol.startsWith(bearerProtocol));
}

/**
 * The token among the protocols; undefined when there is none. Throws an Error for more than one, for one that is no
 * base64url of UTF-8 text, and when it is all that is offered: the server would have nothing to agree to.
 */
export function protocolToken(offered: readonly string[]): string | undefined {
  const found = offered.filter((protocol) => protocol.startsWith(bearerProtocol));
  if (found.length === 0) return undefined;
  if (found.length > 1) throw new Error('more than one bearer token among the protocols');
  if (found.length === offered.length) throw new Error('missing additional subprotocol');
  const encoded = (found[0] as string).slice(bearerProtocol.length);
  const bytes = Buffer.from(encoded, 'base64url');
  if (bytes.length === 0 || bytes.toString('base64url') !== encoded)
    throw new Error('the bearer token among the protocols is no base64url');
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}
