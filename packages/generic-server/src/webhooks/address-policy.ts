import { BlockList, isIP } from 'node:net';

export interface AddressPolicyOptions {
  /** Networks (`10.1.0.0/16`, `::1`) that may be called although they are not public. */
  readonly allowed: readonly string[];
  /** Networks that may never be called, whatever else is allowed. */
  readonly denied: readonly string[];
}

/**
 * Networks that are nobody's public address: this host, its neighbours, the machines behind it, and what wraps such an
 * address (IANA's registries of special purpose addresses; RFC 6890).
 */
const closedNetworks = [
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
 * Which addresses the server may call for a tenant. Whoever may write a webhook's URL into an object makes the server
 * send a request there, so only public addresses are open unless the operator says otherwise. It judges addresses, never
 * names: a name is resolved once, and what was judged is what is dialed.
 */
export class AddressPolicy {
  readonly #closed = listOf(closedNetworks);
  readonly #allowed: BlockList;
  readonly #denied: BlockList;

  /** Throws TypeError for a text that is no network. */
  constructor(options: AddressPolicyOptions) {
    this.#allowed = listOf(options.allowed);
    this.#denied = listOf(options.denied);
  }

  allows(address: string): boolean {
    const family = isIP(address);
    if (family === 0) return false;
    const plain = unmapped(address);
    const type = isIP(plain) === 6 ? 'ipv6' : 'ipv4';
    if (this.#denied.check(plain, type)) return false;
    return this.#allowed.check(plain, type) || !this.#closed.check(plain, type);
  }
}

/** The IPv4 address inside an IPv4-mapped one: both reach the same machine. */
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
    const longest = family === 6 ? 128 : 32;
    const length = bits === undefined ? longest : /^\d+$/.test(bits) ? Number(bits) : Number.NaN;
    if (family === 0 || !(length <= longest)) throw new TypeError(`${network} is no network, as in 10.0.0.0/8`);
    list.addSubnet(address, length, family === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
