import { getOwn, isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import { escapeFieldName } from './reserved-names.ts';
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  stringType,
  structType,
  timestampType,
  type CelType,
} from './types.ts';

/** What rules see of a place in a schema. */
export interface SchemaType {
  readonly type: CelType;
  /** The schema that values are read by. */
  readonly schema: JsonObject;
  /** How large a value can be at most: characters, items, properties. */
  readonly maxElements: number;
  /** The fewest bytes that a value takes in a request. */
  readonly minSize: number;
  readonly item?: SchemaType | undefined;
  /** By CEL name. */
  readonly fields?: ReadonlyMap<string, SchemaField> | undefined;
}
export interface SchemaField {
  /** The name in the object. */
  readonly name: string;
  readonly type: SchemaType;
}

/** Bytes that a request may have at most. */
export const maxRequestBytes = 3 * 1024 * 1024;
/** Kubernetes counts values other than strings, lists and maps as empty. */
const noElements = 0;

const text = (schema: JsonObject, key: string): string => {
  const value = getOwn(schema, key);
  return typeof value === 'string' ? value : '';
};
const limit = (schema: JsonObject, key: string): number | undefined => {
  const value = getOwn(schema, key);
  return typeof value === 'number' || typeof value === 'bigint' ? Math.max(Number(value), 0) : undefined;
};
const child = (schema: JsonObject, key: string): JsonObject | undefined => {
  const value = getOwn(schema, key);
  return isJsonObject(value) ? value : undefined;
};
const isEmbedded = (schema: JsonObject): boolean => getOwn(schema, 'x-kubernetes-embedded-resource') === true;

/**
 * The type of what a structural schema describes (Kubernetes `SchemaDeclType`). Undefined: rules cannot see it
 * (nothing is known of its content). `isRoot`: the object has `apiVersion`, `kind` and a name whether the schema says
 * so or not.
 */
export function schemaType(schema: JsonObject, isRoot: boolean, name = 'selfType'): SchemaType | undefined {
  if (getOwn(schema, 'x-kubernetes-int-or-string') === true) {
    const most = limit(schema, 'maxLength');
    return leaf(schema, dynType, most === undefined ? maxRequestBytes - 2 : most * 4, 1);
  }
  const source = isRoot ? withObjectMeta(schema) : schema;
  switch (text(source, 'type')) {
    case 'array':
      return ofList(source, name);
    case 'object':
      return ofObject(source, name);
    case 'string':
      return ofText(source);
    case 'boolean':
      return leaf(source, boolType, noElements, 4);
    case 'number':
      return leaf(source, doubleType, noElements, 1);
    case 'integer':
      return leaf(source, intType, noElements, 1);
    default:
      return undefined;
  }
}

const leaf = (schema: JsonObject, type: CelType, maxElements: number, minSize: number): SchemaType => ({
  type,
  schema,
  maxElements,
  minSize,
});

function ofList(schema: JsonObject, name: string): SchemaType | undefined {
  const items = child(schema, 'items');
  const item = items === undefined ? undefined : schemaType(items, isEmbedded(items), `${name}.@idx`);
  if (item === undefined) return undefined;
  const maxElements = limit(schema, 'maxItems') ?? Math.floor((maxRequestBytes - 2) / (item.minSize + 1));
  return { type: listType(item.type), schema, maxElements, minSize: 2, item };
}

function ofObject(schema: JsonObject, name: string): SchemaType | undefined {
  const values = child(schema, 'additionalProperties');
  if (values !== undefined) {
    const item = schemaType(values, isEmbedded(values), `${name}.@elem`);
    if (item === undefined) return undefined;
    const maxElements = limit(schema, 'maxProperties') ?? Math.floor((maxRequestBytes - 2) / (item.minSize + 6));
    return { type: mapType(stringType, item.type), schema, maxElements, minSize: 2, item };
  }
  const fields = new Map<string, SchemaField>();
  const types = new Map<string, CelType>();
  const required = getOwn(schema, 'required');
  let minSize = 2;
  const properties = child(schema, 'properties') ?? {};
  for (const property of Object.keys(properties)) {
    const own = properties[property];
    if (!isJsonObject(own)) continue;
    const escaped = escapeFieldName(property);
    const type = schemaType(own, isEmbedded(own), `${name}.${escaped ?? property}`);
    if (type === undefined) continue;
    if (escaped !== undefined) {
      fields.set(escaped, { name: property, type });
      types.set(escaped, type.type);
    }
    const isRequired = Array.isArray(required) && required.includes(property);
    const hasDefault = (getOwn(own, 'default') ?? null) !== null;
    if (isRequired && !hasDefault) minSize += Buffer.byteLength(property) + type.minSize + 4;
  }
  return { type: structType(name, types), schema, maxElements: noElements, minSize, fields };
}

function ofText(schema: JsonObject): SchemaType {
  const most = limit(schema, 'maxLength');
  switch (text(schema, 'format')) {
    case 'byte':
      return leaf(schema, bytesType, most ?? maxRequestBytes - 2, 2);
    case 'duration':
      return leaf(schema, durationType, 32, 3);
    case 'date':
      return leaf(schema, timestampType, 12, 12);
    case 'date-time':
      return leaf(schema, timestampType, 32, 21);
    default:
  }
  const values = getOwn(schema, 'enum');
  if (most !== undefined) return leaf(schema, stringType, most * 4, 2);
  if (!Array.isArray(values) || values.length === 0) return leaf(schema, stringType, maxRequestBytes - 2, 2);
  const longest = Math.max(0, ...values.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : 0)));
  return leaf(schema, stringType, longest, 2);
}

const stringSchema: JsonObject = { type: 'string' };
/** The schema with what every object has. */
function withObjectMeta(schema: JsonObject): JsonObject {
  const metadata: Json = { type: 'object', properties: { name: stringSchema, generateName: stringSchema } };
  const properties = { ...child(schema, 'properties'), kind: stringSchema, apiVersion: stringSchema, metadata };
  return { ...schema, type: 'object', properties };
}
