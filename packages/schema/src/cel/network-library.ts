import { isIPv4, isIPv6 } from 'node:net';
import { quote } from '@multiplane/apimachinery';
import { addressProblem } from './address-problem.ts';
import { CelError, noSuchOverload } from './cel-error.ts';
import { declare, type CelFunction, type Overload } from './function-declaration.ts';
import { opaqueType } from './types.ts';
import { CelOpaque, type CelValue } from './values.ts';

const ipType = opaqueType('net.IP');
const cidrType = opaqueType('net.CIDR');

class CelIp extends CelOpaque {
  override readonly type = ipType;
  /** 4 or 16 bytes. */
  readonly bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    super();
    this.bytes = bytes;
  }
  override get weight(): number {
    return Math.ceil(this.bytes.length);
  }
  override equals(other: CelOpaque): boolean {
    return other instanceof CelIp && Buffer.compare(this.bytes, other.bytes) === 0;
  }
  /** RFC 5952. */
  override toString(): string {
    if (this.bytes.length === 4) return this.bytes.join('.');
    const groups = Array.from({ length: 8 }, (_none, index) =>
      (((this.bytes[index * 2] as number) << 8) | (this.bytes[index * 2 + 1] as number)).toString(16),
    );
    const zeros = [...groups.join(':').matchAll(/\b0(?::0)+\b/g)].toSorted((a, b) => b[0].length - a[0].length)[0];
    if (zeros === undefined) return groups.join(':');
    const text = groups.join(':');
    const [left, right] = [text.slice(0, zeros.index), text.slice(zeros.index + zeros[0].length)];
    return `${left.replace(/:$/, '')}::${right.replace(/^:/, '')}`;
  }
}

class CelCidr extends CelOpaque {
  override readonly type = cidrType;
  readonly ip: CelIp;
  readonly bits: number;
  constructor(ip: CelIp, bits: number) {
    super();
    this.ip = ip;
    this.bits = bits;
  }
  override get weight(): number {
    return Math.ceil(this.bits / 8);
  }
  override equals(other: CelOpaque): boolean {
    return other instanceof CelCidr && other.bits === this.bits && other.ip.equals(this.ip);
  }
  override toString(): string {
    return `${String(this.ip)}/${this.bits}`;
  }
  masked(): CelCidr {
    const bytes = this.ip.bytes.map((byte, index) => {
      const keep = Math.min(Math.max(this.bits - index * 8, 0), 8);
      return byte & (0xff00 >> keep) & 0xff;
    });
    return new CelCidr(new CelIp(bytes), this.bits);
  }
  contains(ip: CelIp): boolean {
    return ip.bytes.length === this.ip.bytes.length && new CelCidr(ip, this.bits).masked().ip.equals(this.masked().ip);
  }
}

function parseBytes(text: string): Uint8Array | undefined {
  if (isIPv4(text)) return Uint8Array.from(text.split('.').map(Number));
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  let plain = text;
  if (dotted !== null) {
    const [a, b, c, d] = (dotted[2] as string).split('.').map(Number) as [number, number, number, number];
    plain = `${dotted[1]}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const [head, tail] = plain.split('::').map((part) => (part === '' ? [] : part.split(':'))) as [string[], string[]?];
  const groups =
    tail === undefined ? head : [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  return Uint8Array.from(
    groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]),
  );
}
const isMapped = (bytes: Uint8Array): boolean =>
  bytes.length === 16 && bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;

function parseIp(text: string): CelIp {
  const quoted = quote(text);
  if (text.includes('%') && isIPv6(text)) throw new CelError(`IP address ${quoted} with zone value is not allowed`);
  const bytes = parseBytes(text);
  if (bytes === undefined) {
    throw new CelError(`IP Address ${quoted} parse error during conversion from string: ${addressProblem(text)}`);
  }
  if (isMapped(bytes)) throw new CelError(`IPv4-mapped IPv6 address ${quoted} is not allowed`);
  return new CelIp(bytes);
}

function parseCidr(text: string): CelCidr {
  const fail = (reason: string): CelError =>
    new CelError(
      `network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(${quote(text)}): ${reason}`,
    );
  const slash = text.lastIndexOf('/');
  if (slash < 0) throw fail("no '/'");
  const address = text.slice(0, slash);
  const bytes = parseBytes(address);
  if (address.includes('%') && isIPv6(address)) throw fail('IPv6 zones cannot be present in a prefix');
  if (bytes === undefined) throw fail(addressProblem(address));
  const bits = text.slice(slash + 1);
  if (!/^(?:0|[1-9]\d{0,2})$/.test(bits)) throw fail(`bad bits after slash: ${quote(bits)}`);
  if (Number(bits) > bytes.length * 8) throw fail('prefix length out of range');
  if (isMapped(bytes)) {
    throw new CelError(
      `network address parse error during conversion from string: IPv4-mapped IPv6 address ${quote(text)} is not allowed`,
    );
  }
  return new CelCidr(new CelIp(bytes), Number(bits));
}

const parses =
  (parse: (text: string) => CelValue): CelFunction =>
  (text) => {
    try {
      parse(text as string);
      return true;
    } catch (error) {
      if (error instanceof CelError) return false;
      throw error;
    }
  };

const isLoopback = ({ bytes }: CelIp): boolean =>
  bytes.length === 4 ? bytes[0] === 127 : bytes.every((byte, index) => byte === (index === 15 ? 1 : 0));
const isUnspecified = ({ bytes }: CelIp): boolean => bytes.every((byte) => byte === 0);
const isMulticast = ({ bytes }: CelIp): boolean =>
  bytes.length === 4 ? ((bytes[0] as number) & 0xf0) === 0xe0 : bytes[0] === 0xff;
const isLinkLocalMulticast = ({ bytes }: CelIp): boolean =>
  bytes.length === 4
    ? bytes[0] === 224 && bytes[1] === 0 && bytes[2] === 0
    : bytes[0] === 0xff && ((bytes[1] as number) & 0x0f) === 2;
const isLinkLocalUnicast = ({ bytes }: CelIp): boolean =>
  bytes.length === 4
    ? bytes[0] === 169 && bytes[1] === 254
    : bytes[0] === 0xfe && ((bytes[1] as number) & 0xc0) === 0x80;
const isGlobalUnicast = (ip: CelIp): boolean =>
  !isUnspecified(ip) &&
  !isLoopback(ip) &&
  !isMulticast(ip) &&
  !isLinkLocalUnicast(ip) &&
  !(ip.bytes.length === 4 && ip.bytes.every((byte) => byte === 255));

const ofIp = (name: string, id: string, test: (ip: CelIp) => boolean): Overload =>
  declare(name, id, 'net.IP.() bool', (ip) => test(ip as CelIp));
const containsCidr = (outer: CelCidr, inner: CelCidr): boolean => outer.bits <= inner.bits && outer.contains(inner.ip);

/** Kubernetes' functions of IP addresses and networks. */
export const networkLibrary: readonly Overload[] = [
  declare('ip', 'string_to_ip', '(string) net.IP', (text) => parseIp(text as string)),
  declare('family', 'ip_family', 'net.IP.() int', (ip) => ((ip as CelIp).bytes.length === 4 ? 4n : 6n)),
  declare('ip.isCanonical', 'ip_is_canonical', '(string) bool', (text) => String(parseIp(text as string)) === text),
  ofIp('isUnspecified', 'ip_is_unspecified', isUnspecified),
  ofIp('isLoopback', 'ip_is_loopback', isLoopback),
  ofIp('isLinkLocalMulticast', 'ip_is_link_local_multicast', isLinkLocalMulticast),
  ofIp('isLinkLocalUnicast', 'ip_is_link_local_unicast', isLinkLocalUnicast),
  ofIp('isGlobalUnicast', 'ip_is_global_unicast', isGlobalUnicast),
  declare('isIP', 'is_ip', '(string) bool', parses(parseIp)),
  declare('string', 'ip_to_string', '(net.IP) string', String as CelFunction),
  declare('cidr', 'string_to_cidr', '(string) net.CIDR', (text) => parseCidr(text as string)),
  declare('isCIDR', 'is_cidr', '(string) bool', parses(parseCidr)),
  declare('containsIP', 'cidr_contains_ip_string', 'net.CIDR.(string) bool', (cidr, ip) => {
    // Kubernetes does not tell why a text is no address here.
    if (parses(parseIp)(ip) === false) throw noSuchOverload();
    return (cidr as CelCidr).contains(parseIp(ip as string));
  }),
  declare('containsIP', 'cidr_contains_ip_ip', 'net.CIDR.(net.IP) bool', (cidr, ip) =>
    (cidr as CelCidr).contains(ip as CelIp),
  ),
  declare('containsCIDR', 'cidr_contains_cidr_string', 'net.CIDR.(string) bool', (cidr, other) =>
    containsCidr(cidr as CelCidr, parseCidr(other as string)),
  ),
  declare('containsCIDR', 'cidr_contains_cidr', 'net.CIDR.(net.CIDR) bool', (cidr, other) =>
    containsCidr(cidr as CelCidr, other as CelCidr),
  ),
  declare('ip', 'cidr_ip', 'net.CIDR.() net.IP', (cidr) => (cidr as CelCidr).ip),
  declare('prefixLength', 'cidr_prefix_length', 'net.CIDR.() int', (cidr) => BigInt((cidr as CelCidr).bits)),
  declare('masked', 'cidr_masked', 'net.CIDR.() net.CIDR', (cidr) => (cidr as CelCidr).masked()),
  declare('string', 'cidr_to_string', '(net.CIDR) string', String as CelFunction),
];
