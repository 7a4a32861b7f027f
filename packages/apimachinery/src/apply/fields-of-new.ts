import { type DeepReadonly, type Json, type JsonObject, isJsonObject } from '../json/json.ts';
import { compareTyped } from './compare-typed.ts';
import { FieldSet } from './field-set.ts';
import { elementAt } from './list-elements.ts';
import { type PathElement, fieldElement } from './path-element.ts';
import { type ListType, type MapType, type TypedSchema, fieldSchema, formOf } from './typed-schema.ts';

/**
 * The fields that a new object sets: what {@link compareTyped} finds added or modified between an object of its
 * kind without content and this one. Nearly all of it has nothing on the other side, so it needs no comparison, and its
 * set is made from the leaves up. Throws when list items have no unique keys.
 */
export function fieldsOfNew(
  empty: DeepReadonly<JsonObject>,
  object: DeepReadonly<JsonObject>,
  schema: TypedSchema,
): FieldSet {
  return changed(empty as JsonObject, object as JsonObject, schema);
}

function changed(before: Json, after: Json, schema: TypedSchema): FieldSet {
  if (before === after) return FieldSet.empty;
  const map = schema.map as MapType;
  const areFields =
    formOf(schema, before) === 'map' &&
    formOf(schema, after) === 'map' &&
    !map.atomic &&
    isJsonObject(before) &&
    isJsonObject(after);
  if (!areFields) {
    const { added, modified } = compareTyped(before as JsonObject, after as JsonObject, schema);
    return modified.union(added);
  }
  let children: Map<PathElement, FieldSet> | undefined;
  for (const name of Object.keys(after)) {
    const value = after[name] as Json;
    const inner = fieldSchema(map, name);
    const set = Object.hasOwn(before, name) ? changed(before[name] as Json, value, inner) : added(value, inner);
    if (!set.isEmpty) (children ??= new Map()).set(fieldElement(name), set);
  }
  return FieldSet.node(false, children);
}

/** All of a value that was not there: the place itself, and what is in it unless that is one field with it. */
function added(value: Json, schema: TypedSchema): FieldSet {
  switch (formOf(schema, value)) {
    case 'map':
      return addedMembers(value, schema.map as MapType);
    case 'list':
      return addedItems(value, schema.list as ListType);
    case 'scalar':
    case 'none':
      return FieldSet.leaf;
  }
}

function addedMembers(value: Json, map: MapType): FieldSet {
  if (map.atomic || !isJsonObject(value)) return FieldSet.leaf;
  const names = Object.keys(value);
  if (names.length === 0) return FieldSet.leaf;
  const children = new Map<PathElement, FieldSet>();
  for (const name of names) children.set(fieldElement(name), added(value[name] as Json, fieldSchema(map, name)));
  return new FieldSet(true, children);
}

function addedItems(value: Json, list: ListType): FieldSet {
  if (list.atomic || !Array.isArray(value) || value.length === 0) return FieldSet.leaf;
  const children = new Map<PathElement, FieldSet>();
  for (let index = 0; index < value.length; index++) {
    const element = elementAt(list, value, index, undefined);
    // Items without a unique key count as one field.
    children.set(element, children.has(element) ? FieldSet.leaf : added(value[index] as Json, list.element));
  }
  return new FieldSet(true, children);
}
