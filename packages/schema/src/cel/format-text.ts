import { CelError } from './cel-error.ts';
import { doubleText } from './conversion-library.ts';
import { typeOfValue } from './standard-types.ts';
import { durationText, timestampText } from './time-text.ts';
import { CelDuration, CelMap, CelTimestamp, CelTypeValue, CelUint, isList, type CelValue } from './values.ts';

/** `'%s-%d'.format([a, b])` (cel-go `ext/formatting.go`). */
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

function plain(value: CelValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return specialNumber(value) ?? doubleText(value);
  if (value === null) return 'null';
  if (isList(value)) return `[${value.map(plain).join(', ')}]`;
  if (value instanceof CelUint) return String(value.value);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof CelTimestamp) return timestampText(value);
  if (value instanceof CelDuration) return durationText(value);
  if (value instanceof CelTypeValue) return value.type.name;
  if (value instanceof CelMap) {
    const entries = [...value.entries()].map(([key, item]) => [plain(key), plain(item)] as const);
    const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return `{${sorted.map(([key, item]) => `${key}: ${item}`).join(', ')}}`;
  }
  throw new CelError(
    'error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given ' +
      typeOfValue(value).name,
  );
}

const specialNumber = (value: number): string | undefined => {
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? undefined : value > 0 ? 'Infinity' : '-Infinity';
};

function decimal(value: CelValue): string {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof CelUint) return String(value.value);
  const special = typeof value === 'number' ? specialNumber(value) : undefined;
  if (special !== undefined) return special;
  throw wrongType('decimal', 'integers', value);
}

function integer(value: CelValue, verb: 'b' | 'o'): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof CelUint) return value.value;
  throw verb === 'b'
    ? wrongType('only integers and bools can be formatted as binary', 'integers and bools', value)
    : wrongType('octal', 'integers', value);
}

function real(value: CelValue, clause: string): number | bigint {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (value instanceof CelUint) return value.value;
  throw wrongType(clause, 'doubles', value);
}

function fixed(value: CelValue, precision: number): string {
  const number = real(value, 'fixed-point');
  if (typeof number === 'bigint') return precision === 0 ? String(number) : `${number}.${'0'.repeat(precision)}`;
  const special = specialNumber(number);
  if (special !== undefined) return special;
  return exactFixed(number, precision);
}

/** Rounds the exact value, halves to the even digit. */
function exactFixed(number: number, precision: number): string {
  // oxlint-disable-next-line oxc/number-arg-out-of-range -- 100 places are allowed, and print a double exactly enough
  const exact =
    Math.abs(number) < 1e21 ? Math.abs(number).toFixed(100) : `${BigInt(Math.abs(number))}.${'0'.repeat(100)}`;
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

function scientific(value: CelValue, precision: number): string {
  const number = Number(real(value, 'scientific'));
  const special = specialNumber(number);
  if (special !== undefined) return special;
  return number.toExponential(Math.min(precision, 100)).replace(/e([+-])(\d)$/, 'e$10$2');
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
