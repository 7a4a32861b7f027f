import {
  fieldErrors,
  FieldPath,
  getOwn,
  setOwn,
  type FieldError,
  type Json,
  type JsonArray,
  type JsonObject,
} from '@multiplane/apimachinery';
import type { SchemaNode } from './schema-node.ts';
import { identityText } from './validate-value.ts';

/**
 * Lists of type set hold no item twice, lists of type map no two items with the same keys (K5.7). The second of equal
 * items is reported, further ones are not. Subtrees without such lists are skipped.
 */
export function validateListTypes(value: Json, node: SchemaNode, path: FieldPath = FieldPath.root()): FieldError[] {
  const errors: FieldError[] = [];
  walk(value, node, path, errors);
  return errors;
}

function walk(value: Json, node: SchemaNode, path: FieldPath, errors: FieldError[]): void {
  if (!node.hasUniqueLists || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (node.listType === 'set') validateSet(value, path, errors);
    else if (node.listType === 'map') validateMap(value, node.listMapKeys ?? [], path, errors);
    const items = node.items;
    if (items?.hasUniqueLists === true) value.forEach((item, index) => walk(item, items, path.index(index), errors));
    return;
  }
  for (const name of Object.keys(value)) {
    const property = node.properties?.get(name);
    const schema = property ?? node.additional;
    if (schema === undefined || !schema.hasUniqueLists) continue;
    walk(value[name] as Json, schema, property === undefined ? path.key(name) : path.child(name), errors);
  }
}

/** Positions of the second occurrence of each value. */
function repeated(identities: readonly string[]): number[] {
  const seen = new Map<string, number>();
  const positions: number[] = [];
  identities.forEach((identity, index) => {
    const times = seen.get(identity) ?? 0;
    if (times === 1) positions.push(index);
    seen.set(identity, times + 1);
  });
  return positions;
}

function validateSet(list: JsonArray, path: FieldPath, errors: FieldError[]): void {
  if (list.length < 2) return;
  for (const index of repeated(list.map(identityText))) {
    errors.push(fieldErrors.duplicate(path.index(index), list[index]));
  }
}

function validateMap(list: JsonArray, keys: readonly string[], path: FieldPath, errors: FieldError[]): void {
  for (const [index, item] of list.entries()) {
    if (item !== null && (typeof item !== 'object' || Array.isArray(item))) {
      errors.push(fieldErrors.invalid(path.index(index), item, 'must be an object for an array of list-type map'));
      return;
    }
  }
  if (list.length < 2) return;
  const identities = list.map((item) => keyOf(item as JsonObject | null, keys));
  for (const index of repeated(identities.map(identityText))) {
    errors.push(fieldErrors.duplicate(path.index(index), identities[index]));
  }
}

function keyOf(item: JsonObject | null, keys: readonly string[]): JsonObject {
  const key: JsonObject = {};
  if (item === null) return key;
  for (const name of keys) {
    const value = getOwn(item, name);
    if (value !== undefined) setOwn(key, name, value);
  }
  return key;
}
