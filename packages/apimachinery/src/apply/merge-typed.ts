import { maxJsonMembers } from '../json/json-codec.ts';
import { type DeepReadonly, type Json, type JsonObject, isJsonObject, setOwn } from '../json/json.ts';
import { tooManyMembers } from '../patch/extent.ts';
import { type ListElements, DeferredWork, elementAt, longList } from './list-elements.ts';
import type { PathElement } from './path-element.ts';
import { type ListType, type MapType, type TypedSchema, fieldSchema, formOf } from './typed-schema.ts';

/**
 * The live object with a configuration laid over it: maps and keyed lists item by item, everything else as a
 * whole. The result shares what one side alone has with that side. Throws StatusError 413 when an object gets more than `maxJsonMembers`
 * members.
 */
export function mergeTyped(
  live: DeepReadonly<JsonObject>,
  config: DeepReadonly<JsonObject>,
  schema: TypedSchema,
): JsonObject {
  return merge(live as JsonObject, config as JsonObject, schema) as JsonObject;
}

/** {@link mergeTyped} of something big: pauses, and puts the children of wide places off to later steps. */
export function* mergeIncrementally(
  live: DeepReadonly<JsonObject>,
  config: DeepReadonly<JsonObject>,
  schema: TypedSchema,
  elements: ListElements,
): Generator<void, JsonObject> {
  const later = new DeferredWork();
  const merged = merge(live as JsonObject, config as JsonObject, schema, { elements, later }) as JsonObject;
  yield* later.steps();
  return merged;
}

/** What comes with something big. */
interface Steps {
  readonly elements: ListElements;
  readonly later: DeferredWork;
}

function merge(live: Json | undefined, config: Json | undefined, schema: TypedSchema, steps?: Steps): Json | undefined {
  if (config === undefined) return live;
  if (live === undefined) return config;
  switch (formOf(schema, config)) {
    case 'map':
      return mergeMaps(live, config, schema.map as MapType, steps);
    case 'list':
      return mergeLists(live, config, schema.list as ListType, steps);
    case 'scalar':
    case 'none':
      return config;
  }
}

function mergeMaps(live: Json, config: Json, map: MapType, steps: Steps | undefined): Json {
  if (map.atomic) return config;
  const left = isJsonObject(live) ? live : {};
  const right = isJsonObject(config) ? config : {};
  const leftKeys = Object.keys(left);
  const result: JsonObject = {};
  let members = leftKeys.length;
  const takeLeft = (name: string): void => {
    const mine = Object.hasOwn(right, name) ? right[name] : undefined;
    const merged = mine === undefined ? left[name] : merge(left[name], mine, fieldSchema(map, name), steps);
    if (merged !== undefined) setOwn(result, name, merged);
  };
  const takeRight = (name: string): void => {
    if (Object.hasOwn(left, name)) return;
    if (++members > maxJsonMembers) throw tooManyMembers();
    setOwn(result, name, right[name] as Json);
  };
  const later = steps?.later;
  if (later !== undefined && leftKeys.length >= longList) {
    // What is put off last is done first. V8 enumerates the keys of a wide object in one step, so those of the other have one of their own.
    later.run(function* () {
      yield;
      const rightKeys = Object.keys(right);
      later.each(rightKeys.length, (index) => takeRight(rightKeys[index] as string));
    });
    later.each(leftKeys.length, (index) => takeLeft(leftKeys[index] as string));
    return result;
  }
  const rightKeys = Object.keys(right);
  // Of two empty ones the configuration's counts: null and {} differ.
  if (leftKeys.length === 0 && rightKeys.length === 0) return config;
  const names = leftKeys.length + rightKeys.length;
  if (later?.defers(names) === true) {
    later.each(names, (index) => {
      const name = leftKeys[index];
      if (name !== undefined) takeLeft(name);
      else takeRight(rightKeys[index - leftKeys.length] as string);
    });
    return result;
  }
  for (const name of leftKeys) takeLeft(name);
  for (const name of rightKeys) takeRight(name);
  return result;
}

/**
 * Items of the configuration come in its order, live items that it does not have stay behind the last item before them
 * that both have.
 */
function mergeLists(live: Json, config: Json, list: ListType, steps: Steps | undefined): Json {
  if (list.atomic) return config;
  const left = Array.isArray(live) ? live : [];
  const right = Array.isArray(config) ? config : [];
  if (left.length === 0 && right.length === 0) return config;
  const merging = new ListMerge(left, right, list, steps);
  if (steps?.later.defers(left.length + right.length) === true) merging.defer(steps.later);
  else merging.run();
  return merging.result;
}

/** {@link mergeLists} of two lists that are not both empty; changes none of them. */
class ListMerge {
  readonly result: Json[] = [];
  readonly #left: readonly Json[];
  readonly #right: readonly Json[];
  readonly #list: ListType;
  readonly #steps: Steps | undefined;
  readonly #mine = new Map<PathElement, Json>();
  readonly #theirs = new Map<PathElement, Json>();
  readonly #mineElements: PathElement[] = [];
  readonly #theirElements: PathElement[] = [];
  readonly #merged = new Set<PathElement>();
  /** Elements that both lists have, in the order of the configuration. */
  #shared: readonly PathElement[] | undefined;
  #nextShared = 0;
  #leftIndex = 0;
  #rightIndex = 0;

  constructor(left: readonly Json[], right: readonly Json[], list: ListType, steps: Steps | undefined) {
    this.#left = left;
    this.#right = right;
    this.#list = list;
    this.#steps = steps;
  }

  run(): void {
    for (let index = 0; index < this.#right.length; index++) this.#addMine(index);
    for (let index = 0; index < this.#left.length; index++) this.#addTheirs(index);
    while (!this.#isDone) this.#next();
  }

  /** As {@link run}, later: the result is filled by then. What is deferred last is done first. */
  defer(later: DeferredWork): void {
    later.each(this.#left.length + this.#right.length, () => {
      if (!this.#isDone) this.#next();
    });
    later.each(this.#left.length, (index) => this.#addTheirs(index));
    later.each(this.#right.length, (index) => this.#addMine(index));
  }

  #addMine(index: number): void {
    const element = this.#elementAt(this.#right, index);
    this.#mineElements.push(element);
    this.#mine.set(element, this.#right[index] as Json);
  }

  #addTheirs(index: number): void {
    const element = this.#elementAt(this.#left, index);
    this.#theirElements.push(element);
    // Live items without a unique key are replaced, not merged.
    this.#theirs.set(element, this.#theirs.has(element) ? null : (this.#left[index] as Json));
  }

  #elementAt(items: readonly Json[], index: number): PathElement {
    return elementAt(this.#list, items, index, this.#steps?.elements.of(this.#list, items));
  }

  get #isDone(): boolean {
    return this.#leftIndex >= this.#left.length && this.#rightIndex >= this.#right.length;
  }

  /** Passes at least one item of one of the lists. */
  #next(): void {
    this.#shared ??= this.#mineElements.filter((element) => this.#theirs.has(element));
    const theirElement = this.#theirElements[this.#leftIndex];
    const mineElement = this.#mineElements[this.#rightIndex];
    if (theirElement !== undefined && mineElement !== undefined) {
      if (theirElement === mineElement) {
        this.#take(mineElement);
        this.#leftIndex++;
        this.#rightIndex++;
        this.#nextShared++;
        return;
      }
      // In both lists, but its turn comes where the configuration has it.
      if (
        this.#mine.has(theirElement) &&
        this.#nextShared < this.#shared.length &&
        this.#shared[this.#nextShared] !== theirElement
      ) {
        this.#leftIndex++;
        return;
      }
    }
    if (theirElement !== undefined) {
      if (!this.#mine.has(theirElement)) {
        this.result.push(this.#left[this.#leftIndex] as Json);
        this.#leftIndex++;
        return;
      }
      if (this.#merged.has(theirElement)) this.#leftIndex++;
    }
    if (mineElement !== undefined) {
      this.#take(mineElement);
      this.#rightIndex++;
      if (this.#shared[this.#nextShared] === mineElement) this.#nextShared++;
    }
  }

  #take(element: PathElement): void {
    this.#merged.add(element);
    const both = merge(
      this.#theirs.get(element) ?? undefined,
      this.#mine.get(element),
      this.#list.element,
      this.#steps,
    );
    if (both !== undefined) this.result.push(both);
  }
}
