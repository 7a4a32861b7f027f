/** A text that is no quantity; worded as upstream. */
export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

const pattern = /^([+-]?)([0-9.]+)([eEinumkKMGTPE]*[-+]?[0-9]*)$/;
const formatMessage = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const suffixMessage = "unable to parse quantity's suffix";

const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const nanoDigits = 9;
const nano = 10n ** 9n;
/** Greater amounts are cut to this. */
const maxNanos = (2n ** 63n - 1n) * nano;
/** More decimal digits than any amount below the cut has. */
const enoughDigits = 40;

/**
 * `resource.Quantity`: an exact decimal of at most nine places (finer parts are rounded away from zero) that remembers
 * how it was written. Immutable. Canonical form: the shortest mantissa without fraction, with the largest suffix of its
 * family; amounts below 1024 and fractions of the binary family are written decimally.
 */
export class Quantity {
  /** The amount in billionths. */
  readonly nanos: bigint;
  readonly format: QuantityFormat;

  constructor(nanos: bigint, format: QuantityFormat = 'DecimalSI') {
    this.nanos = nanos > maxNanos ? maxNanos : nanos < -maxNanos ? -maxNanos : nanos;
    this.format = format;
  }

  static readonly zero = new Quantity(0n);

  /** Throws {@link QuantityError}. Numbers of JSON bodies are quantities as well. */
  static parse(input: string | number | bigint): Quantity {
    const match = pattern.exec(String(input));
    if (match === null) throw new QuantityError(formatMessage);
    const [, sign, digits = '', suffix = ''] = match;
    const [whole = '', fraction = '', rest] = digits.split('.');
    if (rest !== undefined || whole + fraction === '') throw new QuantityError(formatMessage);
    const { exponent, power, format } = parseSuffix(suffix);
    const nanos = toNanos(whole + fraction, exponent - fraction.length, power);
    return new Quantity(sign === '-' ? -nanos : nanos, format);
  }

  static fromInteger(amount: number | bigint, format: QuantityFormat = 'DecimalSI'): Quantity {
    return new Quantity(BigInt(amount) * nano, format);
  }

  toString(): string {
    if (this.nanos === 0n) return '0';
    const integer = this.nanos % nano === 0n;
    const amount = this.nanos / nano;
    if (this.format === 'BinarySI' && integer && (amount >= 1024n || amount <= -1024n))
      return withSuffix(amount, 1024n, binarySuffixes);
    let mantissa = this.nanos;
    let thousands = 0;
    while (mantissa % 1000n === 0n && (thousands < decimalSuffixes.length - 1 || this.format === 'DecimalExponent')) {
      mantissa /= 1000n;
      thousands++;
    }
    if (this.format !== 'DecimalExponent') return `${mantissa}${decimalSuffixes[thousands] as string}`;
    const exponent = thousands * 3 - nanoDigits;
    return exponent === 0 ? String(mantissa) : `${mantissa}e${exponent}`;
  }

  toJSON(): string {
    return this.toString();
  }

  /** Below, at or above zero. */
  get sign(): -1 | 0 | 1 {
    return this.nanos < 0n ? -1 : this.nanos > 0n ? 1 : 0;
  }

  get isInteger(): boolean {
    return this.nanos % nano === 0n;
  }

  compare(other: Quantity): -1 | 0 | 1 {
    return this.nanos < other.nanos ? -1 : this.nanos > other.nanos ? 1 : 0;
  }

  /** The sum, written like this one; a zero takes the other's way of writing. */
  add(other: Quantity): Quantity {
    return new Quantity(this.nanos + other.nanos, this.nanos === 0n ? other.format : this.format);
  }

  subtract(other: Quantity): Quantity {
    return new Quantity(this.nanos - other.nanos, this.nanos === 0n ? other.format : this.format);
  }

  /** Rounds away from zero to a power of ten: -3 for thousandths, 0 for integers. */
  roundUp(power: number): Quantity {
    const unit = 10n ** BigInt(Math.max(0, power + nanoDigits));
    const rest = this.nanos % unit;
    if (rest === 0n) return this;
    return new Quantity(this.nanos - rest + (rest > 0n ? unit : -unit), this.format);
  }

  /** The nearest number. */
  toNumber(): number {
    return Number(this.nanos / nano) + Number(this.nanos % nano) / 1e9;
  }
}

interface Suffix {
  /** Power of ten. */
  readonly exponent: number;
  /** Power of 1024. */
  readonly power: number;
  readonly format: QuantityFormat;
}

function parseSuffix(suffix: string): Suffix {
  const decimal = decimalSuffixes.indexOf(suffix);
  if (decimal >= 0) return { exponent: decimal * 3 - nanoDigits, power: 0, format: 'DecimalSI' };
  const binary = binarySuffixes.indexOf(suffix);
  if (binary > 0) return { exponent: 0, power: binary, format: 'BinarySI' };
  const exponent = /^[eE]([-+]?[0-9]+)$/.exec(suffix)?.[1];
  if (exponent === undefined) throw new QuantityError(suffixMessage);
  return { exponent: Number(exponent), power: 0, format: 'DecimalExponent' };
}

/** `digits`·10^exponent·1024^power in billionths, rounded up. Looks at no more digits than matter. */
function toNanos(digits: string, exponent: number, power: number): bigint {
  const significant = digits.replace(/^0+/, '');
  if (significant === '') return 0n;
  const magnitude = significant.length + exponent;
  if (magnitude > enoughDigits) return maxNanos;
  if (magnitude < -enoughDigits) return 1n;
  // What is cut off can only matter for the direction of rounding: one digit stands for it.
  const kept = significant.length > 2 * enoughDigits ? `${significant.slice(0, 2 * enoughDigits)}1` : significant;
  const shift = exponent + (significant.length - kept.length) + nanoDigits;
  const amount = BigInt(kept) * 1024n ** BigInt(power);
  if (shift >= 0) return amount * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return (amount + divisor - 1n) / divisor;
}

function withSuffix(amount: bigint, base: bigint, suffixes: readonly string[]): string {
  let index = 0;
  while (amount % base === 0n && index < suffixes.length - 1) {
    amount /= base;
    index++;
  }
  return `${amount}${suffixes[index] as string}`;
}
