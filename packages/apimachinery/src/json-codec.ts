import { readJson } from './json-reader.ts';
import { rawJson, type Json, type JsonObject } from './json.ts';

export { JsonSyntaxError } from './json-reader.ts';

/**
 * How deep objects and lists may nest. Go's decoder allows 10 000, but the engine's own `JSON.stringify` already
 * exhausts the call stack near 5 000, as does any recursive walk: what could be read but never written is refused.
 */
export const maxJsonDepth = 1_000;

export interface ParseJsonOptions {
  /** Default {@link maxJsonDepth}. Beyond: JsonSyntaxError `exceeded max depth`. */
  readonly maxDepth?: number | undefined;
}

/**
 * Whether `JSON.parse` would lose digits of an integer or make an infinity of a number. Looks at digit runs of 16 and
 * exponents of 3 that could end a number; a hit inside a string only costs the slower way. Linear: each alternative
 * starts once per run.
 */
const inexactNumber = /(?<!\d)\d{16,}\s*(?:[,\]}eE.]|$)|\d[eE]\+?\d{3,}\s*(?:[,\]}]|$)/;
const surrogateEscape = /\\u[dD][89a-fA-F]/;

/**
 * Parses JSON as Kubernetes' API server reads it: integers of 64 bits exactly (bigint beyond 2^53), invalid UTF-8 and
 * lone surrogates become U+FFFD, the last of equal names wins, names such as `__proto__` are own properties.
 * Throws {@link JsonSyntaxError}.
 */
export function parseJson(text: string | Buffer, options: ParseJsonOptions = {}): Json {
  const source = textOf(text);
  const maxDepth = options.maxDepth ?? maxJsonDepth;
  return parseFast(source, maxDepth) ?? readJson(source, { maxDepth });
}

/** Undefined when the fast way could go wrong or failed (`null` too: it is cheap to read again). */
function parseFast(source: string, maxDepth: number): Json | undefined {
  if (inexactNumber.test(source)) return undefined;
  if (source.includes('\\u') && surrogateEscape.test(source)) return undefined;
  // Fewer characters than levels cannot nest too deep.
  if (source.length > maxDepth && measure(source).depth > maxDepth) return undefined;
  try {
    return (JSON.parse(source) as Json | null) ?? undefined;
  } catch {
    return undefined; // The careful reader fails at the same place, with Go's message.
  }
}

/**
 * {@link parseJson} and the paths of members that stand twice in one object (`spec.ports[0].name`, each once, in the
 * order of the text), for `fieldValidation` Warn and Strict. Costs one more pass over the text; the slow search runs
 * only if the text holds more members than the parsed value.
 */
export function parseJsonStrict(
  text: string | Buffer,
  options: ParseJsonOptions = {},
): { readonly value: Json; readonly duplicates: string[] } {
  const source = textOf(text);
  const maxDepth = options.maxDepth ?? maxJsonDepth;
  const value = parseFast(source, maxDepth);
  if (value !== undefined && countMembers(value) === measure(source).members) return { value, duplicates: [] };
  return readWithDuplicates(source, maxDepth);
}

/** The paths of members that stand twice in one object. Throws {@link JsonSyntaxError} like {@link parseJson}. */
export function findDuplicateKeys(text: string | Buffer): string[] {
  return parseJsonStrict(text).duplicates;
}

function readWithDuplicates(source: string, maxDepth: number): { value: Json; duplicates: string[] } {
  const paths = new Set<string>();
  const value = readJson(source, { maxDepth, onDuplicate: (path) => paths.add(path) });
  return { value, duplicates: [...paths] };
}

function textOf(text: string | Buffer): string {
  if (typeof text !== 'string') return text.toString('utf8');
  return text.isWellFormed() ? text : text.toWellFormed();
}

/**
 * Depth and number of members of a text, in one pass that jumps over strings. Colons outside strings are members.
 * Says nothing useful about text that is not JSON.
 */
function measure(source: string): { depth: number; members: number } {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  for (let index = 0; index < source.length; index++) {
    switch (source.charCodeAt(index)) {
      case 0x22: // "
        index = endOfString(source, index);
        break;
      case 0x3a: // :
        members++;
        break;
      case 0x7b: // {
      case 0x5b: // [
        depth++;
        if (depth > deepest) deepest = depth;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
        break;
    }
  }
  return { depth: deepest, members };
}

function endOfString(source: string, start: number): number {
  let end = source.indexOf('"', start + 1);
  while (end > 0) {
    let before = end - 1;
    while (source.charCodeAt(before) === 0x5c) before--;
    // An even number of backslashes leaves the quote mark unescaped.
    if ((end - before) % 2 === 1) return end;
    end = source.indexOf('"', end + 1);
  }
  return source.length;
}

function countMembers(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object' && item !== null) count += countMembers(item);
    return count;
  }
  for (const key of Object.keys(value)) {
    count++;
    const item = value[key];
    if (typeof item === 'object' && item !== null) count += countMembers(item);
  }
  return count;
}

const rawBigInt = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? rawJson(String(value)) : value;

/** Compact JSON of a value, bigints as integers. Keys keep their order. Members that are undefined are left out. */
export function encodeJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // The engine refuses bigints; a replacer for every value would cost all others three times as much.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, rawBigInt);
  }
}

export interface EncodeJsonGoOptions {
  /** Indents by two spaces. */
  readonly pretty?: boolean | undefined;
  /** Sorts the members of every object by name (bytewise), as Go does with maps: custom resources and other untyped objects. */
  readonly sortKeys?: boolean | undefined;
}

const htmlCharacters = /[<>&\u2028\u2029]/g;
const escapeHtml = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** JSON as Go's encoder writes it (K1.4): `<`, `>`, `&`, U+2028 and U+2029 escaped. No line break at the end. */
export function encodeJsonGo(value: unknown, options: EncodeJsonGoOptions = {}): string {
  let text = options.sortKeys === true ? encodeSorted(value) : encodeJson(value);
  if (options.pretty === true) text = indent(text);
  // These characters stand in strings only, so the text can be treated as a whole.
  return text.search(htmlCharacters) < 0 ? text : text.replaceAll(htmlCharacters, escapeHtml);
}

/** Order of Go's strings: by UTF-8 bytes, which is the order of code points. */
export function compareBytewise(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    let x = a.charCodeAt(index);
    let y = b.charCodeAt(index);
    if (x !== y) {
      // Surrogates stand for code points above all others.
      if (x >= 0xd800 && x <= 0xdfff) x += 0x10000;
      if (y >= 0xd800 && y <= 0xdfff) y += 0x10000;
      return x - y;
    }
  }
  return a.length - b.length;
}

function encodeSorted(value: unknown): string {
  if (typeof value !== 'object' || value === null) return encodeJson(value);
  if (Array.isArray(value)) return `[${value.map((item) => encodeSorted(item ?? null)).join(',')}]`;
  const object = value as JsonObject;
  let text = '{';
  for (const key of Object.keys(object).sort(compareBytewise)) {
    const item: unknown = object[key];
    if (item !== undefined) text += `${text === '{' ? '' : ','}${JSON.stringify(key)}:${encodeSorted(item)}`;
  }
  return `${text}}`;
}

/** Indents compact JSON; works on the text so that the order of members stays (the engine reorders integer names). */
function indent(text: string): string {
  let result = '';
  let margin = '\n';
  let copied = 0;
  for (let index = 0; index < text.length; index++) {
    const char = text[index];
    if (char === '"') {
      index = endOfString(text, index);
    } else if (char === '{' || char === '[') {
      const next = text[index + 1];
      if (next === '}' || next === ']') {
        index++;
        continue;
      }
      margin += '  ';
      result += text.slice(copied, index + 1) + margin;
      copied = index + 1;
    } else if (char === '}' || char === ']') {
      margin = margin.slice(0, -2);
      result += text.slice(copied, index) + margin;
      copied = index;
    } else if (char === ',') {
      result += text.slice(copied, index + 1) + margin;
      copied = index + 1;
    } else if (char === ':') {
      result += `${text.slice(copied, index + 1)} `;
      copied = index + 1;
    }
  }
  return result + text.slice(copied);
}
