import { CelUint, type CelValue } from './values.ts';

const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** The value of a string or bytes token, and why it has none: it contains what stands for no character. */
export function parseText(token: string, bytes: boolean): { value: string | Uint8Array; problem?: string } {
  const open = token.search(/["']/);
  const raw = /r/i.test(token.slice(0, open));
  const quote = token.charAt(open);
  const width = token.length - open >= 6 && token.startsWith(quote.repeat(3), open) ? 3 : 1;
  const body = token
    .slice(open + width, -width)
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '\n');
  if (raw || !body.includes('\\')) return { value: bytes ? Buffer.from(body, 'utf8') : body };
  const parts: (string | number)[] = [];
  let problem: string | undefined;
  const rest = body.replaceAll(
    /\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7][0-7])|(.))|[^\\]+/gsu,
    (match: string, hex?: string, unicode?: string, long?: string, octal?: string, char?: string) => {
      const code = unicode ?? long;
      const byte = hex ?? octal;
      if (char !== undefined) parts.push(escapes[char] ?? char);
      else if (code !== undefined) {
        const point = Number.parseInt(code, 16);
        if (bytes) problem ??= 'unable to unescape string';
        else if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) problem ??= 'invalid unicode code point';
        else parts.push(String.fromCodePoint(point));
      } else if (byte !== undefined) {
        const value = Number.parseInt(byte, hex === undefined ? 8 : 16);
        parts.push(bytes ? value : String.fromCodePoint(value));
      } else parts.push(match);
      return '';
    },
  );
  if (rest !== '') problem ??= 'unable to unescape string';
  if (problem !== undefined) return { value: '', problem };
  if (!bytes) return { value: parts.join('') };
  return {
    value: Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part, 'utf8')))),
  };
}

/** The value of an int token; undefined: out of range. */
export function parseInt64(text: string): bigint | undefined {
  const negative = text.startsWith('-');
  const digits = negative ? text.slice(1) : text;
  if (digits.length > 100) return undefined;
  const value = negative ? -BigInt(digits) : BigInt(digits);
  return value >= 2n ** 63n || value < -(2n ** 63n) ? undefined : value;
}

export function parseUint64(text: string): CelUint | undefined {
  if (text.length > 100) return undefined;
  const value = BigInt(text.slice(0, -1));
  return value >= 2n ** 64n ? undefined : new CelUint(value);
}

export const parseFloat64 = (text: string): CelValue => Number(text);
