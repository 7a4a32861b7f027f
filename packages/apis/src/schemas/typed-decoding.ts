import {
  canonicalMicroTime,
  canonicalTime,
  deepCopy,
  goTimeError,
  isJsonObject,
  Quantity,
  setOwn,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import { rememberEmptyMember } from '@multiplane/schema';
import type { Field, Shape } from './typed-shape.ts';

/**
 * Brings an object into the form in which a typed server writes it: nulls and zero values of optional fields are gone,
 * quantities and times have their canonical text. So equal objects have equal bytes, and managed fields name only what
 * is there. Throws an Error with a decoder's message for a text that cannot be decoded.
 */
export function normalizeTyped(value: Json, shape: Shape): Json {
  switch (shape.type) {
    case 'struct':
      if (isJsonObject(value)) normalizeStruct(value, shape.fields);
      return value;
    case 'list':
      if (Array.isArray(value)) {
        const item = shape.item();
        for (let index = 0; index < value.length; index++) {
          value[index] = normalizeTyped(value[index] ?? zeroOf(item), item);
        }
      }
      return value;
    case 'map':
      if (isJsonObject(value)) normalizeMembers(value, Object.keys(value), shape.item());
      return value;
    case 'bytes':
      return typeof value === 'string' && /[\r\n]/.test(value) ? value.replaceAll(/[\r\n]/g, '') : value;
    case 'quantity':
      // Resource lists are kept in thousandths: what is finer is rounded up.
      return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
        ? Quantity.parse(value).roundUp(-3).toString()
        : value;
    case 'time':
      return typeof value === 'string' ? (canonicalTime(value) ?? noTime(value)) : value;
    case 'micro-time':
      return typeof value === 'string' ? (canonicalMicroTime(value) ?? noTime(value, true)) : value;
    case 'schema-or-else':
      normalizeSchemaOrElse(value, shape.schema());
      return value;
    case 'text':
    case 'number':
    case 'boolean':
    case 'any':
      return value;
  }
}

function normalizeStruct(object: JsonObject, fields: ReadonlyMap<string, Field>): void {
  for (const key of Object.keys(object)) {
    const field = fields.get(key);
    if (field === undefined) continue;
    const value = object[key] as Json;
    if (value === null) {
      delete object[key];
      continue;
    }
    const shape = field.shape();
    if (shape.type === 'map' && isJsonObject(value)) {
      // Names are listed once, which for a map of 200,000 members takes 80 ms.
      const names = Object.keys(value);
      if (field.dropZero && names.length === 0) dropEmptyMember(object, key);
      else normalizeMembers(value, names, shape.item());
      continue;
    }
    // The decoder of `items` takes an empty list of schemas for none.
    if (shape.type === 'schema-or-else' && Array.isArray(value) && value.length === 0) {
      dropEmptyMember(object, key);
      continue;
    }
    const normalized = normalizeTyped(value, shape);
    // Such a list is empty until the object is stored: managed fields name it. So are bytes: validation quotes them.
    if (field.zero === null && (Array.isArray(normalized) || shape.type === 'bytes')) object[key] = normalized;
    else if (field.dropZero && Array.isArray(normalized) && normalized.length === 0) dropEmptyMember(object, key);
    else if (field.dropZero && isZero(normalized)) delete object[key];
    else if (normalized !== value) object[key] = normalized;
  }
}

function dropEmptyMember(object: JsonObject, field: string): void {
  delete object[field];
  rememberEmptyMember(object, field);
}

function normalizeMembers(map: JsonObject, names: readonly string[], item: Shape): void {
  for (const name of names) {
    const member = map[name] as Json;
    const normalized = normalizeTyped(member ?? zeroOf(item), item);
    if (normalized !== member) setOwn(map, name, normalized);
  }
}

/** Schemas in these places are decoded by their own rules: what they do not know is dropped without a word. */
function normalizeSchemaOrElse(value: Json, schema: Shape): void {
  if (Array.isArray(value)) {
    for (const item of value) normalizeSchemaOrElse(item, schema);
  } else if (isJsonObject(value) && schema.type === 'struct') {
    dropUnknownMembers(value, schema);
    normalizeStruct(value, schema.fields);
  }
}

/** Of all structs in the value; schemas that are decoded by their own rules are left to {@link normalizeSchemaOrElse}. */
function dropUnknownMembers(value: Json | undefined, shape: Shape): void {
  if (shape.type === 'struct') {
    if (!isJsonObject(value)) return;
    for (const key of Object.keys(value)) {
      const field = shape.fields.get(key);
      if (field === undefined) delete value[key];
      else dropUnknownMembers(value[key], field.shape());
    }
  } else if (shape.type === 'list') {
    if (Array.isArray(value)) for (const item of value) dropUnknownMembers(item, shape.item());
  } else if (shape.type === 'map' && isJsonObject(value)) {
    for (const key of Object.keys(value)) dropUnknownMembers(value[key], shape.item());
  }
}

function isZero(value: Json): boolean {
  if (value === '' || value === 0 || value === false || value === 0n) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

function zeroOf(shape: Shape): Json {
  switch (shape.type) {
    case 'struct':
    case 'map':
      return {};
    case 'list':
      return [];
    case 'text':
    case 'bytes':
      return '';
    case 'number':
      return 0;
    case 'boolean':
      return false;
    case 'quantity':
      return '0';
    case 'time':
    case 'micro-time':
    case 'any':
    case 'schema-or-else':
      return null;
  }
}

/** False for what has no fields that could be missing. */
const holdsZeros = ({ type }: Shape): boolean => type === 'struct' || type === 'list' || type === 'map';

/** A field that a zero may have to be written to, or into. */
interface ZeroField {
  readonly name: string;
  readonly zero: Json | undefined;
  readonly inner: Shape | undefined;
}

/** Few fields of a structure are of interest here, and it is asked for every object: found out once. */
const zeroFields = new WeakMap<Struct, readonly ZeroField[]>();
type Struct = Extract<Shape, { readonly type: 'struct' }>;

function zerosOf(shape: Struct): readonly ZeroField[] {
  let found = zeroFields.get(shape);
  if (found === undefined) {
    const list: ZeroField[] = [];
    for (const [name, { zero, shape: of }] of shape.fields) {
      const inner = of();
      const reaches =
        inner.type === 'struct' || ((inner.type === 'list' || inner.type === 'map') && holdsZeros(inner.item()));
      if (zero !== undefined || reaches) list.push({ name, zero, inner: reaches ? inner : undefined });
    }
    found = list;
    zeroFields.set(shape, found);
  }
  return found;
}

/** Writes what a typed server always writes: zero texts, empty structures, null times and lists (see {@link Field.zero}). */
export function fillZeros(value: Json, shape: Shape): void {
  switch (shape.type) {
    case 'struct': {
      if (!isJsonObject(value)) return;
      for (const { name, zero, inner } of zerosOf(shape)) {
        if (!Object.hasOwn(value, name)) {
          if (zero === undefined) continue;
          value[name] = deepCopy(zero);
        }
        if (inner === undefined) continue;
        const member = value[name] as Json;
        if (typeof member === 'object' && member !== null) fillZeros(member, inner);
      }
      return;
    }
    case 'list':
      if (Array.isArray(value)) {
        const type = shape.item();
        if (holdsZeros(type)) for (const item of value) fillZeros(item, type);
      }
      return;
    case 'map':
      if (isJsonObject(value)) {
        const item = shape.item();
        if (holdsZeros(item)) for (const key of Object.keys(value)) fillZeros(value[key] as Json, item);
      }
      return;
    default:
  }
}

/** In place: empty lists become null where they are stored as protobuf upstream, which knows no empty list. */
export function dropEmptyLists(value: Json, shape: Shape): void {
  if (Array.isArray(value)) {
    if (shape.type === 'list') for (const item of value) dropEmptyLists(item, shape.item());
  } else if (isJsonObject(value)) {
    if (shape.type === 'map') for (const key of Object.keys(value)) dropEmptyLists(value[key] as Json, shape.item());
    if (shape.type !== 'struct') return;
    for (const { name, zero, inner } of zerosOf(shape)) {
      const member = value[name];
      if (typeof member !== 'object' || member === null) continue;
      if (zero === null && Array.isArray(member) && member.length === 0) value[name] = null;
      else if (inner !== undefined) dropEmptyLists(member, inner);
    }
  }
}

function noTime(text: string, micro = false): never {
  throw new Error(goTimeError(text, micro));
}
