import { CelError } from './cel-error.ts';
import { declare, type Overload } from './function-declaration.ts';
import { durationText, parseDuration, parseTimestamp, timestampOf, timestampText, unixSeconds } from './time-text.ts';
import { typeOfValue } from './standard-types.ts';
import { CelDuration, CelTimestamp, CelTypeValue, CelUint, type CelValue } from './values.ts';

const rangeError = (): CelError => new CelError('range error');
const conversionError = (type: string): CelError => new CelError(`type conversion error from 'string' to '${type}'`);

function toInt(value: CelValue): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof CelUint) {
    if (value.value >= 2n ** 63n) throw new CelError('integer overflow');
    return value.value;
  }
  if (typeof value === 'number') {
    if (!(value > -(2 ** 63) && value < 2 ** 63)) throw new CelError('integer overflow');
    return BigInt(Math.trunc(value));
  }
  if (value instanceof CelTimestamp) return unixSeconds(value);
  if (value instanceof CelDuration) return value.nanos;
  const text = value as string;
  if (!/^[+-]?[0-9]{1,30}$/.test(text)) throw conversionError('int');
  const parsed = BigInt(text.replace('+', ''));
  if (parsed >= 2n ** 63n || parsed < -(2n ** 63n)) throw conversionError('int');
  return parsed;
}

function toUint(value: CelValue): CelUint {
  if (value instanceof CelUint) return value;
  if (typeof value === 'bigint') {
    if (value < 0n) throw new CelError('unsigned integer overflow');
    return new CelUint(value);
  }
  if (typeof value === 'number') {
    if (!(value >= 0 && value < 2 ** 64)) throw new CelError('unsigned integer overflow');
    return new CelUint(BigInt(Math.trunc(value)));
  }
  const text = value as string;
  if (!/^[0-9]{1,30}$/.test(text) || BigInt(text) >= 2n ** 64n) throw conversionError('uint');
  return new CelUint(BigInt(text));
}

function toDouble(value: CelValue): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof CelUint) return Number(value.value);
  const text = value as string;
  if (/^[+-]?inf(?:inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  if (/^nan$/i.test(text)) return Number.NaN;
  const number = parseNumber(text);
  if (number === undefined || !Number.isFinite(number)) throw conversionError('double');
  return number;
}

/** Go's `strconv.ParseFloat`: digits may be grouped by underscores, and a hexadecimal number has a binary exponent. */
function parseNumber(text: string): number | undefined {
  if (/__|_$|^[+-]?_|_[.eEpP+-]|[.eEpP+-]_/.test(text)) return undefined;
  const plain = text.replaceAll('_', '');
  if (/^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/.test(plain)) return Number(plain);
  const hex = /^([+-]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?[0-9]{1,6})$/.exec(plain);
  if (hex === null || plain.length > 40) return undefined;
  const [, sign, whole = '', fraction = '', exponent] = hex;
  if (whole + fraction === '') return undefined;
  const size = Number(BigInt(`0x${whole}${fraction}`)) * 2 ** (Number(exponent) - 4 * fraction.length);
  return sign === '-' ? -size : size;
}

/** A double as Go's `strconv.FormatFloat(v, 'g', -1, 64)` prints it. */
export function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const exponent = value === 0 ? 0 : Number(value.toExponential().split('e')[1]);
  if (exponent >= -4 && exponent < 6) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}

function toText(value: CelValue): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'number':
      return doubleText(value);
    default:
  }
  if (value instanceof CelUint) return String(value.value);
  if (value instanceof CelTimestamp) return timestampText(value);
  if (value instanceof CelDuration) return durationText(value);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value as Uint8Array);
  } catch (error) {
    throw new CelError('invalid UTF-8 in bytes, cannot convert to string', { cause: error });
  }
}

const truths = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const lies = ['0', 'f', 'F', 'FALSE', 'false', 'False'];
function toBool(value: CelValue): boolean {
  if (typeof value === 'boolean') return value;
  const text = value as string;
  if (!truths.includes(text) && !lies.includes(text)) throw conversionError('bool');
  return truths.includes(text);
}

/** As cel-go, without the parser's error. */
function parsedAs<T>(type: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof CelError) || error.message === rangeError().message) throw error;
    throw new CelError(`type conversion error from 'string' to 'google.protobuf.${type}'`, { cause: error });
  }
}

export function toTimestamp(value: CelValue): CelTimestamp {
  if (typeof value === 'bigint') return timestampOf(value * 1_000_000_000n);
  return value instanceof CelTimestamp ? value : parsedAs('Timestamp', () => parseTimestamp(value as string));
}
export function toDuration(value: CelValue): CelDuration {
  // The overload is declared, but cel-go cannot convert integers.
  if (typeof value === 'bigint') throw new CelError("type conversion error from 'int' to 'google.protobuf.Duration'");
  if (value instanceof CelDuration) return value;
  const parsed = parsedAs('Duration', () => parseDuration(value as string));
  const limit = 315_576_000_000n * 1_000_000_000n;
  if (parsed.nanos > limit || parsed.nanos < -limit) throw rangeError();
  return parsed;
}

const from = (name: string, apply: (value: CelValue) => CelValue, ...types: string[]): Overload[] =>
  types.map((type) => declare(name, `${type}_to_${name}`, `(${type}) ${name}`, apply));

export const conversions: readonly Overload[] = [
  ...from('bool', toBool, 'bool', 'string'),
  ...from('bytes', (value) => (typeof value === 'string' ? Buffer.from(value, 'utf8') : value), 'bytes', 'string'),
  ...from('double', toDouble, 'double', 'int', 'string', 'uint'),
  ...from('duration', toDuration, 'duration', 'int', 'string'),
  declare('dyn', 'to_dyn', '(A) dyn', (value) => value),
  ...from('int', toInt, 'int', 'double', 'duration', 'string', 'timestamp', 'uint'),
  ...from('string', toText, 'string', 'bool', 'bytes', 'double', 'duration', 'int', 'timestamp', 'uint'),
  ...from('timestamp', toTimestamp, 'timestamp', 'int', 'string'),
  declare('type', 'type', '(A) type(A)', (value) => new CelTypeValue(typeOfValue(value))),
  ...from('uint', toUint, 'uint', 'double', 'int', 'string'),
];
