import { isJsonObject, setOwn, type Json, type JsonObject } from '@multiplane/apimachinery';
import { STRING, type SchemaNode } from './schema-node.ts';

/**
 * What a typed field holds after two members with its name, both decoded (null: not set): Go's decoder writes the later
 * value over the earlier one, so that fields of structs, keys of maps and items of lists that the later one lacks stay. A
 * value without structure decodes itself, and the later one replaces it.
 */
export function mergedRepetition(earlier: Json, later: Json, node: SchemaNode): Json {
  // null clears maps, lists and pointers, and leaves structs and strings as they are.
  if (later === null) return node.properties !== undefined || (node.types & STRING) !== 0 ? earlier : null;
  if (Array.isArray(earlier) && Array.isArray(later)) {
    const { items } = node;
    if (items?.properties === undefined) return later;
    return later.map((item, index) => mergedRepetition(earlier[index] ?? null, item, items));
  }
  if (!isJsonObject(earlier) || !isJsonObject(later)) return later;
  if (node.properties === undefined && node.additional === undefined) return later;
  const merged: JsonObject = {};
  for (const key of Object.keys(earlier)) setOwn(merged, key, earlier[key] as Json);
  for (const key of Object.keys(later)) {
    const field = node.properties?.get(key);
    const value = later[key] as Json;
    const old = Object.hasOwn(earlier, key) ? (earlier[key] as Json) : null;
    setOwn(merged, key, field === undefined ? value : mergedRepetition(old, value, field));
  }
  return merged;
}
