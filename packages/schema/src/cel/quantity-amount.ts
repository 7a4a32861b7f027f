/**
 * The amount of a quantity as `value`·10^`scale` within 64 bits (apimachinery `int64Amount`). Undefined: upstream keeps a
 * big decimal instead, of which it says that it is no integer, whatever it is. Sums keep that.
 */
export type SmallAmount = { readonly value: bigint; readonly scale: number } | undefined;

const fits = (value: bigint): boolean => BigInt.asIntN(64, value) === value;
const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** Of a text that is a quantity. */
export function smallAmountOf(text: string): SmallAmount {
  const match = /^([+-]?)0*(\d*)(?:\.(\d*))?([eE]?[-+]?\d+|[A-Za-z]*)$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', suffix = ''] = match;
  const digits = (whole === '' ? '0' : whole) + fraction;
  const binary = binarySuffixes.indexOf(suffix);
  let factor = 1n;
  let scale = 0;
  // Upstream takes the short way only where it can tell from the number of digits that nothing overflows.
  let spare = 18 - digits.length;
  if (binary > 0) {
    factor = 1024n ** BigInt(binary);
    spare = fraction === '' ? 14 - digits.length - Math.trunc((binary * 10 * 3) / 10) : -1;
  } else if (/^[eE]/.test(suffix) && suffix.length > 1) scale = Number(suffix.slice(1));
  else scale = decimalSuffixes.indexOf(suffix) * 3 - 9;
  scale -= fraction.length;
  const value = BigInt(digits) * factor * (sign === '-' ? -1n : 1n);
  return spare < 0 || scale < -9 || !fits(value) ? undefined : { value, scale };
}

/** Undefined: the sum has no such form. */
export function addSmall(left: SmallAmount, right: SmallAmount): SmallAmount {
  if (left === undefined || right === undefined) return undefined;
  if (right.value === 0n) return left;
  if (left.value === 0n) return right;
  const scale = Math.min(left.scale, right.scale);
  const [a, b] = [left, right].map((amount) => scaled(amount.value, amount.scale - scale));
  if (a === undefined || b === undefined || !fits(a + b)) return undefined;
  return { value: a + b, scale };
}

export const negated = (amount: SmallAmount): SmallAmount =>
  amount === undefined ? undefined : { value: -amount.value, scale: amount.scale };

function scaled(value: bigint, power: number): bigint | undefined {
  const result = power > 20 ? undefined : value * 10n ** BigInt(power);
  return result !== undefined && fits(result) ? result : undefined;
}

/** The integer that it is; undefined: it is none, or none of 64 bits. */
export function integerOf(amount: SmallAmount): bigint | undefined {
  if (amount === undefined || amount.scale < 0) return undefined;
  return amount.value === 0n ? 0n : scaled(amount.value, amount.scale);
}
