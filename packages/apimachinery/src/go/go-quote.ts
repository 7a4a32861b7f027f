/** What Go calls printable, and the escapes that JSON and Go write alike. Quote marks and backslashes are alike, too. */
const sameAsJson = /^[\p{L}\p{M}\p{N}\p{P}\p{S} \n\r\t\b\f]*$/u;
const toEscape = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|["\\]/gu;

/** Go's `%q`: double quotes, with everything that cannot be printed escaped. Stands in most messages of errors. */
export function quote(text: string): string {
  if (sameAsJson.test(text)) return JSON.stringify(text);
  // One of a hundred thousand is most often like the one before.
  const known = new Map<string, string>();
  const quoted = text.replaceAll(toEscape, (char) => {
    let shown = known.get(char);
    if (shown === undefined) known.set(char, (shown = escaped(char)));
    return shown;
  });
  return `"${quoted}"`;
}

function escaped(char: string): string {
  switch (char) {
    case '\u0007':
      return String.raw`\a`;
    case '\v':
      return String.raw`\v`;
    case '"':
    case '\\':
    case '\n':
    case '\r':
    case '\t':
    case '\b':
    case '\f':
      return JSON.stringify(char).slice(1, -1);
    default: {
      const code = char.codePointAt(0) as number;
      const hex = code.toString(16);
      if (code < 0x80) return String.raw`\x` + hex.padStart(2, '0');
      return code <= 0xffff ? String.raw`\u` + hex.padStart(4, '0') : String.raw`\U` + hex.padStart(8, '0');
    }
  }
}
