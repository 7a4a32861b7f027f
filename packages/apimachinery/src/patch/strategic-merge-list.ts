import { encodeJson } from '../json/json-codec.ts';
import type { Json, JsonArray, JsonObject } from '../json/json.ts';

/**
 * The lists of a strategic merge. Their order: elements of the patch in the order of the patch, elements that
 * only the server has in the server's order; the two rows are then drawn together like a zip fastener, where an element
 * of the server goes first only if the server's list has it before the next element of the patch. So elements that are
 * new to the server come as early as their row allows: in front.
 */

/** What tells elements and merge keys apart: Go prints them, so a float without fraction is the same as an integer. */
export const identityOf = (value: Json): string =>
  encodeJson(typeof value === 'symbol' ? Number((value as symbol).description) : value);

/** The union of two lists of scalars. */
export function mergeScalars(current: JsonArray, change: JsonArray): JsonArray {
  const union = new Map<string, Json>();
  for (const item of [...current, ...change]) {
    const identity = identityOf(item);
    if (!union.has(identity)) union.set(identity, item);
  }
  return orderLike([...union.values()], change, current, identityOf);
}

/** The union of two lists of objects: `merge` joins those that `identity` says are the same. */
export function mergeItems(
  current: JsonObject[],
  change: JsonObject[],
  identity: (item: JsonObject) => string,
  merge: (item: JsonObject, patch: JsonObject) => JsonObject,
): JsonArray {
  const merged = [...current];
  // The element before the merge gives its place in the order; its identity cannot change.
  const places = new Map<string, number>();
  merged.forEach((item, index) => {
    const key = identity(item);
    if (!places.has(key)) places.set(key, index);
  });
  for (const item of change) {
    const key = identity(item);
    const place = places.get(key);
    if (place === undefined) places.set(key, merged.push(item) - 1);
    else merged[place] = merge(merged[place] as JsonObject, item);
  }
  return orderLike(merged, change, current, identity as (item: Json) => string);
}

/** Orders `merged`: see above. `order` is the row of the patch, `serverOrder` the list as it was. */
export function orderLike(
  merged: JsonArray,
  order: JsonArray,
  serverOrder: JsonArray,
  identity: (item: Json) => string,
): JsonArray {
  const orderRanks = ranksOf(order, identity);
  const serverRanks = ranksOf(serverOrder, identity);
  const patched: { item: Json; rank: number; serverRank: number | undefined }[] = [];
  const serverOnly: { item: Json; rank: number }[] = [];
  for (const item of merged) {
    const key = identity(item);
    const rank = orderRanks.get(key);
    const serverRank = serverRanks.get(key);
    if (rank === undefined) serverOnly.push({ item, rank: serverRank ?? Infinity });
    else patched.push({ item, rank, serverRank });
  }
  patched.sort((a, b) => a.rank - b.rank);
  serverOnly.sort((a, b) => a.rank - b.rank);
  const result: JsonArray = [];
  let next = 0;
  for (const { item, serverRank = -1 } of patched) {
    for (let server = serverOnly[next]; server !== undefined && server.rank < serverRank; server = serverOnly[++next]) {
      result.push(server.item);
    }
    result.push(item);
  }
  for (const { item } of serverOnly.slice(next)) result.push(item);
  return result;
}

function ranksOf(list: JsonArray, identity: (item: Json) => string): Map<string, number> {
  const ranks = new Map<string, number>();
  list.forEach((item, index) => {
    const key = identity(item);
    if (!ranks.has(key)) ranks.set(key, index);
  });
  return ranks;
}
