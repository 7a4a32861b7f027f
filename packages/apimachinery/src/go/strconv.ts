import { quote } from './go-quote.ts';

/** A number in a request that is none; the message is that of Go's `strconv`, which clients get to see. */
export class StrconvError extends Error {
  override readonly name = 'StrconvError';
}

const signedInteger = /^[+-]?\d+$/;
const unsignedInteger = /^\d+$/;
const maxInt64 = 2n ** 63n - 1n;
const maxUint64 = 2n ** 64n - 1n;

/** `strconv.ParseInt(text, 10, 64)`. Beyond 2^53 the result is rounded. */
export function parseInt64(text: string): number {
  return parse('ParseInt', text, signedInteger, -maxInt64 - 1n, maxInt64);
}

/** `strconv.ParseUint(text, 10, 64)`. Beyond 2^53 the result is rounded. */
export function parseUint64(text: string): number {
  return parse('ParseUint', text, unsignedInteger, 0n, maxUint64);
}

function parse(name: string, text: string, pattern: RegExp, min: bigint, max: bigint): number {
  if (!pattern.test(text)) throw new StrconvError(`strconv.${name}: parsing ${quote(text)}: invalid syntax`);
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  // Thousands of leading zeros are hostile input; BigInt() of them is slow.
  const significant = text.replace(/^[+-]?0*/, '');
  const exact = significant.length > 20 ? max + 1n : BigInt(significant) * (text.startsWith('-') ? -1n : 1n);
  if (exact < min || exact > max) throw new StrconvError(`strconv.${name}: parsing ${quote(text)}: value out of range`);
  return value;
}
