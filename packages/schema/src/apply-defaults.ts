import {
  deepCopy,
  encodeJson,
  getOwn,
  setOwn,
  statusErrors,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import type { SchemaNode } from './schema-node.ts';

/** Characters that defaults may add to an object: more than any storage accepts. */
const maxAddedCharacters = 4 * 1024 * 1024;

/**
 * Fills in defaults, in place. Per object: null in a field that is not nullable is replaced by the field's
 * default or dropped; absent fields with a default are added; then everything below, what was just added included.
 * With `keepNulls` a null that no default replaces stays, and fails validation. Null among the items of a list takes the items' default, or stays and fails validation. At the root, `metadata`,
 * `apiVersion` and `kind` are left alone.
 *
 * A short list of empty objects may have any number of defaults: throws 413 when they add more than an object may hold.
 */
export function applyDefaults(value: Json, node: SchemaNode | undefined, isRoot = false, keepNulls = false): void {
  new Defaults(keepNulls).apply(value, node, isRoot);
}

class Defaults {
  readonly #keepNulls: boolean;
  #left = maxAddedCharacters;

  constructor(keepNulls: boolean) {
    this.#keepNulls = keepNulls;
  }

  apply(value: Json, node: SchemaNode | undefined, isRoot: boolean): void {
    if (node === undefined || typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) this.#items(value, node);
    else this.#fields(value, node, isRoot);
  }

  #items(list: Json[], node: SchemaNode): void {
    const items = node.items;
    if (items === undefined) return;
    for (let index = 0; index < list.length; index++) {
      const item = list[index];
      if (item === null && !items.nullable && items.default !== undefined) list[index] = this.#copy(items, '');
      const current = list[index];
      if (typeof current === 'object' && current !== null) this.apply(current, items, false);
    }
  }

  #fields(object: JsonObject, node: SchemaNode, isRoot: boolean): void {
    const { properties, additional } = node;
    if (properties === undefined && additional === undefined) return;
    // No loop over pairs: that is an array for each property of each object, though next to none has a default.
    properties?.forEach((property, name) => {
      if (property.default === undefined || Object.hasOwn(object, name)) return;
      if (isRoot && isMetaField(name)) return;
      setOwn(object, name, this.#copy(property, name));
    });
    for (const name of Object.keys(object)) {
      if (isRoot && isMetaField(name)) continue;
      const schema = properties?.get(name) ?? additional;
      if (schema === undefined) continue;
      let child = getOwn(object, name);
      if (child === null && !schema.nullable) {
        if (schema.default === undefined) {
          if (!this.#keepNulls) delete object[name];
          continue;
        }
        child = this.#copy(schema, name);
        setOwn(object, name, child);
      }
      if (typeof child === 'object' && child !== null) this.apply(child, schema, false);
    }
  }

  /** A copy of the default of a node that has one. */
  #copy(node: SchemaNode, name: string): Json {
    const value = node.default as Json;
    this.#left -= name.length + 4 + lengthOf(value);
    if (this.#left < 0) throw statusErrors.tooLarge(`defaults add more than ${maxAddedCharacters} characters`);
    return deepCopy(value);
  }
}

function lengthOf(value: Json): number {
  if (typeof value === 'string') return value.length;
  return typeof value === 'object' && value !== null ? encodeJson(value).length : 8;
}

const isMetaField = (name: string): boolean => name === 'metadata' || name === 'apiVersion' || name === 'kind';
