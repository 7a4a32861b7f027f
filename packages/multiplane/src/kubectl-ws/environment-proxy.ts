import { BlockList, isIP } from 'node:net';

/** Proxy variables; the upper-case ones take precedence. */
export interface ProxyEnvironment {
  readonly HTTPS_PROXY?: string | undefined;
  readonly https_proxy?: string | undefined;
  readonly NO_PROXY?: string | undefined;
  readonly no_proxy?: string | undefined;
}

/** The proxy for a server by the rules of Go's `ProxyFromEnvironment`, as kubectl: never for loopback addresses. */
export function proxyFromEnvironment(server: string, environment: ProxyEnvironment): string | undefined {
  const proxy = environment.HTTPS_PROXY || environment.https_proxy || '';
  const { hostname, port } = new URL(server);
  if (proxy === '' || !mayBeProxied(hostname, port || '443', environment.NO_PROXY || environment.no_proxy || ''))
    return undefined;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

function mayBeProxied(hostname: string, port: string, exceptions: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  if (host === 'localhost' || isIn(host, loopback)) return false;
  return !exceptions.split(',').some((entry) => isException(entry.trim().toLowerCase(), host, port));
}

/** Entries of NO_PROXY: a domain with subdomains, subdomains only (`.name`, `*.name`), an address, a CIDR, or `*`. */
function isException(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  const range = /^([^/]+)\/(\d{1,3})$/.exec(entry);
  if (range !== null) return isIn(host, rangeOf(range[1] ?? '', Number(range[2])));
  const [, name = '', only] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? [];
  if (name === '' || (only !== undefined && only !== port)) return false;
  if (isIP(name) !== 0) return isIP(host) === isIP(name) && isIn(host, rangeOf(name, isIP(name) === 4 ? 32 : 128));
  const below = name.replace(/^\*?\./, '');
  return host.endsWith(`.${below}`) || (below === name && host === name);
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

function rangeOf(address: string, bits: number): BlockList {
  const range = new BlockList();
  const version = isIP(address);
  if (version !== 0 && bits <= (version === 4 ? 32 : 128))
    range.addSubnet(address, bits, version === 4 ? 'ipv4' : 'ipv6');
  return range;
}

function isIn(host: string, range: BlockList): boolean {
  const version = isIP(host);
  return version !== 0 && range.check(host, version === 4 ? 'ipv4' : 'ipv6');
}
