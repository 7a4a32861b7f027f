import type { HeaderFilter } from './header-filter.ts';
import type { ProxyExchange } from './proxy-exchange.ts';

/** Counts the proxies a request came through, so that a loop ends (kcp#4303). A client can only shorten its own way. */
export const hopsHeader = 'x-multiplane-hops';

/** Belong to one connection (RFC 9110 §7.6.1), or are ours to set. */
const notForwarded = new Set([
  'connection',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'trailers',
  'transfer-encoding',
  'upgrade',
  hopsHeader,
]);
const forwardedFor = 'x-forwarded-for';

/**
 * The headers of a request as they go on, names and values in turn: what belongs to the connection is dropped first,
 * `Connection`-nominated ones included, then what must not come from a client; `stamped` is added last, so that nothing
 * a client says can take it away (CVE-2021-31999, CVE-2022-23652).
 */
export function requestHeaders(
  { headers, socket }: Pick<ProxyExchange, 'headers' | 'socket'>,
  hops: number,
  stamped: readonly string[],
  drop: HeaderFilter | undefined,
): string[] {
  const nominated = nominatedBy(headers['connection']);
  const result: string[] = [];
  let forwarded = '';
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || notForwarded.has(name) || nominated?.has(name) === true) continue;
    if (name.charCodeAt(0) === 0x3a || drop?.matches(name) === true) continue;
    if (name === forwardedFor) forwarded = `${typeof value === 'string' ? value : value.join(', ')}, `;
    else if (typeof value === 'string') result.push(name, value);
    else for (const one of value) result.push(name, one);
  }
  const { remoteAddress } = socket;
  if (remoteAddress !== undefined) result.push(forwardedFor, forwarded + remoteAddress);
  result.push(hopsHeader, String(hops));
  for (const text of stamped) result.push(text);
  return result;
}

/** How many proxies a request came through; a count that is none is beyond every limit. */
export function hopsOf(headers: ProxyExchange['headers']): number {
  const value = headers[hopsHeader];
  if (value === undefined) return 0;
  return typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : Number.POSITIVE_INFINITY;
}

/**
 * Passes the headers of an answer on, by their lower-case names. The date is the client connection's own matter;
 * `content-length` stays, since the body does.
 */
export function copyResponseHeaders(headers: ProxyExchange['headers'], exchange: ProxyExchange): void {
  const nominated = nominatedBy(headers['connection']);
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || nominated?.has(name) === true || name === 'date') continue;
    if (name !== 'trailer' && notForwarded.has(name)) continue;
    exchange.setHeader(name, value);
  }
}

/** Names and values in turn, a name as often as it has values. */
export function flatHeaders(headers: ProxyExchange['headers']): string[] {
  const flat: string[] = [];
  for (const name in headers) for (const value of [headers[name] ?? []].flat()) flat.push(name, value);
  return flat;
}

function nominatedBy(connection: string | readonly string[] | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined;
  const text = typeof connection === 'string' ? connection : connection.join(',');
  return new Set(text.split(',').map((name) => name.trim().toLowerCase()));
}
