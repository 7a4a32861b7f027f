const simpleEscapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
};
const escape = /\\(?:([abfnrtv\\])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(["']))/y;

/**
 * The content of a quoted text with the escapes of `strconv.UnquoteChar`; the mark itself only appears escaped. Undefined: not valid
 * syntax.
 */
export function unquoteGo(content: string, mark: '"' | "'"): string | undefined {
  const parts: Buffer[] = [];
  let position = 0;
  while (position < content.length) {
    if (content[position] !== '\\') {
      const start = position;
      while (position < content.length && content[position] !== '\\')
        if (content[position++] === mark) return undefined;
      parts.push(Buffer.from(content.slice(start, position)));
      continue;
    }
    escape.lastIndex = position;
    const bytes = bytesOf(escape.exec(content), mark);
    if (bytes === undefined) return undefined;
    parts.push(bytes);
    position = escape.lastIndex;
  }
  return Buffer.concat(parts).toString('utf8');
}

function bytesOf(match: RegExpExecArray | null, mark: string): Buffer | undefined {
  if (match === null) return undefined;
  const [, simple, hex, short, long, octal, quoted] = match;
  if (simple !== undefined) return Buffer.from(simpleEscapes[simple] as string);
  // These two stand for bytes, of which several may make one character.
  if (hex !== undefined) return Buffer.from(hex, 'hex');
  if (octal !== undefined) {
    const byte = Number.parseInt(octal, 8);
    return byte > 255 ? undefined : Buffer.of(byte);
  }
  if (quoted !== undefined) return quoted === mark ? Buffer.from(quoted) : undefined;
  const codePoint = Number.parseInt((short ?? long) as string, 16);
  const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
  return codePoint > 0x10_ffff || isSurrogate ? undefined : Buffer.from(String.fromCodePoint(codePoint));
}
