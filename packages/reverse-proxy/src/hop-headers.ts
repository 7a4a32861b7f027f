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
 * Passes the headers of an answer on, `raw` being names and values in turn. The date is the client connection's own
 * matter; `content-length` stays, since the body does.
 */
export function copyResponseHeaders(raw: readonly string[], exchange: ProxyExchange): void {
  let nominated: ReadonlySet<string> | undefined;
  for (let i = 0; i < raw.length; i += 2) {
    if (raw[i] === 'connection') nominated = nominatedBy(raw[i + 1], nominated);
  }
  const seen = new Map<string, string | string[]>();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    const value = raw[i + 1] as string;
    if (nominated?.has(name) === true || name === 'date') continue;
    if (name !== 'trailer' && notForwarded.has(name)) continue;
    const known = seen.get(name);
    if (known === undefined) seen.set(name, value);
    else if (typeof known === 'string') seen.set(name, [known, value]);
    else known.push(value);
  }
  for (const [name, value] of seen) exchange.setHeader(name, value);
}

/** Lower-case names and values of what undici's parser gives. */
export function textHeaders(raw: unknown): string[] {
  if (!Array.isArray(raw)) return [];
  const list: readonly (Buffer | string)[] = raw;
  return list.map((item, index) => {
    const text = typeof item === 'string' ? item : item.toString('latin1');
    return index % 2 === 0 ? text.toLowerCase() : text;
  });
}

/** The value of a header in such a list. */
export function headerIn(raw: readonly string[], name: string): string | undefined {
  for (let i = 0; i + 1 < raw.length; i += 2) if (raw[i] === name) return raw[i + 1];
  return undefined;
}

function nominatedBy(
  connection: string | readonly string[] | undefined,
  before?: ReadonlySet<string>,
): ReadonlySet<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return before;
  const text = typeof connection === 'string' ? connection : connection.join(',');
  const names = text.split(',').map((name) => name.trim().toLowerCase());
  return new Set([...(before ?? []), ...names]);
}
