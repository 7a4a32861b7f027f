/** A number as Go prints a float64 with %v: plain between 1e-4 and 1e21, otherwise with an exponent of two digits. */
export function goNumber(value: number | bigint): string {
  if (typeof value === 'bigint') return String(value);
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-4) {
    const [mantissa, exponent] = value.toExponential().split('e-') as [string, string];
    return `${mantissa}e-${exponent.padStart(2, '0')}`;
  }
  return String(value);
}

/** Characters of a text as Go counts runes: by code point. */
export function runeCount(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length - 1; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit < 0xdc00) {
      const next = text.charCodeAt(index + 1);
      if (next >= 0xdc00 && next < 0xe000) {
        count--;
        index++;
      }
    }
  }
  return count;
}
