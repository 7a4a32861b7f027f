import { deepCopy, getOwn, setOwn, type Json, type JsonObject } from '@multiplane/apimachinery';
import type { SchemaNode } from './schema-node.ts';

/**
 * Fills in defaults, in place. Per object: null in a field that is not nullable is replaced by the field's
 * default or dropped; absent fields with a default are added; then everything below, what was just added included.
 * With `keepNulls` a null that no default replaces stays, and fails validation. Null among the items of a list takes the items' default, or stays and fails validation. At the root, `metadata`,
 * `apiVersion` and `kind` are left alone.
 */
export function applyDefaults(value: Json, node: SchemaNode | undefined, isRoot = false, keepNulls = false): void {
  if (node === undefined || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) defaultItems(value, node, keepNulls);
  else defaultFields(value, node, isRoot, keepNulls);
}

function defaultItems(list: Json[], node: SchemaNode, keepNulls: boolean): void {
  const items = node.items;
  if (items === undefined) return;
  for (let index = 0; index < list.length; index++) {
    const item = list[index];
    if (item === null && !items.nullable && items.default !== undefined) list[index] = deepCopy(items.default);
    const current = list[index];
    if (typeof current === 'object' && current !== null) applyDefaults(current, items, false, keepNulls);
  }
}

function defaultFields(object: JsonObject, node: SchemaNode, isRoot: boolean, keepNulls: boolean): void {
  const { properties, additional } = node;
  if (properties === undefined && additional === undefined) return;
  // No loop over pairs: that is an array for each property of each object, though next to none has a default.
  properties?.forEach((property, name) => {
    if (property.default === undefined || Object.hasOwn(object, name)) return;
    if (isRoot && isMetaField(name)) return;
    setOwn(object, name, deepCopy(property.default));
  });
  for (const name of Object.keys(object)) {
    if (isRoot && isMetaField(name)) continue;
    const schema = properties?.get(name) ?? additional;
    if (schema === undefined) continue;
    let child = getOwn(object, name);
    if (child === null && !schema.nullable) {
      if (schema.default === undefined) {
        if (!keepNulls) delete object[name];
        continue;
      }
      child = deepCopy(schema.default);
      setOwn(object, name, child);
    }
    if (typeof child === 'object' && child !== null) applyDefaults(child, schema, false, keepNulls);
  }
}

const isMetaField = (name: string): boolean => name === 'metadata' || name === 'apiVersion' || name === 'kind';
