import { runeCount } from '../go-text.ts';
import { CelError, checkTextLength } from './cel-error.ts';
import { declare, type Overload } from './function-declaration.ts';
import { formatText } from './format-text.ts';
import type { CelValue } from './values.ts';

type Args = readonly CelValue[];
const text = (args: Args, index: number): string => args[index] as string;
const int = (args: Args, index: number): number => Number(args[index]);
const method = (name: string, id: string, signature: string, apply: (args: Args) => CelValue): Overload =>
  declare(name, id, signature, (...args) => apply(args));

/** Characters are code points. */
const chars = (value: string): string[] => Array.from(value);

const exact = (args: Args, index: number): bigint => args[index] as bigint;
const outOfRange = (args: Args, index: number): CelError => new CelError(`index out of range: ${exact(args, index)}`);

function indexOf(args: Args): bigint {
  const [target, part] = [chars(text(args, 0)), chars(text(args, 1))];
  const offset = args.length > 2 ? int(args, 2) : 0;
  if (part.length === 0) return BigInt(offset);
  if (offset < 0) throw outOfRange(args, 2);
  if (offset >= target.length) return -1n;
  // Offsets of code units are found first; only their place is counted in characters.
  const units = target.slice(0, offset).join('').length;
  const found = text(args, 0).indexOf(text(args, 1), units);
  return found < 0 ? -1n : BigInt(runeCount(text(args, 0).slice(0, found)));
}

function lastIndexOf(args: Args): bigint {
  const target = chars(text(args, 0));
  const offset = args.length > 2 ? int(args, 2) : undefined;
  if (text(args, 1) === '') return BigInt(offset ?? target.length);
  if (offset !== undefined && offset < 0) throw outOfRange(args, 2);
  if (offset !== undefined && offset >= target.length) return -1n;
  const units = offset === undefined ? Infinity : target.slice(0, offset).join('').length;
  const found = text(args, 0).lastIndexOf(text(args, 1), units);
  return found < 0 ? -1n : BigInt(runeCount(text(args, 0).slice(0, found)));
}

function substring(args: Args): string {
  const target = chars(text(args, 0));
  const start = int(args, 1);
  const end = args.length > 2 ? int(args, 2) : target.length;
  if (args.length > 2 && start > end)
    throw new CelError(`invalid substring range. start: ${exact(args, 1)}, end: ${exact(args, 2)}`);
  if (start < 0 || start > target.length) throw outOfRange(args, 1);
  if (end < 0 || end > target.length) throw outOfRange(args, 2);
  return target.slice(start, end).join('');
}

function charAt(args: Args): string {
  const target = chars(text(args, 0));
  const index = int(args, 1);
  if (index < 0 || index > target.length) throw outOfRange(args, 1);
  return target[index] ?? '';
}

/** Go's `strings.Replace`: an empty text is found around every character. */
function replace(args: Args): string {
  const [target, old, by] = [text(args, 0), text(args, 1), text(args, 2)];
  const count = args.length > 3 ? int(args, 3) : -1;
  if (count === 0) return target;
  const limit = count < 0 ? Infinity : count;
  const parts = old === '' ? ['', ...chars(target), ''] : target.split(old);
  checkTextLength(target.length + Math.min(parts.length, limit) * by.length);
  if (parts.length - 1 <= limit) return parts.join(by);
  return `${parts.slice(0, limit + 1).join(by)}${old}${parts.slice(limit + 1).join(old)}`;
}

/** Go's `strings.SplitN`. */
function split(args: Args): readonly string[] {
  const [target, separator] = [text(args, 0), text(args, 1)];
  const count = args.length > 2 ? int(args, 2) : -1;
  if (count === 0) return [];
  const parts = separator === '' ? chars(target) : target.split(separator);
  if (count < 0 || parts.length <= count) return parts;
  return [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)];
}

const lower = (value: string): string => value.replaceAll(/[A-Z]+/g, (part) => part.toLowerCase());
const upper = (value: string): string => value.replaceAll(/[a-z]+/g, (part) => part.toUpperCase());

/** White space of Unicode, as Go's `strings.TrimSpace` has it. */
const space = /^[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/;
function trim(value: string): string {
  let [start, end] = [0, value.length];
  while (start < end && space.test(value.charAt(start))) start++;
  while (end > start && space.test(value.charAt(end - 1))) end--;
  return value.slice(start, end);
}

const named: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};
const quote = (value: string): string =>
  `"${chars(value.toWellFormed())
    .map((char) => named[char] ?? char)
    .join('')}"`;

function join(list: readonly string[], separator: string): string {
  checkTextLength(list.reduce((sum, item) => sum + item.length, list.length * separator.length));
  return list.join(separator);
}

/** Functions of texts (cel-go `ext/strings.go`, version 2). */
export const stringsLibrary: readonly Overload[] = [
  method('charAt', 'string_char_at_int', 'string.(int) string', charAt),
  method('indexOf', 'string_index_of_string', 'string.(string) int', indexOf),
  method('indexOf', 'string_index_of_string_int', 'string.(string, int) int', indexOf),
  method('lastIndexOf', 'string_last_index_of_string', 'string.(string) int', lastIndexOf),
  method('lastIndexOf', 'string_last_index_of_string_int', 'string.(string, int) int', lastIndexOf),
  method('lowerAscii', 'string_lower_ascii', 'string.() string', (args) => lower(text(args, 0))),
  method('upperAscii', 'string_upper_ascii', 'string.() string', (args) => upper(text(args, 0))),
  method('replace', 'string_replace_string_string', 'string.(string, string) string', replace),
  method('replace', 'string_replace_string_string_int', 'string.(string, string, int) string', replace),
  method('split', 'string_split_string', 'string.(string) list(string)', split),
  method('split', 'string_split_string_int', 'string.(string, int) list(string)', split),
  method('substring', 'string_substring_int', 'string.(int) string', substring),
  method('substring', 'string_substring_int_int', 'string.(int, int) string', substring),
  method('trim', 'string_trim', 'string.() string', (args) => trim(text(args, 0))),
  method('join', 'list_join', 'list(string).() string', (args) => join(args[0] as string[], '')),
  method('join', 'list_join_string', 'list(string).(string) string', (args) =>
    join(args[0] as string[], text(args, 1)),
  ),
  method('format', 'string_format', 'string.(list(dyn)) string', (args) => formatText(text(args, 0), args[1] as Args)),
  method('strings.quote', 'strings_quote', '(string) string', (args) => quote(text(args, 0))),
];
