import { isRawJson, rawJson, setOwn, type Json, type JsonObject } from './json.ts';

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

/** Wider objects and lists are encoded in parts of so many members. */
const membersPerStep = 2_000;
/** So much text is made of narrow ones in one step. */
const charactersPerStep = 64 * 1024;
/** How deep wide places are looked for: what is below is left to the engine. */
const depthOfSteps = 6;

/** {@link encodeJson} of something big: pauses within what has many members, which the engine encodes in one piece. */
export function* encodeJsonIncrementally(value: Json, depth = depthOfSteps): Generator<void, string> {
  if (typeof value !== 'object' || value === null || depth === 0 || isRawJson(value)) return encodeJson(value);
  if (!Array.isArray(value)) return `{${yield* encodeMembersIncrementally(value, Object.keys(value), depth)}}`;
  let text = '';
  let yielded = 0;
  for (let start = 0; start < value.length;) {
    const comma = start === 0 ? '' : ',';
    if (value.length > membersPerStep) {
      text += comma + encodeJson(value.slice(start, (start += membersPerStep))).slice(1, -1);
      yield;
    } else {
      text += comma + (yield* encodeJsonIncrementally(value[start++] as Json, depth - 1));
      if (text.length - yielded < charactersPerStep) continue;
      yielded = text.length;
      yield;
    }
  }
  return `[${text}]`;
}

/** Some members of an object, without its braces. */
export function* encodeMembersIncrementally(
  object: JsonObject,
  names: readonly string[],
  depth = depthOfSteps,
): Generator<void, string> {
  let text = '';
  let yielded = 0;
  for (let start = 0; start < names.length;) {
    let members = '';
    if (names.length > membersPerStep) {
      const part: JsonObject = {};
      for (const name of names.slice(start, (start += membersPerStep))) setOwn(part, name, object[name] as Json);
      members = encodeJson(part).slice(1, -1);
    } else {
      const name = names[start++] as string;
      const member = object[name];
      if (member !== undefined)
        members = `${JSON.stringify(name)}:${yield* encodeJsonIncrementally(member, depth - 1)}`;
    }
    if (members !== '') text += (text === '' ? '' : ',') + members;
    if (names.length <= membersPerStep && text.length - yielded < charactersPerStep) continue;
    yielded = text.length;
    yield;
  }
  return text;
}

export interface EncodeJsonGoOptions {
  /** Indents by two spaces. */
  readonly pretty?: boolean | undefined;
  /** Sorts the members of every object by name (bytewise), as Go does with maps: custom resources and other untyped objects. */
  readonly sortKeys?: boolean | undefined;
}

const htmlCharacters = /[<>&\u2028\u2029]/g;
const escapeHtml = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** JSON as Go's encoder writes it: `<`, `>`, `&`, U+2028 and U+2029 escaped. No line break at the end. */
export function encodeJsonGo(value: unknown, options: EncodeJsonGoOptions = {}): string {
  let text = options.sortKeys === true ? encodeSorted(value) : encodeJson(value);
  if (options.pretty === true) text = indent(text);
  return escapedForHtml(text);
}

/** These characters stand in strings only, so the text can be treated as a whole. */
const escapedForHtml = (text: string): string =>
  text.search(htmlCharacters) < 0 ? text : text.replaceAll(htmlCharacters, escapeHtml);

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
  const sorted = sortMembers(value);
  return sorted === unsortable ? writeSorted(value) : encodeJson(sorted);
}

const unsortable = Symbol('unsortable');
const integerName = /^(?:0|[1-9]\d{0,9})$/;

/**
 * The value with the members of each object in order: itself where they are already (objects that were stored once are),
 * a copy else. Names that look like list indices cannot be put in order, the engine has its own for them.
 */
function sortMembers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    let copy: unknown[] | undefined;
    for (let index = 0; index < value.length; index++) {
      const sorted = sortMembers(value[index]);
      if (sorted === unsortable) return unsortable;
      if (sorted !== value[index]) (copy ??= [...(value as unknown[])])[index] = sorted;
    }
    return copy ?? value;
  }
  const object = value as JsonObject;
  const names = Object.keys(object);
  let inOrder = true;
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as string;
    const first = name.charCodeAt(0);
    if (first >= 0x30 && first <= 0x39 && integerName.test(name) && names.length > 1) return unsortable;
    if (inOrder && index > 0 && compareBytewise(names[index - 1] as string, name) > 0) inOrder = false;
  }
  if (!inOrder) names.sort(compareBytewise);
  let copy: JsonObject | undefined = inOrder ? undefined : {};
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as string;
    const sorted = sortMembers(object[name]);
    if (sorted === unsortable) return unsortable;
    if (copy === undefined) {
      if (sorted === object[name]) continue;
      copy = {};
      for (const before of names.slice(0, index)) setOwn(copy, before, object[before] as Json);
    }
    setOwn(copy, name, sorted as Json);
  }
  return copy ?? value;
}

function writeSorted(value: unknown): string {
  if (typeof value !== 'object' || value === null) return encodeJson(value);
  if (Array.isArray(value)) return `[${value.map((item) => writeSorted(item ?? null)).join(',')}]`;
  const object = value as JsonObject;
  let text = '{';
  for (const name of Object.keys(object).sort(compareBytewise)) {
    const item: unknown = object[name];
    if (item !== undefined) text += `${text === '{' ? '' : ','}${JSON.stringify(name)}:${writeSorted(item)}`;
  }
  return `${text}}`;
}

/** Parts of indented JSON have about this many characters. */
const indentedPart = 64 * 1024;

/** Indents compact JSON; works on the text so that the order of members stays (the engine reorders integer names). */
const indent = (text: string): string => Array.from(indentedParts(text)).join('');

/**
 * Compact JSON as Go's encoder indents it, by two spaces, in parts: margins make the text of a deep object thousands of times
 * longer than the object. No part ends within a character.
 */
export function* indentedJsonParts(json: string): Generator<string, void> {
  // A part has no end within a string, and a string may be longer than a part.
  for (const part of indentedParts(json)) yield* escapedParts(part);
}

function* escapedParts(text: string): Generator<string, void> {
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = at + indentedPart;
    // Both halves of a surrogate pair.
    if ((text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end++;
    yield escapedForHtml(text.slice(at, end));
  }
}

/** {@link encodeJsonGo} in passes, without sorting. */
export function* encodeJsonGoIncrementally(value: Json, pretty = false): Generator<void, string> {
  const json = yield* encodeJsonIncrementally(value);
  let text = '';
  for (const part of pretty ? indentedJsonParts(json) : escapedParts(json)) {
    yield;
    text += part;
  }
  return text;
}

function* indentedParts(text: string): Generator<string, void> {
  let result = '';
  let margin = '\n';
  let copied = 0;
  for (let index = 0; index < text.length; index++) {
    const char = text[index];
    if (char === '"') {
      index = endOfJsonString(text, index);
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
    if (result.length < indentedPart) continue;
    yield result;
    result = '';
  }
  yield result + text.slice(copied);
}

/** Index of the quote mark that ends the string which begins at `start`; the length of the text when none does. */
export function endOfJsonString(source: string, start: number): number {
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
