/**
 * Compares keys by their UTF-8 bytes, as stores order them. JavaScript compares UTF-16 code units, which differs only where
 * a surrogate meets a unit above it (U+E000–U+FFFF): in UTF-8 that character sorts before the surrogate pair.
 */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) {
      if (x >= 0xd800 && y >= 0xd800) {
        const xSurrogate = x <= 0xdfff;
        if (xSurrogate !== y <= 0xdfff) return xSurrogate ? 1 : -1;
      }
      return x - y;
    }
  }
  return a.length - b.length;
}

/** Index of the first element of a sorted array with a key ≥ `key`. */
export function lowerBound<T>(sorted: readonly T[], key: string, keyOf: (element: T) => string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(keyOf(sorted[middle] as T), key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
