import { type DeepReadonly, type Json, type JsonObject, isJsonObject } from '../json/json.ts';
import { FieldSet } from './field-set.ts';
import { type PathElement, fieldElement } from './path-element.ts';
import { type ListElements, elementAt } from './list-elements.ts';
import { type ListType, type MapType, type TypedSchema, fieldSchema, formOf } from './typed-schema.ts';

/**
 * The fields that an object names: its leaves, items of keyed lists and sets, and members of free maps. A
 * structure is named by what it holds, or by itself where it is null or an empty map.
 */
export function fieldSetOf(value: DeepReadonly<JsonObject>, schema: TypedSchema, elements?: ListElements): FieldSet {
  return nodeOf(value as JsonObject, schema, elements);
}

function nodeOf(value: Json, schema: TypedSchema, elements: ListElements | undefined): FieldSet {
  switch (formOf(schema, value)) {
    case 'map':
      return mapNode(value, schema.map as MapType, elements);
    case 'list':
      return listNode(value, schema.list as ListType, elements);
    case 'scalar':
      return FieldSet.leaf;
    case 'none':
      return FieldSet.empty;
  }
}

function mapNode(value: Json, map: MapType, elements: ListElements | undefined): FieldSet {
  if (map.atomic) return FieldSet.leaf;
  if (!isJsonObject(value)) return FieldSet.empty;
  let children: Map<PathElement, FieldSet> | undefined;
  for (const name of Object.keys(value)) {
    const member = value[name] as Json;
    let node = nodeOf(member, fieldSchema(map, name), elements);
    // What has children has content, which need not be counted.
    if (!map.fields.has(name) || (node.children === undefined && isBare(member))) node = owned(node);
    if (!node.isEmpty) (children ??= new Map()).set(fieldElement(name), node);
  }
  return FieldSet.node(false, children);
}

/** Null or an empty map: then the field itself is what is said. An empty list says nothing (upstream's ToFieldSet). */
function isBare(value: Json): boolean {
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0);
}

function listNode(value: Json, list: ListType, elements: ListElements | undefined): FieldSet {
  if (list.atomic) return FieldSet.leaf;
  if (!Array.isArray(value)) return FieldSet.empty;
  const children = new Map<PathElement, FieldSet>();
  const known = elements?.of(list, value);
  for (let index = 0; index < value.length; index++) {
    const element = elementAt(list, value, index, known);
    // Items without a unique key count as one field.
    children.set(
      element,
      children.has(element) ? FieldSet.leaf : owned(nodeOf(value[index] as Json, list.element, elements)),
    );
  }
  return FieldSet.node(false, children);
}

function owned(node: FieldSet): FieldSet {
  return node.owned ? node : FieldSet.node(true, node.children as Map<PathElement, FieldSet> | undefined);
}
