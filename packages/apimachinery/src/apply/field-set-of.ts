import { type DeepReadonly, type Json, type JsonObject, isJsonObject } from '../json.ts';
import { FieldSet } from './field-set.ts';
import { type PathElement, fieldElement } from './path-element.ts';
import { type ListElements, PutOff, elementAt, longList } from './list-elements.ts';
import { type ListType, type MapType, type TypedSchema, fieldSchema, formOf } from './typed-schema.ts';

/**
 * The fields that an object names (K4.6): its leaves, items of keyed lists and sets, and members of free maps. A
 * structure is named by what it holds, or by itself where it is empty or null.
 */
export function fieldSetOf(value: DeepReadonly<JsonObject>, schema: TypedSchema, elements?: ListElements): FieldSet {
  return nodeOf(value as JsonObject, schema, { elements });
}

/** {@link fieldSetOf} of something big: pauses, and puts the children of wide places off to later steps. */
export function* fieldSetInSteps(
  value: DeepReadonly<JsonObject>,
  schema: TypedSchema,
  elements: ListElements,
): Generator<void, FieldSet> {
  const later = new PutOff();
  const set = nodeOf(value as JsonObject, schema, { elements, later });
  yield* later.steps();
  return set;
}

/** What big objects are passed over with. */
interface Means {
  readonly elements: ListElements | undefined;
  readonly later?: PutOff;
}

function nodeOf(value: Json, schema: TypedSchema, means: Means): FieldSet {
  switch (formOf(schema, value)) {
    case 'map':
      return mapNode(value, schema.map as MapType, means);
    case 'list':
      return listNode(value, schema.list as ListType, means);
    case 'scalar':
      return FieldSet.leaf;
    case 'none':
      return FieldSet.empty;
  }
}

function mapNode(value: Json, map: MapType, means: Means): FieldSet {
  if (map.atomic) return FieldSet.leaf;
  if (!isJsonObject(value)) return FieldSet.empty;
  const names = Object.keys(value);
  if (means.later !== undefined && names.length >= longList && map.fields.size === 0)
    return FieldSet.node(false, wideMap(value, names, map, means, means.later));
  let children: Map<PathElement, FieldSet> | undefined;
  for (const name of names) {
    const member = value[name] as Json;
    let node = nodeOf(member, fieldSchema(map, name), means);
    // What has children has content, which need not be counted.
    if (!map.fields.has(name) || (node.children === undefined && isBare(member))) node = owned(node);
    if (!node.isEmpty) (children ??= new Map()).set(fieldElement(name), node);
  }
  return FieldSet.node(false, children);
}

/** Members of a free map, each a field of its own. The first is there at once: a place with children has some. */
function wideMap(
  value: JsonObject,
  names: readonly string[],
  map: MapType,
  means: Means,
  later: PutOff,
): Map<PathElement, FieldSet> {
  const children = new Map<PathElement, FieldSet>();
  const add = (index: number): void => {
    const name = names[index] as string;
    children.set(fieldElement(name), owned(nodeOf(value[name] as Json, fieldSchema(map, name), means)));
  };
  add(0);
  later.each(names.length - 1, (index) => add(index + 1));
  return children;
}

/** Null or without content: then the field itself is what is said. */
function isBare(value: Json): boolean {
  if (typeof value !== 'object') return false;
  return value === null || (Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0);
}

function listNode(value: Json, list: ListType, means: Means): FieldSet {
  if (list.atomic) return FieldSet.leaf;
  if (!Array.isArray(value)) return FieldSet.empty;
  const children = new Map<PathElement, FieldSet>();
  const known = means.elements?.of(list, value);
  const add = (index: number): void => {
    const element = elementAt(list, value, index, known);
    // Items that cannot be told apart are one field together.
    children.set(
      element,
      children.has(element) ? FieldSet.leaf : owned(nodeOf(value[index] as Json, list.element, means)),
    );
  };
  if (means.later === undefined || value.length < longList) {
    for (let index = 0; index < value.length; index++) add(index);
  } else {
    // The first at once: a place with children has some.
    add(0);
    means.later.each(value.length - 1, (index) => add(index + 1));
  }
  return FieldSet.node(false, children);
}

function owned(node: FieldSet): FieldSet {
  return node.owned ? node : FieldSet.node(true, node.children as Map<PathElement, FieldSet> | undefined);
}
