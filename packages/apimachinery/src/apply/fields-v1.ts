import { compareTexts, sortIncrementally } from '../async/sort-incrementally.ts';
import { type Json, type JsonObject, isJsonObject, setOwn } from '../json/json.ts';
import { FieldSet } from './field-set.ts';
import { DeferredWork } from './list-elements.ts';
import { canonicalElement, sortedElements, sortedElementsIncrementally } from './path-element.ts';
import { RecentWeakMap } from './recent-weak-map.ts';

/** Sets of read-only documents: most writes leave most managers alone. */
const setsOf = new RecentWeakMap<JsonObject, FieldSet>(2048);

const self = '.';
const nothing: JsonObject = Object.freeze({});
/**
 * V8 enumerates the members of a document in one step. So many do not fit into a value of etcd (1.5 MiB): an item of a set takes at least
 * 13 bytes, `"v:12345":{},`, and a field whose name has three characters 11.
 */
const maxEncodedChildren = 131_072;

/** A set of fields is too large to be stored. */
export class TooManyFieldsError extends Error {
  override readonly name = 'TooManyFieldsError';
  constructor() {
    super(`a field has more than ${maxEncodedChildren} fields`);
  }
}

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

/** Nodes per pass of {@link decodeFieldsV1Incrementally}. */
const nodesPerPass = 2_048;
/** Below this depth {@link decodeFieldsV1Incrementally} takes one step: resuming nested generators costs as much as they are deep. */
const maxSteppedDepth = 64;

/** {@link decodeFieldsV1} in passes. */
export function* decodeFieldsV1Incrementally(document: JsonObject): Generator<void, FieldSet> {
  const known = setsOf.get(document);
  if (known !== undefined) return known;
  const set = yield* decodeNodeIncrementally(document, 0, { nodes: 0 });
  setsOf.set(document, set);
  set.document = document;
  return set;
}

function* decodeNodeIncrementally(
  document: JsonObject,
  depth: number,
  counted: { nodes: number },
): Generator<void, FieldSet> {
  const node = new DecodedNode();
  for (const key of Object.keys(document)) {
    if (++counted.nodes % nodesPerPass === 0) yield;
    const value = node.begin(key, document);
    if (value === undefined) continue;
    const isStepped = value !== nothing && depth < maxSteppedDepth && Object.keys(value).length > 0;
    node.add(isStepped ? yield* decodeNodeIncrementally(value, depth + 1, counted) : decodeNode(value, depth + 1));
  }
  return node.finish(depth);
}

/** Collects the members of one object of a document. */
class DecodedNode {
  #owned = false;
  #isDocumentEmpty = true;
  #element = '';
  #children: Map<string, FieldSet> | undefined;

  /** The document of the next child, which {@link add} expects decoded; undefined: the member is no child. */
  begin(key: string, document: JsonObject): JsonObject | undefined {
    this.#isDocumentEmpty = false;
    if (key === self) {
      this.#owned = true;
      return undefined;
    }
    const element = canonicalElement(key);
    if (element === undefined) return undefined;
    const value = document[key] as Json;
    if (!isJsonObject(value)) throw new Error(`fields of ${key} must be an object`);
    this.#element = element;
    return value;
  }

  add(child: FieldSet): void {
    // A document without content is a path by itself; so is one with unknown content.
    (this.#children ??= new Map()).set(this.#element, child.isEmpty ? FieldSet.leaf : child);
  }

  finish(depth: number): FieldSet {
    // The object itself is no field.
    return FieldSet.node(depth > 0 && (this.#owned || this.#isDocumentEmpty), this.#children);
  }
}

function decodeNode(document: JsonObject, depth: number): FieldSet {
  if (depth > maxDepth) throw new Error('exceeded max depth');
  const node = new DecodedNode();
  for (const key of Object.keys(document)) {
    const value = node.begin(key, document);
    if (value !== undefined) node.add(decodeNode(value, depth + 1));
  }
  return node.finish(depth);
}

/**
 * The FieldsV1 document of a set; shared between equal calls, frozen by convention. Sorted by what the elements mean, or
 * by their text: Kubernetes writes those of custom resources as any other map. Throws {@link TooManyFieldsError}.
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
  if (children.size > maxEncodedChildren) throw new TooManyFieldsError();
  const document: JsonObject = {};
  if (set.owned && includeSelf) document[self] = nothing;
  const encode = (element: string): void =>
    setOwn(document, element, encodeNode(children.get(element) as FieldSet, true, byText, later));
  if (later?.defers(children.size) !== true) {
    const elements = byText ? [...children.keys()].toSorted() : sortedElements(children.keys());
    for (const element of elements) encode(element);
    return document;
  }
  later.run(function* () {
    const elements = yield* byText
      ? sortIncrementally([...children.keys()], compareTexts)
      : sortedElementsIncrementally(children.keys());
    later.each(elements.length, (index) => encode(elements[index] as string));
  });
  return document;
}
