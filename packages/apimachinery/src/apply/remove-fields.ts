import { type DeepReadonly, type Json, type JsonObject, isJsonObject, setOwn } from '../json/json.ts';
import { FieldSet } from './field-set.ts';
import { type ListElements, elementAt } from './list-elements.ts';
import { type PathElement, fieldElement } from './path-element.ts';
import { type ListType, type MapType, type TypedSchema, fieldSchema, formOf, itemElement } from './typed-schema.ts';

/** The object without the fields of a set. What stays whole is shared with the object. */
export function removeFields(
  value: DeepReadonly<JsonObject>,
  fields: FieldSet,
  schema: TypedSchema,
  elements?: ListElements,
): JsonObject {
  return remove(value as JsonObject, fields, schema, elements) as JsonObject;
}

function remove(value: Json, fields: FieldSet, schema: TypedSchema, elements: ListElements | undefined): Json {
  const { children } = fields;
  if (children === undefined) return value;
  switch (formOf(schema, value)) {
    case 'map': {
      const map = schema.map as MapType;
      if (map.atomic || !isJsonObject(value)) return value;
      const result: JsonObject = {};
      for (const name of Object.keys(value)) {
        const node = children.get(fieldElement(name));
        const member = value[name] as Json;
        if (node?.owned === true) continue;
        setOwn(result, name, node === undefined ? member : remove(member, node, fieldSchema(map, name), elements));
      }
      return result;
    }
    case 'list': {
      const list = schema.list as ListType;
      if (list.atomic || !Array.isArray(value)) return value;
      const result: Json[] = [];
      const known = elements?.of(list, value);
      for (let index = 0; index < value.length; index++) {
        const item = value[index] as Json;
        const node = children.get(elementAt(list, value, index, known));
        if (node?.owned === true) continue;
        result.push(node === undefined ? item : remove(item, node, list.element, elements));
      }
      return result;
    }
    case 'scalar':
    case 'none':
      return value;
  }
}

/** Only the fields of a set: what a manager owns of an object. Keys of list items come along with anything in them. */
export function extractFields(value: DeepReadonly<JsonObject>, fields: FieldSet, schema: TypedSchema): JsonObject {
  return (extract(value as JsonObject, fields, schema) ?? {}) as JsonObject;
}

function extract(value: Json, fields: FieldSet, schema: TypedSchema): Json | undefined {
  const { children } = fields;
  switch (formOf(schema, value)) {
    case 'map': {
      const map = schema.map as MapType;
      if (map.atomic || !isJsonObject(value)) return value;
      const result: JsonObject = {};
      for (const name of Object.keys(value)) {
        const node = children?.get(fieldElement(name));
        if (node === undefined) continue;
        const member = extract(value[name] as Json, node, fieldSchema(map, name));
        if (member !== undefined) setOwn(result, name, member);
      }
      return result;
    }
    case 'list': {
      const list = schema.list as ListType;
      if (list.atomic || !Array.isArray(value)) return value;
      const result: Json[] = [];
      for (const item of value) {
        const node = children?.get(itemElement(list, item));
        if (node !== undefined) result.push(withKeys(item, extract(item, node, list.element), list));
      }
      return result;
    }
    case 'scalar':
    case 'none':
      return value;
  }
}

function withKeys(item: Json, extracted: Json | undefined, list: ListType): Json {
  if (!isJsonObject(item) || extracted === undefined || !isJsonObject(extracted)) return extracted ?? item;
  for (const key of list.keys) {
    if (Object.hasOwn(item, key) && !Object.hasOwn(extracted, key)) setOwn(extracted, key, item[key] as Json);
  }
  return extracted;
}

/**
 * The set with every structure that it reaches into by a named field (`.spec` for `.spec.replicas`): naming a
 * field names its parents.
 */
export function withNamedFields(set: FieldSet, schema: TypedSchema): FieldSet {
  return named(set, schema, set.owned);
}

function named(set: FieldSet, schema: TypedSchema, owned: boolean): FieldSet {
  const left = set.children;
  if (left === undefined) return owned === set.owned ? set : FieldSet.node(owned, undefined);
  const { map, list } = schema;
  let children: Map<PathElement, FieldSet> | undefined;
  for (const [element, child] of left) {
    let node = child;
    const isField = element.charCodeAt(0) === fieldMark;
    if (isField && map !== undefined) {
      const name = element.slice(2);
      const known = map.fields.get(name);
      node = named(
        child,
        known ?? fieldSchema(map, name),
        child.owned || (known !== undefined && child.children !== undefined),
      );
    } else if (!isField && list !== undefined) {
      node = named(child, list.element, child.owned);
    }
    if (node !== child) (children ??= new Map(left)).set(element, node);
  }
  return children === undefined && owned === set.owned
    ? set
    : FieldSet.node(owned, children ?? (left as Map<PathElement, FieldSet>));
}

const fieldMark = 0x66;
