import { isIPv4, isIPv6 } from 'node:net';
import { matchesPattern } from './regex.ts';
import { WorkBudget } from './work-budget.ts';

/** A `format` that validation knows. */
export interface ValueFormat {
  /** As the schema's author wrote it; messages print it. */
  readonly name: string;
  /** Checks a string; undefined for formats of numbers. */
  readonly check: ((text: string) => boolean) | undefined;
}

/** `full-date` of RFC 3339: the day must exist. */
function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return false;
  const year = Number(match[1]);
  const month = Number(match[2]);
  const day = Number(match[3]);
  if (month < 1 || month > 12 || day < 1) return false;
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  return day <= days;
}

/** `date-time` of RFC 3339; seconds may not be 60, offsets are not limited (as in go-openapi/strfmt). */
function isDateTime(text: string): boolean {
  const parts = text.toLowerCase().split('t');
  if (text.length < 4 || parts.length < 2 || !isDate(parts[0] ?? '')) return false;
  const match = /^(\d{2}):(\d{2}):(\d{2})(.\d+)?(z|[+-]\d{2}:\d{2})$/.exec(parts[1] ?? '');
  return match !== null && (match[1] ?? '') <= '23' && (match[2] ?? '') <= '59' && (match[3] ?? '') <= '59';
}

// Every pattern of this file runs over a tenant's text: none may need more than linear time.
const goDuration = /^[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
const looseDuration = /(?<!\d)(\d+)\s*([A-Za-zµ]+)/g;
const exactUnits = ['ns', 'us', 'µs', 'ms', 's', 'm', 'h', 'hr', 'd', 'w', 'wk'];
const unitPrefixes = ['nano', 'micro', 'milli', 'sec', 'min', 'hour', 'day', 'week'];

/** Go's `1h30m`, or any text that holds a number with a unit (`2 weeks`), as Scala writes durations. */
function isDuration(text: string): boolean {
  if (goDuration.test(text)) return true;
  for (const match of text.matchAll(looseDuration)) {
    if (!Number.isSafeInteger(Number(match[1]))) return false;
    const unit = (match[2] ?? '').toLowerCase();
    if (exactUnits.includes(unit) || unitPrefixes.some((prefix) => unit.startsWith(prefix))) return true;
  }
  return false;
}

const hostnamePattern =
  '^([a-zA-Z0-9\\p{S}\\p{L}]((-?[a-zA-Z0-9\\p{S}\\p{L}]{0,62})?)|([a-zA-Z0-9\\p{S}\\p{L}](([a-zA-Z0-9-\\p{S}\\p{L}]{0,61}[a-zA-Z0-9\\p{S}\\p{L}])?)(\\.)){1,}([a-zA-Z\\p{L}]){2,63})$';

/** RFC 1034 with digits in front (RFC 1123); a dotted name ends in letters. */
function isHostname(text: string): boolean {
  if (Buffer.byteLength(text) > 255 || text.split('.').some((label) => Buffer.byteLength(label) > 63)) return false;
  return matchesPattern(text, hostnamePattern, new WorkBudget());
}

/** One address of RFC 5322, bare or as `Name <address>`. */
function isEmail(text: string): boolean {
  const trimmed = text.trim();
  const angled = /^(?:[^<>",;:\\]|"(?:[^"\\]|\\.)*")*<([^<>]+)>$/.exec(trimmed);
  const address = angled?.[1] ?? trimmed;
  const at = address.lastIndexOf('@');
  if (at <= 0) return false;
  const local = address.slice(0, at);
  const domain = address.slice(at + 1);
  const atom = /^[^\s()<>[\]:;@\\,."]+(?:\.[^\s()<>[\]:;@\\,."]+)*$/;
  const quoted = /^"(?:[^"\\\r\n]|\\.)+"$/;
  return (atom.test(local) || quoted.test(local)) && (atom.test(domain) || /^\[[^[\]\\]*\]$/.test(domain));
}

/** A URI as an HTTP request line may carry it: absolute, or a rooted path. */
function isRequestUri(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (text === '' || /[\u0000-\u001f\u007f]/.test(text) || /%(?![0-9A-Fa-f]{2})/.test(text)) return false;
  if (text.startsWith('/')) return true;
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(text);
  if (scheme === null) return false;
  const rest = scheme[2] ?? '';
  if (!rest.startsWith('//')) return true;
  const authority = /^[^/?#]*/.exec(rest.slice(2))?.[0] ?? '';
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  return !/[\s"<>\\^`{|}]/.test(host) && /^(?:\[[0-9A-Fa-f:.%]+\]|[^:[\]]*)(?::\d*)?$/.test(host);
}

/** Addresses as Go parses them: no zone, no leading zeros. */
const plainIp = (text: string): boolean => !text.includes('%');

function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  if (slash < 0) return false;
  const address = text.slice(0, slash);
  const bits = text.slice(slash + 1);
  if (!/^\d{1,3}$/.test(bits) || (bits.length > 1 && bits.startsWith('0'))) return false;
  if (isIPv4(address)) return Number(bits) <= 32;
  return isIPv6(address) && plainIp(address) && Number(bits) <= 128;
}

/** EUI-48, EUI-64 or 20-octet InfiniBand addresses, with colons, dashes or dots. */
function isMac(text: string): boolean {
  for (const octets of [6, 8, 20]) {
    if (
      new RegExp(`^[0-9A-Fa-f]{2}(?:(?::[0-9A-Fa-f]{2}){${octets - 1}}|(?:-[0-9A-Fa-f]{2}){${octets - 1}})$`).test(text)
    )
      return true;
    if (new RegExp(`^[0-9A-Fa-f]{4}(?:\\.[0-9A-Fa-f]{4}){${octets / 2 - 1}}$`).test(text)) return true;
  }
  return false;
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, '');
  if (!/^(?:\d{9}X|\d{10})$/.test(digits)) return false;
  let sum = 0;
  for (let index = 0; index < 10; index++) sum += (index + 1) * (digits[index] === 'X' ? 10 : Number(digits[index]));
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, '');
  if (!/^\d{13}$/.test(digits)) return false;
  let sum = 0;
  for (let index = 0; index < 13; index++) sum += (index % 2 === 0 ? 1 : 3) * Number(digits[index]);
  return sum % 10 === 0;
}

/** Numbers of the usual issuers with a right check digit (Luhn); anything between the digits is ignored. */
function isCreditCard(text: string): boolean {
  const digits = text.replace(/\D+/g, '');
  const issuer =
    /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|(?:222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11}|6[27]\d{14}|\d{19})$/;
  if (!issuer.test(digits)) return false;
  let sum = 0;
  let double = false;
  for (let index = digits.length - 1; index >= 0; index--) {
    let digit = Number(digits[index]);
    if (double) digit = digit > 4 ? digit * 2 - 9 : digit * 2;
    sum += digit;
    double = !double;
  }
  return sum % 10 === 0;
}

const colorPart = '(?:0|[1-9]\\d?|1\\d\\d|2[0-4]\\d|25[0-5])';
const rgb = new RegExp(`^rgb\\(\\s*${colorPart}\\s*,\\s*${colorPart}\\s*,\\s*${colorPart}\\s*\\)$`);
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const uuid = (middle: string, variant = '[0-9a-f]'): RegExp =>
  new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${middle}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, 'i');
const matching =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text);

const shortName = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const longName = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const quantity = /^[+-]?(?:\d+|\d+\.\d*|\.\d+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/;

/** Formats of strings by their name without dashes (`date-time` and `datetime` are one). */
const stringFormats = new Map<string, (text: string) => boolean>([
  ['bsonobjectid', matching(/^[0-9a-fA-F]{24}$/)],
  ['uri', isRequestUri],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', isIPv4],
  ['ipv6', (text) => isIPv6(text) && plainIp(text)],
  ['cidr', isCidr],
  ['mac', isMac],
  ['uuid', matching(uuid('[0-9a-f]'))],
  ['uuid3', matching(uuid('3'))],
  ['uuid4', matching(uuid('4', '[89ab]'))],
  ['uuid5', matching(uuid('5', '[89ab]'))],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', matching(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ['hexcolor', matching(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['rgbcolor', matching(rgb)],
  ['byte', matching(base64)],
  ['password', () => true],
  ['date', isDate],
  ['duration', isDuration],
  ['datetime', isDateTime],
  ['quantity', matching(quantity)],
  ['k8sshortname', (text) => text.length <= 63 && shortName.test(text)],
  ['k8slongname', (text) => text.length <= 253 && longName.test(text)],
]);

const numberFormats = new Map<string, readonly string[]>([
  ['integer', ['int32', 'int64']],
  ['number', ['float', 'double']],
]);

const shared = new Map<string, ValueFormat>();

/**
 * The format of a schema of the given type (the empty text: none or several types). Undefined when validation does
 * not know the format: such formats are accepted and ignored.
 */
export function formatOf(format: string, type: string): ValueFormat | undefined {
  if (format === '') return undefined;
  const key = `${type} ${format}`;
  const known = shared.get(key);
  if (known !== undefined) return known;
  let found: ValueFormat | undefined;
  if (type === '' || type === 'string') {
    const check = stringFormats.get(format.replaceAll('-', ''));
    if (check !== undefined) found = { name: format, check };
  } else if (numberFormats.get(type)?.includes(format) === true) {
    found = { name: format, check: undefined };
  }
  // Spellings with dashes are endless; only common ones are cached.
  if (found !== undefined && shared.size < 200) shared.set(key, found);
  return found;
}

/**
 * The format of a schema as its author wrote it. Kubernetes removes formats that are not known for the type of a schema from the
 * schemas by which it validates objects, but not from those by which it validates defaults.
 */
export const writtenFormat = (format: string): ValueFormat | undefined =>
  format === '' ? undefined : { name: format, check: stringFormats.get(format.replaceAll('-', '')) };
