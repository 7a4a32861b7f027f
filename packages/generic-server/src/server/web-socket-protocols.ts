/** Subprotocol with a bearer token, for browsers, which cannot set headers of a WebSocket (kubernetes/kubernetes#47740). */
const bearerProtocol = 'base64url.bearer.authorization.k8s.io.';

/** The protocols of a `Sec-WebSocket-Protocol` header, in order. */
export function offeredProtocols(header: string): string[] {
  return header
    .split(',')
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== '');
}

/** The protocols that the server may select: it must not send a token back. */
export function protocolsWithoutBearer(offered: Iterable<string>): string[] {
  return [...offered].filter((protocol) => !protocol.startsWith(bearerProtocol));
}

/**
 * The token among the protocols; undefined if there is none. Throws an Error for several tokens, for a token that is not
 * base64url of UTF-8 text, and if no other protocol is offered, because the server must select one.
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
