import { type DeepReadonly, type Json, type JsonObject, isJsonObject } from '../json/json.ts';
import { FieldSet } from './field-set.ts';
import { type PathElement, fieldElement } from './path-element.ts';
import { type ListElements, DeferredWork, elementAt } from './list-elements.ts';
import { type ListType, type MapType, type TypedSchema, fieldSchema, formOf } from './typed-schema.ts';

/**
 * The fields that an object names: its leaves, items of keyed lists and sets, and members of free maps. A
 * structure is named by what it holds, or by itself where it is null or an empty map.
 */
export function fieldSetOf(value: DeepReadonly<JsonObject>, schema: TypedSchema, elements?: ListElements): FieldSet {
  return nodeOf(value as JsonObject, schema, { elements });
}

/** {@link fieldSetOf} of something big: pauses, and puts the children of wide places off to later steps. */
export function* fieldSetIncrementally(
  value: DeepReadonly<JsonObject>,
  schema: TypedSchema,
  elements: ListElements,
): Generator<void, FieldSet> {
  const later = new DeferredWork();
  const set = nodeOf(value as JsonObject, schema, { elements, later });
  yield* later.steps();
  return set;
}

/** What big objects are passed over with. */
interface WalkContext {
  readonly elements: ListElements | undefined;
  readonly later?: DeferredWork;
}

function nodeOf(value: Json, schema: TypedSchema, context: WalkContext): FieldSet {
  switch (formOf(schema, value)) {
    case 'map':
      return mapNode(value, schema.map as MapType, context);
    case 'list':
      return listNode(value, schema.list as ListType, context);
    case 'scalar':
      return FieldSet.leaf;
    case 'none':
      return FieldSet.empty;
  }
}

function mapNode(value: Json, map: MapType, context: WalkContext): FieldSet {
  if (map.atomic) return FieldSet.leaf;
  if (!isJsonObject(value)) return FieldSet.empty;
  const names = Object.keys(value);
  if (context.later?.defers(names.length) === true && map.fields.size === 0)
    return FieldSet.node(false, wideMap(value, names, map, context, context.later));
  let children: Map<PathElement, FieldSet> | undefined;
  for (const name of names) {
    const member = value[name] as Json;
    let node = nodeOf(member, fieldSchema(map, name), context);
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
  context: WalkContext,
  later: DeferredWork,
): Map<PathElement, FieldSet> {
  const children = new Map<PathElement, FieldSet>();
  const add = (index: number): void => {
    const name = names[index] as string;
    children.set(fieldElement(name), owned(nodeOf(value[name] as Json, fieldSchema(map, name), context)));
  };
  add(0);
  later.each(names.length - 1, (index) => add(index + 1));
  return children;
}

/** Null or an empty map: then the field itself is what is said. An empty list says nothing (upstream's ToFieldSet). */
function isBare(value: Json): boolean {
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0);
}

function listNode(value: Json, list: ListType, context: WalkContext): FieldSet {
  if (list.atomic) return FieldSet.leaf;
  if (!Array.isArray(value)) return FieldSet.empty;
  const children = new Map<PathElement, FieldSet>();
  const known = context.elements?.of(list, value);
  const add = (index: number): void => {
    const element = elementAt(list, value, index, known);
    // Items without a unique key count as one field.
    children.set(
      element,
      children.has(element) ? FieldSet.leaf : owned(nodeOf(value[index] as Json, list.element, context)),
    );
  };
  if (context.later?.defers(value.length) !== true) {
    for (let index = 0; index < value.length; index++) add(index);
  } else {
    // The first at once: a place with children has some.
    add(0);
    context.later.each(value.length - 1, (index) => add(index + 1));
  }
  return FieldSet.node(false, children);
}

function owned(node: FieldSet): FieldSet {
  return node.owned ? node : FieldSet.node(true, node.children as Map<PathElement, FieldSet> | undefined);
}
