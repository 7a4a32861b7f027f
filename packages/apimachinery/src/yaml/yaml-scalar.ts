/** The end of YAML 1.1 that Kubernetes' decoder understands: what a plain scalar means (no base 60, no timestamps). */

const words: ReadonlyMap<string, boolean | null> = new Map<string, boolean | null>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word) => [word, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word) => [word, false] as const),
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
]);
const notFinite = /^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$/;
const integer = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))$/;
const decimal = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const timestamp = /^\d{4}-\d\d?-\d\d?(?:$|[Tt ]\d\d?:\d\d?:\d\d?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?$)/;
const base60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const maxDigits = 80;

export type PlainScalar = string | number | bigint | boolean | null;

/** The value of a plain scalar. Infinities and NaN, which JSON has not, are `undefined`. */
export function resolvePlainScalar(text: string): PlainScalar | undefined {
  const word = words.get(text);
  if (word !== undefined) return word;
  const first = text.charCodeAt(0);
  const numeric = (first >= 0x30 && first <= 0x39) || first === 0x2b || first === 0x2d || first === 0x2e;
  if (!numeric || text.length > maxDigits) return text;
  const bare = text.replaceAll('_', '');
  const number = resolveInteger(bare);
  if (number !== undefined) return number;
  if (decimal.test(bare)) {
    const value = Number(bare);
    return Number.isFinite(value) ? value : text;
  }
  return notFinite.test(text) ? undefined : text;
}

function resolveInteger(text: string): number | bigint | undefined {
  const match = integer.exec(text);
  if (match === null) return undefined;
  const [, sign, hexadecimal, binary, octal, digits] = match;
  const magnitude =
    hexadecimal !== undefined
      ? BigInt(`0x${hexadecimal}`)
      : binary !== undefined
        ? BigInt(`0b${binary}`)
        : octal !== undefined
          ? BigInt(`0o${octal}`)
          : BigInt(digits as string);
  const value = sign === '-' ? -magnitude : magnitude;
  if (value > 2n ** 64n - 1n || value < -(2n ** 63n)) return Number(value);
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Whether a text, written without quotes, would be read as something else than itself. */
export function needsQuotes(text: string): boolean {
  if (text === '<<' || text === '=') return true;
  return typeof resolvePlainScalar(text) !== 'string' || timestamp.test(text) || base60.test(text);
}
