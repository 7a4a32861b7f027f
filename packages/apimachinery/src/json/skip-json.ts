const backslash = 0x5c;
const quote = 0x22;
const openCurly = 0x7b;
const closeCurly = 0x7d;
const openSquare = 0x5b;
const closeSquare = 0x5d;
const comma = 0x2c;
const nearBytes = 32;

/**
 * Index after the closing quote of the JSON string that begins at `at`.
 *
 * @throws TypeError when the bytes end within the string
 */
export function skipJsonString(bytes: Buffer, at: number): number {
  // Most strings are short: a loop ends before the call of a native search would start.
  for (let near = at + 1; near <= at + nearBytes; near++) {
    const code = bytes[near];
    if (code === quote) return near + 1;
    if (code === backslash) break;
  }
  let index = at + 1;
  for (;;) {
    const end = bytes.indexOf(quote, index);
    if (end < 0) throw new TypeError('bytes end within a string');
    let slashes = 0;
    while (bytes[end - 1 - slashes] === backslash) slashes++;
    if (slashes % 2 === 0) return end + 1;
    index = end + 1;
  }
}

/**
 * Index after the JSON value that begins at `at`: its bytes are valid JSON without white space.
 *
 * @throws TypeError when the bytes end within the value
 */
export function skipJsonValue(bytes: Buffer, at: number): number {
  const first = bytes[at];
  if (first === quote) return skipJsonString(bytes, at);
  let index = at;
  if (first === openCurly || first === openSquare) {
    let depth = 0;
    for (;;) {
      const code = bytes[index];
      if (code === quote) {
        index = skipJsonString(bytes, index);
        continue;
      }
      index++;
      if (code === openCurly || code === openSquare) depth++;
      else if ((code === closeCurly || code === closeSquare) && --depth === 0) return index;
      else if (code === undefined) throw new TypeError('bytes end within a value');
    }
  }
  while (index < bytes.length && bytes[index] !== comma && bytes[index] !== closeCurly) index++;
  return index;
}
