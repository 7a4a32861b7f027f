import { quote } from '@multiplane/apimachinery';
import { CelError, checkTextLength } from './cel-error.ts';
import { doubleText } from './conversion-library.ts';
import { formatTypeError, interpolateFormat, type FormatVerb } from './format-clauses.ts';
import { typeOfValue } from './standard-types.ts';
import { durationText, timestampText } from './time-text.ts';
import {
  CelDuration,
  CelMap,
  CelObject,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  isList,
  type CelValue,
} from './values.ts';

/** `'%s-%d'.format([a, b])`. */
export function formatText(format: string, args: readonly CelValue[]): string {
  return interpolateFormat(format, {
    take: (index) => {
      if (index >= args.length) throw new CelError(`index ${index} out of range`);
    },
    size: args.length,
    print: (verb, index, precision) => formatVerb(verb, args[index] as CelValue, precision ?? 6),
  });
}

function formatVerb(verb: FormatVerb, value: CelValue, precision: number): string {
  switch (verb) {
    case 's':
      return plain(value);
    case 'd':
      return String(integer(value, verb));
    case 'f':
      return fixed(value, precision);
    case 'e':
      return scientific(value, precision);
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0';
      return integer(value, verb).toString(2);
    case 'o':
      return integer(value, verb).toString(8);
    case 'x':
      return hex(value);
    case 'X':
      return hex(value).toUpperCase();
  }
}

const wrongType = (verb: FormatVerb, value: CelValue): CelError => formatTypeError(verb, typeOfValue(value).name);

/** A value as `%s` prints it. */
function plain(value: CelValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return doubleText(value);
  if (value === null) return 'null';
  if (isList(value)) return `[${value.map(nested).join(', ')}]`;
  if (value instanceof CelUint) return String(value.value);
  if (value instanceof Uint8Array) return decoded(value);
  if (value instanceof CelTimestamp) return timestampText(value);
  if (value instanceof CelDuration) return durationText(value);
  if (value instanceof CelTypeValue) return value.type.name;
  if (value instanceof CelMap || (value instanceof CelObject && value.fields.isMap)) {
    const entries = Array.from(entriesOf(value), ([key, item]) => [keyText(key), nested(item)] as const);
    const sorted = entries.toSorted(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
    return `{${sorted.map(([key, item]) => `${key}:${item}`).join(', ')}}`;
  }
  throw wrongType('s', value);
}

/** Of a null, which is absent, only the key is there. */
function* entriesOf(value: CelMap | CelObject): Iterable<readonly [CelValue, CelValue]> {
  if (value instanceof CelMap) yield* value.entries();
  else {
    for (const key of value.fields.keys()) {
      const item = value.fields.get(key);
      if (item === undefined) throw new CelError(`error during formatting: could not find key: ${quote(key)}`);
      yield [key, item];
    }
  }
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    const reason = 'could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string';
    throw new CelError(`error during formatting: ${reason}`, { cause: error });
  }
}

function keyText(key: CelValue): string {
  const type = typeOfValue(key).name;
  if (!['bool', 'int', 'string', 'uint'].includes(type))
    throw new CelError(`error during formatting: no formatting function for map key of type ${type}`);
  return nested(key);
}

/** Within a list or map values are printed as they would be written. */
function nested(value: CelValue): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number') return Number.isFinite(value) ? exactFixed(value, 6) : quote(doubleText(value));
  if (value instanceof Uint8Array) return `b${quote(decoded(value))}`;
  if (value instanceof CelTimestamp) return `timestamp(${quote(timestampText(value))})`;
  if (value instanceof CelDuration) return `duration(${quote(durationText(value))})`;
  return plain(value);
}

function integer(value: CelValue, verb: 'b' | 'd' | 'o'): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof CelUint) return value.value;
  throw wrongType(verb, value);
}

const spelled: Readonly<Record<string, number>> = { NaN: Number.NaN, Infinity, '-Infinity': -Infinity };
function real(value: CelValue, verb: 'e' | 'f'): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string' && Object.hasOwn(spelled, value)) return spelled[value] as number;
  throw wrongType(verb, value);
}
const unusual = (value: number): string | undefined => {
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? undefined : value > 0 ? '∞' : '-∞';
};

/** In American English, as in cel-go: thousands are grouped. */
function fixed(value: CelValue, precision: number): string {
  const number = real(value, 'f');
  checkTextLength(precision);
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
/** `2.718000×10⁰³`; cel-go takes the precision as the width of the text. */
function scientific(value: CelValue, precision: number): string {
  const number = real(value, 'e');
  checkTextLength(precision);
  const text = unusual(number);
  if (text !== undefined) return text;
  const [mantissa, exponent] = number.toExponential(6).split('e') as [string, string];
  const digits = exponent
    .slice(1)
    .padStart(2, '0')
    .replaceAll(/\d/g, (digit) => raised.charAt(Number(digit)));
  const shown = `${mantissa}×10${exponent.startsWith('-') ? '⁻' : ''}${digits}`;
  return ' '.repeat(Math.max(precision - Array.from(shown).length, 0)) + shown;
}

function hex(value: CelValue): string {
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (typeof value === 'bigint') return value.toString(16);
  if (value instanceof CelUint) return value.value.toString(16);
  throw wrongType('x', value);
}
