import { type DeepReadonly, type Json, type JsonObject, isJsonObject, setOwn } from '../json.ts';
import type { PathElement } from './path-element.ts';
import { type ListType, type MapType, type TypedSchema, fieldSchema, formOf, itemElement } from './typed-schema.ts';

/**
 * The live object with a configuration laid over it (K4.7): maps and keyed lists item by item, everything else as a
 * whole. The result shares what one side alone has with that side.
 */
export function mergeTyped(
  live: DeepReadonly<JsonObject>,
  config: DeepReadonly<JsonObject>,
  schema: TypedSchema,
): JsonObject {
  return merge(live as JsonObject, config as JsonObject, schema) as JsonObject;
}

function merge(live: Json | undefined, config: Json | undefined, schema: TypedSchema): Json | undefined {
  if (config === undefined) return live;
  if (live === undefined) return config;
  switch (formOf(schema, config)) {
    case 'map':
      return mergeMaps(live, config, schema.map as MapType);
    case 'list':
      return mergeLists(live, config, schema.list as ListType);
    case 'scalar':
    case 'none':
      return config;
  }
}

function mergeMaps(live: Json, config: Json, map: MapType): Json {
  if (map.atomic) return config;
  const left = isJsonObject(live) ? live : {};
  const right = isJsonObject(config) ? config : {};
  const leftKeys = Object.keys(left);
  const rightKeys = Object.keys(right);
  // Of two empty ones the configuration's counts: null and {} differ.
  if (leftKeys.length === 0 && rightKeys.length === 0) return config;
  const result: JsonObject = {};
  for (const name of leftKeys) {
    const mine = Object.hasOwn(right, name) ? right[name] : undefined;
    const merged = mine === undefined ? left[name] : merge(left[name], mine, fieldSchema(map, name));
    if (merged !== undefined) setOwn(result, name, merged);
  }
  for (const name of rightKeys) if (!Object.hasOwn(left, name)) setOwn(result, name, right[name] as Json);
  return result;
}

/**
 * Items of the configuration come in its order, live items that it does not have stay behind the last item before them
 * that both have.
 */
function mergeLists(live: Json, config: Json, list: ListType): Json {
  if (list.atomic) return config;
  const left = Array.isArray(live) ? live : [];
  const right = Array.isArray(config) ? config : [];
  if (left.length === 0 && right.length === 0) return config;
  const mine = new Map<PathElement, Json>();
  const mineElements = right.map((item) => {
    const element = itemElement(list, item);
    mine.set(element, item);
    return element;
  });
  const theirs = new Map<PathElement, Json>();
  const theirElements = left.map((item) => {
    const element = itemElement(list, item);
    // Live items that cannot be told apart are not merged with, but replaced.
    theirs.set(element, theirs.has(element) ? null : item);
    return element;
  });
  const shared = mineElements.filter((element) => theirs.has(element));
  const result: Json[] = [];
  const merged = new Set<PathElement>();
  const take = (element: PathElement): void => {
    merged.add(element);
    const item = merge(theirs.get(element) ?? undefined, mine.get(element), list.element);
    if (item !== undefined) result.push(item);
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
  return result;
}
