import { compareTexts, sortIncrementally } from '../async/sort-incrementally.ts';
import { quote } from '../go/go-quote.ts';
import { goNumeric } from '../go/go-float.ts';
import { encodeJson, parseJson } from '../json/json-codec.ts';
import { type Json, isJsonObject } from '../json/json.ts';

/**
 * One step of a path to a field, as FieldsV1 writes it: `f:<field>`, `k:{"port":80}` (an item by its keys),
 * `v:<json>` (an item of a set), `i:<n>`. Two elements are the same when their texts are: keys are sorted by name and
 * values have one spelling.
 */
export type PathElement = string;

export const fieldElement = (name: string): PathElement => `f:${name}`;
export const valueElement = (value: Json): PathElement =>
  typeof value === 'string' && plainCharacters.test(value) ? `v:"${value}"` : `v:${encodeJson(value)}`;

/** The canonical text of an element that a client wrote; undefined for an unknown type of element. Throws an Error for a malformed one. */
export function canonicalElement(text: string): PathElement | undefined {
  if (text.length < 2) throw new Error('key must be 2 characters long:');
  if (text.charCodeAt(1) !== colon) throw new Error('missing colon');
  const rest = text.slice(2);
  switch (text[0]) {
    case 'f':
      return text;
    case 'v':
      return plainValue.test(rest) ? text : valueElement(parseJson(rest));
    case 'i':
      if (!/^-?\d+$/.test(rest)) throw new Error(`strconv.Atoi: parsing ${quote(rest)}: invalid syntax`);
      return `i:${Number(rest)}`;
    case 'k': {
      if (plainKey.test(rest)) return text;
      const fields = parseJson(rest);
      if (!isJsonObject(fields)) throw new Error('keys of a list item must be an object');
      return `k:${encodeJson(Object.fromEntries(Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1))))}`;
    }
    default:
      return undefined;
  }
}

const colon = 0x3a;
/** Texts that JSON writes in one way only. */
const plainCharacters = /^[\w ./:@-]*$/;
const plainValue = /^"[\w ./:@-]*"$/;
/** One key whose text has a single spelling; it identifies most list items. */
const plainKey = /^\{"[\w-]+":"[\w ./:@-]*"\}$/;

/** The element as paths in messages show it: `.spec`, `[port=80,protocol="TCP"]`, `[="a"]`, `[0]`. */
export function displayElement(element: PathElement): string {
  const rest = element.slice(2);
  switch (element[0]) {
    case 'f':
      return `.${rest}`;
    case 'v':
      return `[=${displayValue(parseJson(rest))}]`;
    case 'k':
      return `[${Object.entries(parseJson(rest) as object)
        .map(([name, value]) => `${name}=${displayValue(value as Json)}`)
        .join(',')}]`;
    default:
      return `[${rest}]`;
  }
}

/** A whole path; the empty one is the object itself. */
export function displayPath(path: readonly PathElement[]): string {
  return path.map((element) => displayElement(element)).join('');
}

/** As ToString of structured-merge-diff: members of maps have nothing between them. */
function displayValue(value: Json): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number' || typeof value === 'bigint') return goNumeric(value);
  if (Array.isArray(value)) return `[${value.map(displayValue).join(',')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, member]) => `${name}=${displayValue(member)}`)
    .join('');
}

const fieldLetter = 0x66;
const ranks: Readonly<Record<string, number>> = { f: 0, k: 1, v: 2, i: 3 };

/** The elements in the order in which FieldsV1 lists them: fields by name, items by their keys, values, indices. */
export function sortedElements(elements: Iterable<PathElement>): PathElement[] {
  const texts = [...elements];
  if (texts.every(isInTextOrder)) return texts.sort();
  const sortable = texts.map(sortableElement);
  if (sortable.length > 1) sortable.sort(compareElements);
  return sortable.map(({ text }) => text);
}

/** {@link sortedElements} in passes: a set of 60,000 items that is in no order takes 70 ms. */
export function* sortedElementsIncrementally(elements: Iterable<PathElement>): Generator<void, PathElement[]> {
  const texts = [...elements];
  if (texts.every(isInTextOrder)) return yield* sortIncrementally(texts, compareTexts);
  const sortable: SortableElement[] = [];
  for (const text of texts) {
    sortable.push(sortableElement(text));
    if (sortable.length % elementsPerPass === 0) yield;
  }
  const sorted = yield* sortIncrementally(sortable, compareElements);
  return sorted.map(({ text }) => text);
}

interface SortableElement {
  readonly text: PathElement;
  readonly rank: number;
  readonly parts: readonly Json[];
}

const elementsPerPass = 2_000;
/** A text without characters that sort before the quotation mark behind it, by itself or as the only key. */
const plainItem = /^(?:v:"[\w./:@-]*"|k:\{"[\w-]+":"[\w./:@-]*"\})$/;
/** Fields before keys before values; nearly all elements have the order of their texts. */
const isInTextOrder = (text: PathElement): boolean => text.charCodeAt(0) === fieldLetter || plainItem.test(text);
const sortableElement = (text: PathElement): SortableElement => ({
  text,
  rank: ranks[text[0] as string] ?? 4,
  parts: partsOf(text),
});
const compareElements = (a: SortableElement, b: SortableElement): number =>
  a.rank - b.rank || compareParts(a.parts, b.parts);

/** A key of one member, whose value is a text without escapes. */
const plainPair = /^\{"([^"\\]*)":"([^"\\]*)"\}$/;

/** A text without escapes. */
const plainText = /^"([^"\\]*)"$/;

/** What elements of one type are ordered by: names and values in turn. */
function partsOf(element: PathElement): readonly Json[] {
  const rest = element.slice(2);
  switch (element[0]) {
    case 'k': {
      // Nearly always: one key and a text without escapes, of which an object may have 50,000.
      const [, name, value] = plainPair.exec(rest) ?? [];
      if (name !== undefined && value !== undefined) return [name, value];
      return Object.entries(parseJson(rest) as Record<string, Json>).flat();
    }
    case 'v': {
      // An object may have 100,000 finalizers.
      const [, text] = plainText.exec(rest) ?? [];
      return [text ?? parseJson(rest)];
    }
    case 'i':
      return [Number(rest)];
    default:
      return [rest];
  }
}

function compareParts(a: readonly Json[], b: readonly Json[]): number {
  for (let index = 0; index < a.length && index < b.length; index++) {
    const order = compareValues(a[index] as Json, b[index] as Json);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Numbers before texts before booleans before everything else. */
function compareValues(a: Json, b: Json): number {
  const order = kindOrder(a) - kindOrder(b);
  if (order !== 0) return order;
  const left = typeof a === 'object' ? encodeJson(a) : a;
  const right = typeof b === 'object' ? encodeJson(b) : b;
  return left < right ? -1 : left > right ? 1 : 0;
}

function kindOrder(value: Json): number {
  switch (typeof value) {
    case 'number':
    case 'bigint':
      return 0;
    case 'string':
      return 1;
    case 'boolean':
      return 2;
    default:
      return value === null ? 5 : Array.isArray(value) ? 3 : 4;
  }
}
