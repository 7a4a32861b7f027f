import { BlockList, isIP } from 'node:net';

export interface AddressPolicyOptions {
  /** Non-public networks or addresses (`10.1.0.0/16`, `::1`) that may be called. */
  readonly allowed: readonly string[];
  /** Networks that must not be called; takes precedence over `allowed`. */
  readonly denied: readonly string[];
}

/**
 * Networks without public addresses, including transition networks that embed IPv4 addresses (IANA special-purpose address
 * registries, RFC 6890).
 */
const nonPublicNetworks = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

/**
 * Decides which addresses the server may call on behalf of a tenant. A tenant that writes the URL of a webhook makes the
 * server send requests there (server-side request forgery), so by default only public addresses are allowed. The policy
 * applies to addresses, not to names: a name is resolved once, and the checked address is the one that is dialed.
 */
export class AddressPolicy {
  readonly #nonPublic = listOf(nonPublicNetworks);
  readonly #allowed: BlockList;
  readonly #denied: BlockList;

  /** Throws TypeError for an invalid network. */
  constructor(options: AddressPolicyOptions) {
    this.#allowed = listOf(options.allowed);
    this.#denied = listOf(options.denied);
  }

  /** Whether a host of a URL may be called: false for a literal address that is not allowed. Names are checked when they are resolved. */
  allowsHost(hostname: string): boolean {
    const address = hostname.replace(/^\[|\]$/g, '');
    return isIP(address) === 0 || this.allows(address);
  }

  allows(address: string): boolean {
    const family = isIP(address);
    if (family === 0) return false;
    const plain = unmapped(address);
    const type = isIP(plain) === 6 ? 'ipv6' : 'ipv4';
    if (this.#denied.check(plain, type)) return false;
    return this.#allowed.check(plain, type) || !this.#nonPublic.check(plain, type);
  }
}

/** The IPv4 address of an IPv4-mapped IPv6 address: both reach the same host. */
function unmapped(address: string): string {
  const match = /^::ffff:(?:(\d+\.\d+\.\d+\.\d+)|([0-9a-f]{1,4}):([0-9a-f]{1,4}))$/i.exec(address);
  if (match === null) return address;
  const [, dotted, high = '0', low = '0'] = match;
  if (dotted !== undefined) return dotted;
  const bits = (Number.parseInt(high, 16) << 16) | Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.');
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIP(address);
    const maxLength = family === 6 ? 128 : 32;
    const length = bits === undefined ? maxLength : /^\d+$/.test(bits) ? Number(bits) : Number.NaN;
    if (family === 0 || !(length <= maxLength))
      throw new TypeError(`invalid network ${network}: expected CIDR notation such as 10.0.0.0/8`);
    list.addSubnet(address, length, family === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
