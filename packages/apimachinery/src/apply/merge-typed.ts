import { type DeepReadonly, type Json, type JsonObject, isJsonObject, setOwn } from '../json/json.ts';
import { type ListElements, DeferredWork, elementAt, longList } from './list-elements.ts';
import type { PathElement } from './path-element.ts';
import { type ListType, type MapType, type TypedSchema, fieldSchema, formOf } from './typed-schema.ts';

/**
 * The live object with a configuration laid over it: maps and keyed lists item by item, everything else as a
 * whole. The result shares what one side alone has with that side.
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
  const rightKeys = Object.keys(right);
  // Of two empty ones the configuration's counts: null and {} differ.
  if (leftKeys.length === 0 && rightKeys.length === 0) return config;
  const result: JsonObject = {};
  const takeLeft = (name: string): void => {
    const mine = Object.hasOwn(right, name) ? right[name] : undefined;
    const merged = mine === undefined ? left[name] : merge(left[name], mine, fieldSchema(map, name), steps);
    if (merged !== undefined) setOwn(result, name, merged);
  };
  const takeRight = (name: string): void => {
    if (!Object.hasOwn(left, name)) setOwn(result, name, right[name] as Json);
  };
  const count = leftKeys.length + rightKeys.length;
  if (steps !== undefined && count >= longList) {
    steps.later.each(count, (index) => {
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
  const mine = new Map<PathElement, Json>();
  const mineKnown = steps?.elements.of(list, right);
  const mineElements = right.map((item, index) => {
    const element = elementAt(list, right, index, mineKnown);
    mine.set(element, item);
    return element;
  });
  const theirs = new Map<PathElement, Json>();
  const theirKnown = steps?.elements.of(list, left);
  const theirElements = left.map((item, index) => {
    const element = elementAt(list, left, index, theirKnown);
    // Live items without a unique key are replaced, not merged.
    theirs.set(element, theirs.has(element) ? null : item);
    return element;
  });
  const shared = mineElements.filter((element) => theirs.has(element));
  const result: Json[] = [];
  const merged = new Set<PathElement>();
  // Where items of a long list stand that both have, with both: they are merged later.
  const pairs: [number, Json, Json][] | undefined =
    steps !== undefined && left.length >= longList && right.length >= longList ? [] : undefined;
  const take = (element: PathElement): void => {
    merged.add(element);
    const their = theirs.get(element) ?? undefined;
    const item = mine.get(element);
    if (pairs !== undefined && their !== undefined && item !== undefined) {
      pairs.push([result.length, their, item]);
      result.push(item);
      return;
    }
    const both = merge(their, item, list.element, steps);
    if (both !== undefined) result.push(both);
  };

  let nextShared = 0;
  let leftIndex = 0;
  let rightIndex = 0;
  while (leftIndex < left.length || rightIndex < right.length) {
    const theirElement = theirElements[leftIndex];
    const mineElement = mineElements[rightIndex];
    if (theirElement !== undefined && mineElement !== undefined) {
      if (theirElement === mineElement) {
        take(mineElement);
        leftIndex++;
        rightIndex++;
        nextShared++;
        continue;
      }
      // In both lists, but its turn comes where the configuration has it.
      if (mine.has(theirElement) && nextShared < shared.length && shared[nextShared] !== theirElement) {
        leftIndex++;
        continue;
      }
    }
    if (theirElement !== undefined) {
      if (!mine.has(theirElement)) {
        result.push(left[leftIndex] as Json);
        leftIndex++;
        continue;
      }
      if (merged.has(theirElement)) leftIndex++;
    }
    if (mineElement !== undefined) {
      take(mineElement);
      rightIndex++;
      if (shared[nextShared] === mineElement) nextShared++;
    }
  }
  if (pairs !== undefined) {
    steps?.later.each(pairs.length, (index) => {
      const [place, their, item] = pairs[index] as [number, Json, Json];
      result[place] = merge(their, item, list.element, steps) as Json;
    });
  }
  return result;
}
