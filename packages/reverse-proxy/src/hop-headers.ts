import { connectionHeader, traceHeaders } from '@multiplane/component-base';
import type { HeaderFilter } from './header-filter.ts';
import type { ProxyExchange } from './proxy-exchange.ts';

/**
 * Counts the proxies that a request passed, so that forwarding loops end (kcp issue 4303). A client that sends the
 * header only shortens its own path.
 */
export const hopsHeader = 'x-multiplane-hops';

/** Hop-by-hop headers (RFC 9110 section 7.6.1) and headers that the proxy sets itself. */
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
  // Trace context is that of the proxy's own span: who may continue a trace is decided where the caller is authenticated.
  'baggage',
  'traceparent',
  'tracestate',
  hopsHeader,
  // Only for servers of this control plane.
  connectionHeader,
]);
const forwardedFor = 'x-forwarded-for';

/**
 * The headers of the upstream request, names and values in turn. Hop-by-hop headers, including those nominated by
 * `Connection`, are dropped first, then those that are not accepted from clients. `added` comes last, so that no client
 * header can remove it (CVE-2021-31999, CVE-2022-23652). With `namesConnection` the upstream is told the name of the
 * client's connection, which the server has set in the headers.
 */
export function requestHeaders(
  { headers, socket }: Pick<ProxyExchange, 'headers' | 'socket'>,
  hops: number,
  added: readonly string[],
  drop: HeaderFilter | undefined,
  namesConnection = false,
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
    else for (const single of value) result.push(name, single);
  }
  const { remoteAddress } = socket;
  if (remoteAddress !== undefined) result.push(forwardedFor, forwarded + remoteAddress);
  result.push(hopsHeader, String(hops));
  const connection = namesConnection ? headers[connectionHeader] : undefined;
  if (typeof connection === 'string') result.push(connectionHeader, connection);
  for (const text of traceHeaders()) result.push(text);
  for (const text of added) result.push(text);
  return result;
}

/** The number of proxies that a request passed; infinity for an invalid count. */
export function hopsOf(headers: ProxyExchange['headers']): number {
  const value = headers[hopsHeader];
  if (value === undefined) return 0;
  return typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : Number.POSITIVE_INFINITY;
}

/**
 * Copies response headers, which have lower-case names. `date` is set by the client's connection; `content-length` is
 * kept, because the body is not changed.
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

/** Names and values in turn; a name is repeated for each of its values. */
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
