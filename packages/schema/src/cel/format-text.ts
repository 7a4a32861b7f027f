import { quote } from '@multiplane/apimachinery';
import { CelError, checkTextLength } from './cel-error.ts';
import { doubleText } from './conversion-library.ts';
import { typeOfValue } from './standard-types.ts';
import { durationText, timestampText } from './time-text.ts';
import { CelDuration, CelMap, CelTimestamp, CelTypeValue, CelUint, isList, type CelValue } from './values.ts';

/** `'%s-%d'.format([a, b])` (cel-go `ext/formatting.go`, the form before version 4 of its strings library). */
export function formatText(format: string, args: readonly CelValue[]): string {
  let used = 0;
  let result = '';
  let at = 0;
  while (at < format.length) {
    const next = format.indexOf('%', at);
    if (next < 0) return result + format.slice(at);
    result += format.slice(at, next);
    if (format.charAt(next + 1) === '%') {
      result += '%';
      at = next + 2;
      continue;
    }
    const clause = /^%(?:\.(\d{0,4}))?(.)?/su.exec(format.slice(next, next + 10)) as RegExpExecArray;
    const verb = clause[2];
    if (verb === undefined) throw new CelError('unexpected end of string');
    if (used >= args.length) throw new CelError(`index ${used} out of range`);
    const precision = clause[1] === undefined || clause[1] === '' ? undefined : Number(clause[1]);
    result += formatVerb(verb, args[used++] as CelValue, precision);
    checkTextLength(result.length);
    at = next + clause[0].length;
  }
  return result;
}

function formatVerb(verb: string, value: CelValue, precision: number | undefined): string {
  switch (verb) {
    case 's':
      return plain(value);
    case 'd':
      return decimal(value);
    case 'f':
      return fixed(value, precision ?? 6);
    case 'e':
      return scientific(value, precision ?? 6);
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0';
      return integer(value, 'b').toString(2);
    case 'o':
      return integer(value, 'o').toString(8);
    case 'x':
      return hex(value);
    case 'X':
      return hex(value).toUpperCase();
    default:
      throw new CelError(`could not parse formatting clause: unrecognized formatting clause ${JSON.stringify(verb)}`);
  }
}

function wrongType(clause: string, wanted: string, value: CelValue): CelError {
  return new CelError(
    `error during formatting: ${clause} clause can only be used on ${wanted}, was given ${typeOfValue(value).name}`,
  );
}

/** A value as `%s` prints it. */
function plain(value: CelValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return doubleText(value);
  if (value === null) return 'null';
  if (isList(value)) return `[${value.map(nested).join(', ')}]`;
  if (value instanceof CelUint) return String(value.value);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof CelTimestamp) return timestampText(value);
  if (value instanceof CelDuration) return durationText(value);
  if (value instanceof CelTypeValue) return value.type.name;
  if (value instanceof CelMap) {
    const entries = Array.from(value.entries(), ([key, item]) => [nested(key), nested(item)] as const);
    const sorted = entries.toSorted(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
    return `{${sorted.map(([key, item]) => `${key}:${item}`).join(', ')}}`;
  }
  throw new CelError(
    'error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given ' +
      typeOfValue(value).name,
  );
}

/** Within a list or map values are printed as they would be written. */
function nested(value: CelValue): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number') return Number.isFinite(value) ? exactFixed(value, 6) : quote(doubleText(value));
  if (value instanceof Uint8Array) return `b${quote(new TextDecoder().decode(value))}`;
  if (value instanceof CelTimestamp) return `timestamp(${quote(timestampText(value))})`;
  if (value instanceof CelDuration) return `duration(${quote(durationText(value))})`;
  return plain(value);
}

function decimal(value: CelValue): string {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof CelUint) return String(value.value);
  throw wrongType('decimal', 'integers', value);
}

function integer(value: CelValue, verb: 'b' | 'o'): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof CelUint) return value.value;
  throw verb === 'b'
    ? wrongType('only integers and bools can be formatted as binary', 'integers and bools', value)
    : wrongType('octal', 'integers', value);
}

const spelled: Readonly<Record<string, number>> = { NaN: Number.NaN, Infinity, '-Infinity': -Infinity };
function real(value: CelValue, clause: string): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string' && Object.hasOwn(spelled, value)) return spelled[value] as number;
  throw wrongType(clause, 'doubles', value);
}
const unusual = (value: number): string | undefined => {
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? undefined : value > 0 ? '∞' : '-∞';
};

/** In American English, as in cel-go: thousands are grouped. */
function fixed(value: CelValue, precision: number): string {
  const number = real(value, 'fixed-point');
  const text = unusual(number);
  if (text !== undefined) return text;
  const [whole, fraction] = exactFixed(number, precision).split('.') as [string, string?];
  const grouped = whole.replaceAll(/(?<=\d)(?=(?:\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** Rounds the exact value, halves to the even digit. */
function exactFixed(number: number, precision: number): string {
  // 100 places print a double exactly enough to see whether it stands halfway.
  const places = 100;
  const size = Math.abs(number);
  const exact = size < 1e21 ? size.toFixed(places) : `${BigInt(size)}.${'0'.repeat(places)}`;
  const [whole, fraction] = exact.split('.') as [string, string];
  const rest = fraction.slice(precision);
  let digits = BigInt(whole + fraction.slice(0, precision));
  const half = rest.startsWith('5') && /^50*$/.test(rest);
  if (rest >= '5' && (!half || digits % 2n === 1n)) digits += 1n;
  const text = String(digits).padStart(Math.min(precision, 100) + 1, '0');
  const sign = number < 0 || Object.is(number, -0) ? '-' : '';
  if (precision === 0) return sign + text;
  const point = text.length - Math.min(precision, 100);
  return `${sign}${text.slice(0, point)}.${text.slice(point).padEnd(precision, '0')}`;
}

const raised = '⁰¹²³⁴⁵⁶⁷⁸⁹';
/** `2.718 × 10⁰³`, with narrow spaces. */
function scientific(value: CelValue, precision: number): string {
  const number = real(value, 'scientific');
  const text = unusual(number);
  if (text !== undefined) return text;
  const [mantissa, exponent] = number.toExponential(Math.min(precision, 100)).split('e') as [string, string];
  const digits = exponent
    .slice(1)
    .padStart(2, '0')
    .replaceAll(/\d/g, (digit) => raised.charAt(Number(digit)));
  return `${mantissa}\u202f×\u202f10${exponent.startsWith('-') ? '⁻' : ''}${digits}`;
}

function hex(value: CelValue): string {
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (typeof value === 'bigint') return value.toString(16);
  if (value instanceof CelUint) return value.value.toString(16);
  throw wrongType(
    'only integers, byte buffers, and strings can be formatted as hex',
    'integers, strings and bytes',
    value,
  );
}
