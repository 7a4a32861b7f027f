import { type DeepReadonly, type Json, isJsonObject } from '../json/json.ts';
import { type PathElement, valueElement } from './path-element.ts';

export type TypedScalar = 'string' | 'numeric' | 'boolean' | 'untyped';

/** How items of a list are identified. */
export interface ListType {
  /** One field as a whole. Otherwise a map by {@link keys}, or a set where there are none. */
  readonly atomic: boolean;
  /** Sorted by name. */
  readonly keys: readonly string[];
  readonly element: TypedSchema;
}

export interface MapType {
  readonly atomic: boolean;
  /** The named fields; of a free map there are none. */
  readonly fields: ReadonlyMap<string, TypedSchema>;
  /** What other fields hold; undefined: there are no others. */
  readonly element: TypedSchema | undefined;
}

/**
 * What server-side apply has to know of a place in an object. A place may take a scalar, a list or a map, or several of
 * them (int-or-string, fields without a schema). Schemas may refer to themselves.
 */
export interface TypedSchema {
  readonly scalar: TypedScalar | undefined;
  readonly list: ListType | undefined;
  readonly map: MapType | undefined;
  /** Stands in for a missing key of a list item. */
  readonly default?: Json | undefined;
}

const noFields: ReadonlyMap<string, TypedSchema> = new Map();

/** A place whose content is one field whatever it is. */
const untypedAtomic: { scalar: TypedScalar; list: ListType | undefined; map: MapType | undefined } = {
  scalar: 'untyped',
  list: undefined,
  map: undefined,
};
untypedAtomic.list = { atomic: true, keys: [], element: untypedAtomic };
untypedAtomic.map = { atomic: true, fields: noFields, element: untypedAtomic };

/** Without a schema: maps field by field, lists as a whole. */
const deduced: { scalar: TypedScalar; list: ListType | undefined; map: MapType | undefined } = {
  scalar: 'untyped',
  list: { atomic: true, keys: [], element: untypedAtomic },
  map: undefined,
};
deduced.map = { atomic: false, fields: noFields, element: deduced };

export const untypedAtomicSchema: TypedSchema = untypedAtomic;
export const deducedSchema: TypedSchema = deduced;

/** Which of the forms that a schema allows a value has. */
export type Form = 'scalar' | 'list' | 'map' | 'none';

/** A value in a form that the schema does not allow, and null, is taken for what the schema would rather have. */
export function formOf(schema: TypedSchema, value: DeepReadonly<Json>): Form {
  if (value !== null) {
    if (typeof value !== 'object') {
      if (schema.scalar !== undefined) return 'scalar';
    } else if (Array.isArray(value)) {
      if (schema.list !== undefined) return 'list';
    } else if (schema.map !== undefined) return 'map';
  }
  return schema.map !== undefined
    ? 'map'
    : schema.scalar !== undefined
      ? 'scalar'
      : schema.list !== undefined
        ? 'list'
        : 'none';
}

/** The schema of a field; what no schema knows is deduced. */
export function fieldSchema(map: MapType, name: string): TypedSchema {
  return map.fields.get(name) ?? map.element ?? deducedSchema;
}

/** An item that has no place in its list. */
export class ListItemError extends Error {
  override readonly name = 'ListItemError';
}

/** The element of an item of a list that is not atomic. Throws {@link ListItemError} with the text of structured-merge-diff. */
export function itemElement(list: ListType, item: DeepReadonly<Json>): PathElement {
  const { keys } = list;
  if (keys.length === 0) {
    if (item === null) throw new ListItemError("associative list without keys has an element that's an explicit null");
    if (Array.isArray(item)) throw new ListItemError('not supported: associative list with lists as elements');
    if (typeof item === 'object')
      throw new ListItemError("associative list without keys has an element that's a map type");
    return valueElement(item);
  }
  if (item === null) throw new ListItemError('associative list with keys may not have a null element');
  if (!isJsonObject(item)) throw new ListItemError('associative list with keys may not have non-map elements');
  let text = '';
  for (const key of keys) {
    const value = Object.hasOwn(item, key) ? (item[key] as Json) : list.element.map?.fields.get(key)?.default;
    if (value === undefined) continue;
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${
      typeof value === 'string' ? JSON.stringify(value) : valueElement(value).slice(2)
    }`;
  }
  if (text === '') {
    throw new ListItemError(
      `associative list with keys has an element that omits all key fields [${keys.map((key) => JSON.stringify(key)).join(' ')}] (and doesn't have default values for any key fields)`,
    );
  }
  return `k:{${text}}`;
}
