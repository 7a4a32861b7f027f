import { sortIncrementally } from '../async/sort-incrementally.ts';
import { needsQuotes } from './yaml-scalar.ts';

const lineWidth = 80;
const maxSimpleKey = 128;
const step = 2;

/**
 * YAML as Kubernetes writes it: keys sorted, two spaces, lists at the margin of their key, texts that would be
 * read as something else in double quotes, texts of several lines as literal blocks, long lines folded at 80.
 */
export function encodeYaml(value: unknown): string {
  const lines: string[] = [];
  writeRoot(value, lines);
  return `${lines.join('\n')}\n`;
}

/** {@link encodeYaml} of something big: pauses every few thousand lines. */
export function* encodeYamlIncrementally(value: unknown): Generator<void, string> {
  const state: Steps = { lines: [], text: '' };
  if (Array.isArray(value) && value.length > 0) yield* listSteps(value, 0, '', state);
  else if (isObject(value) && hasMembers(value)) yield* mapSteps(value, members(value), { indent: 0, lead: '' }, state);
  else writeRoot(value, state.lines);
  yield;
  endBlock(state);
  return state.text;
}

/** Lines that are written in one step. */
const perStep = 2_000;

interface Steps {
  /** Since the last pause. */
  readonly lines: string[];
  /** All lines before: to join 700,000 of them at the end would take 40 ms. */
  text: string;
}

/** {@link writeMap} with pauses; `keys` are those of its members. */
function* mapSteps(
  map: Record<string, unknown>,
  keys: string[],
  { indent, lead }: { readonly indent: number; readonly lead: string },
  state: Steps,
): Generator<void, void> {
  const margin = ' '.repeat(indent);
  let before = lead === '' ? margin : lead;
  for (const key of yield* sortIncrementally(keys, compareKeys)) {
    const name = quoteText(key, true, 0, 0);
    const simple = name.length <= maxSimpleKey;
    if (!simple) state.lines.push(`${before}? ${name}`);
    const head = simple ? `${before}${name}:` : `${margin}:`;
    before = margin;
    const value = map[key];
    if (Array.isArray(value) && value.length > 0) {
      state.lines.push(head);
      yield* listSteps(value, indent, '', state);
    } else if (isObject(value)) {
      // V8 enumerates the keys of a wide object for any loop over them, so this is done once, in a step of its own.
      const inner = yield* membersIncrementally(value);
      if (inner.length === 0) writeValue(value, head, indent, state.lines);
      else {
        state.lines.push(head);
        yield* mapSteps(value, inner, { indent: indent + step, lead: '' }, state);
      }
    } else writeValue(value, head, indent, state.lines);
    if (isPauseDue(state)) yield;
  }
}

function* membersIncrementally(value: Record<string, unknown>): Generator<void, string[]> {
  const keys = Object.keys(value);
  if (keys.length <= perStep) return keys.filter((key) => value[key] !== undefined);
  yield;
  return keys.filter((key) => value[key] !== undefined);
}

/** {@link writeList} with pauses. */
function* listSteps(list: readonly unknown[], indent: number, lead: string, state: Steps): Generator<void, void> {
  const margin = ' '.repeat(indent);
  let before = lead === '' ? margin : lead;
  for (const item of list) {
    const head = `${before}- `;
    if (Array.isArray(item) && item.length > 0) yield* listSteps(item, indent + step, head, state);
    else if (isObject(item) && hasMembers(item))
      yield* mapSteps(item, members(item), { indent: indent + step, lead: head }, state);
    else state.lines.push(head + scalar(item, head.length, indent + step));
    before = margin;
    if (isPauseDue(state)) yield;
  }
}

function isPauseDue(state: Steps): boolean {
  if (state.lines.length < perStep) return false;
  endBlock(state);
  return true;
}

function endBlock(state: Steps): void {
  if (state.lines.length > 0) state.text += `${state.lines.join('\n')}\n`;
  state.lines.length = 0;
}

function writeRoot(value: unknown, lines: string[]): void {
  if (Array.isArray(value) && value.length > 0) writeList(value, 0, '', lines);
  else if (isObject(value) && hasMembers(value)) writeMap(value, 0, '', lines);
  else lines.push(scalar(value, 0, step));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const members = (value: Record<string, unknown>): string[] =>
  Object.keys(value).filter((key) => value[key] !== undefined);
function hasMembers(value: Record<string, unknown>): boolean {
  for (const key in value) if (value[key] !== undefined) return true;
  return false;
}

/** Writes the members at `indent`; `lead` stands before the first one instead of its margin (`- `). */
function writeMap(map: Record<string, unknown>, indent: number, lead: string, lines: string[]): void {
  const margin = ' '.repeat(indent);
  let before = lead === '' ? margin : lead;
  for (const key of members(map).sort(compareKeys)) {
    const name = quoteText(key, true, 0, 0);
    const simple = name.length <= maxSimpleKey;
    if (!simple) lines.push(`${before}? ${name}`);
    writeValue(map[key], simple ? `${before}${name}:` : `${margin}:`, indent, lines);
    before = margin;
  }
}

function writeValue(value: unknown, head: string, indent: number, lines: string[]): void {
  if (Array.isArray(value) && value.length > 0) {
    lines.push(head);
    writeList(value, indent, '', lines);
  } else if (isObject(value) && hasMembers(value)) {
    lines.push(head);
    writeMap(value, indent + step, '', lines);
  } else {
    lines.push(`${head} ${scalar(value, head.length + 1, indent + step)}`);
  }
}

function writeList(list: readonly unknown[], indent: number, lead: string, lines: string[]): void {
  const margin = ' '.repeat(indent);
  let before = lead === '' ? margin : lead;
  for (const item of list) {
    const head = `${before}- `;
    if (Array.isArray(item) && item.length > 0) writeList(item, indent + step, head, lines);
    else if (isObject(item) && hasMembers(item)) writeMap(item, indent + step, head, lines);
    else lines.push(head + scalar(item, head.length, indent + step));
    before = margin;
  }
}

function scalar(value: unknown, column: number, indent: number): string {
  switch (typeof value) {
    case 'string':
      return quoteText(value, false, column, indent);
    case 'number':
      return floatText(value);
    case 'boolean':
    case 'bigint':
      return String(value);
    default:
      return Array.isArray(value) ? '[]' : isObject(value) ? '{}' : 'null';
  }
}

/** Go's shortest `%g`: an exponent below -4 or from 21 on for integers, from 6 digits on for fractions. */
function floatText(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63)
    return Object.is(value, -0) ? '-0' : BigInt(value).toString();
  const [mantissa = '0', exponentText = '0'] = value.toExponential().split('e');
  const exponent = Number(exponentText);
  if (exponent < -4 || exponent >= 21 || (exponent >= 6 && !Number.isInteger(value))) {
    return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  return String(value);
}

/** Characters that stand for themselves in YAML. */
const printable = /^[\n\t\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]*$/u;
const leadingIndicator = /^(?:[#,[\]{}&*!|>'"%@`]|[-?:](?:\s|$)|---|\.\.\.)/;
const innerIndicator = /: |:$|:\n| #|\n#|\t#/;

function quoteText(text: string, isKey: boolean, column: number, indent: number): string {
  if (!printable.test(text) || text.includes('\u0085') || text.includes('\u2028') || text.includes('\u2029'))
    return doubleQuoted(text, isKey, column, indent);
  if (text.includes('\n')) {
    // A space before a line break, or at the end, would be lost in a block.
    if (isKey || / \n| $/.test(text)) return doubleQuoted(text, isKey, column, indent);
    return literalBlock(text, indent);
  }
  if (needsQuotes(text)) return doubleQuoted(text, isKey, column, indent);
  if (text.includes('\t')) return doubleQuoted(text, isKey, column, indent);
  if (/^ | $/.test(text) || leadingIndicator.test(text) || innerIndicator.test(text)) {
    return fold(`'${text.replaceAll("'", "''")}'`, isKey, column, indent, '');
  }
  return fold(text, isKey, column, indent, '');
}

function doubleQuoted(text: string, isKey: boolean, column: number, indent: number): string {
  const quoted = text.replaceAll(escaped, (char) => escapes.get(char) ?? escapeCode(char.codePointAt(0) as number));
  return fold(`"${quoted}"`, isKey, column, indent, '\\');
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\0', '\\0'],
  ['\u0007', '\\a'],
  ['\b', '\\b'],
  ['\t', '\\t'],
  ['\n', '\\n'],
  ['\v', '\\v'],
  ['\f', '\\f'],
  ['\r', '\\r'],
  ['\u001b', '\\e'],
  ['\u0085', '\\N'],
  ['\u2028', '\\L'],
  ['\u2029', '\\P'],
]);

/** What is no {@link printable} character, or has an escape of its own. */
const escaped = /["\\\t]|[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]|[\n\u2028\u2029]/gu;

function escapeCode(code: number): string {
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/**
 * Breaks a line at the first single space behind column 80, again and again. The reader puts the space back. In double
 * quotes a space that follows the break is protected by `guard`.
 */
function fold(text: string, isKey: boolean, column: number, indent: number, guard: string): string {
  if (isKey || column + text.length <= lineWidth) return text;
  let result = '';
  let start = 0;
  let at = column;
  for (let index = 0; index < text.length - 1; index++, at++) {
    if (text[index] !== ' ' || at <= lineWidth || index === 0 || text[index - 1] === ' ') continue;
    const next = text[index + 1];
    if (next === ' ' && guard === '') continue;
    result += `${text.slice(start, index)}\n${' '.repeat(indent)}${next === ' ' ? guard : ''}`;
    start = index + 1;
    at = indent - 1;
  }
  return result + text.slice(start);
}

function literalBlock(text: string, indent: number): string {
  const hint = /^[ \n]/.test(text) ? String(step) : '';
  const chomp = text.endsWith('\n') ? (text.endsWith('\n\n') || text === '\n' ? '+' : '') : '-';
  const margin = ' '.repeat(indent);
  const body = (chomp === '-' ? text : text.slice(0, -1)).split('\n').map((line) => (line === '' ? '' : margin + line));
  return `|${hint}${chomp}\n${body.join('\n')}`;
}

const digit = /^\p{Nd}$/u;
const letter = /^\p{L}$/u;

const isDigitCode = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isLetterCode = (code: number): boolean => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
/** Runs of digits up to this length are exact as numbers, with one more digit before them. */
const maxExactDigits = 14;

/**
 * The order of keys in go-yaml: runs of digits compare as numbers, letters come after everything else. A map with a hundred
 * thousand keys takes two million comparisons, so ASCII keys are compared without arrays and big integers.
 */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let index = 0;
  while (index < length && a.charCodeAt(index) === b.charCodeAt(index))
    if (a.charCodeAt(index++) > 0x7f) return compareAnyKeys(a, b);
  if (index === length) return a.length - b.length;
  const x = a.charCodeAt(index);
  const y = b.charCodeAt(index);
  if (x > 0x7f || y > 0x7f) return compareAnyKeys(a, b);
  if (isLetterCode(x) && isLetterCode(y)) return x - y;
  if (isLetterCode(x) || isLetterCode(y)) {
    const digits = index > 0 && isDigitCode(a.charCodeAt(index - 1));
    return isLetterCode(x) === digits ? -1 : 1;
  }
  const left = digitCount(a, index);
  const right = digitCount(b, index);
  if (Math.max(left, right) > maxExactDigits) return compareAnyKeys(a, b);
  const lead = (x === 0x30 || y === 0x30) && continuesNumber(a, index) ? 1 : 0;
  const difference = numberAt(a, index, left, lead) - numberAt(b, index, right, lead);
  return difference || left - right || x - y;
}

function digitCount(text: string, start: number): number {
  let end = start;
  while (end - start <= maxExactDigits && isDigitCode(text.charCodeAt(end))) end++;
  return end - start;
}

/** Whether the digits before `index` have another one than zero. */
function continuesNumber(text: string, index: number): boolean {
  for (let before = index - 1; before >= 0 && isDigitCode(text.charCodeAt(before)); before--)
    if (text.charCodeAt(before) !== 0x30) return true;
  return false;
}

function numberAt(text: string, start: number, count: number, lead: number): number {
  let value = lead;
  for (let index = start; index < start + count; index++) value = value * 10 + text.charCodeAt(index) - 0x30;
  return value;
}

/** {@link compareKeys} for keys of any characters. */
export function compareAnyKeys(a: string, b: string): number {
  const left = Array.from(a);
  const right = Array.from(b);
  let digits = false;
  for (let index = 0; index < left.length && index < right.length; index++) {
    const x = left[index] as string;
    const y = right[index] as string;
    if (x === y) {
      digits = digit.test(x);
      continue;
    }
    const xLetter = letter.test(x);
    const yLetter = letter.test(y);
    if (xLetter && yLetter) return (x.codePointAt(0) as number) - (y.codePointAt(0) as number);
    if (xLetter || yLetter) return xLetter === digits ? -1 : 1;
    return compareNumbers(left, right, index) || (x.codePointAt(0) as number) - (y.codePointAt(0) as number);
  }
  return left.length - right.length;
}

/** Compares the runs of digits that begin at `index`, as numbers; a zero behind other digits belongs to their number. */
function compareNumbers(a: readonly string[], b: readonly string[], index: number): number {
  let lead = '';
  if (a[index] === '0' || b[index] === '0') {
    for (let before = index - 1; before >= 0 && digit.test(a[before] as string); before--) {
      if (a[before] !== '0') {
        lead = '1';
        break;
      }
    }
  }
  const left = lead + digitsFrom(a, index);
  const right = lead + digitsFrom(b, index);
  const x = BigInt(left === '' ? 0 : left);
  const y = BigInt(right === '' ? 0 : right);
  return x === y ? left.length - right.length : x < y ? -1 : 1;
}

function digitsFrom(chars: readonly string[], start: number): string {
  let end = start;
  while (end < chars.length && end - start < 18 && /^[0-9]$/.test(chars[end] as string)) end++;
  return chars.slice(start, end).join('');
}
