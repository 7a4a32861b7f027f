import { type Json, type JsonObject, isJsonObject, setOwn } from '../json/json.ts';
import { FieldSet } from './field-set.ts';
import { DeferredWork, longList } from './list-elements.ts';
import { canonicalElement, sortedElements } from './path-element.ts';
import { RecentWeakMap } from './recent-weak-map.ts';

/** Sets of read-only documents: most writes leave most managers alone. */
const setsOf = new RecentWeakMap<JsonObject, FieldSet>(2048);

const self = '.';
const nothing: JsonObject = Object.freeze({});
/** Deeper than any object that is accepted. */
const maxDepth = 10_000;

/**
 * The set that a FieldsV1 document describes. Elements of unknown types are skipped; throws an Error for
 * malformed ones. The document must not change afterwards.
 */
export function decodeFieldsV1(document: JsonObject): FieldSet {
  let set = setsOf.get(document);
  if (set === undefined) {
    set = decodeNode(document, 0);
    setsOf.set(document, set);
    set.document = document;
  }
  return set;
}

function decodeNode(document: JsonObject, depth: number): FieldSet {
  if (depth > maxDepth) throw new Error('exceeded max depth');
  let owned = false;
  let children: Map<string, FieldSet> | undefined;
  const keys = Object.keys(document);
  for (const key of keys) {
    if (key === self) {
      owned = true;
      continue;
    }
    const element = canonicalElement(key);
    if (element === undefined) continue;
    const value = document[key] as Json;
    if (!isJsonObject(value)) throw new Error(`fields of ${key} must be an object`);
    const child = decodeNode(value, depth + 1);
    // A document without content is a path by itself; so is one with unknown content.
    (children ??= new Map()).set(element, child.isEmpty ? FieldSet.leaf : child);
  }
  // The object itself is no field.
  return FieldSet.node(depth > 0 && (owned || keys.length === 0), children);
}

/**
 * The FieldsV1 document of a set; shared between equal calls, frozen by convention. Sorted by what the elements mean, or
 * by their text: Kubernetes writes those of custom resources as any other map.
 */
export function encodeFieldsV1(set: FieldSet, byText = false): JsonObject {
  let { document } = set;
  if (document === undefined) {
    document = encodeNode(set, false, byText);
    set.document = document;
    setsOf.set(document, set);
  }
  return document;
}

/** Gets the documents of big sets ready in steps: {@link encodeFieldsV1} has them at hand afterwards. */
export function* encodeIncrementally(sets: Iterable<FieldSet>, byText: boolean): Generator<void, void> {
  for (const set of sets) {
    if (set.document !== undefined) continue;
    const later = new DeferredWork();
    const document = encodeNode(set, false, byText, later);
    yield* later.steps();
    set.document = document;
    setsOf.set(document, set);
    yield;
  }
}

function encodeNode(set: FieldSet, includeSelf: boolean, byText: boolean, later?: DeferredWork): JsonObject {
  const { children } = set;
  if (children === undefined) return nothing;
  const document: JsonObject = {};
  if (set.owned && includeSelf) document[self] = nothing;
  const elements = byText ? [...children.keys()].toSorted() : sortedElements(children.keys());
  const encode = (element: string): void =>
    setOwn(document, element, encodeNode(children.get(element) as FieldSet, true, byText, later));
  if (later === undefined || elements.length < longList) for (const element of elements) encode(element);
  else later.each(elements.length, (index) => encode(elements[index] as string));
  return document;
}
