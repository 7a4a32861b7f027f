import { deepEqual, getOwn, isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import { CelError } from './cel-error.ts';
import { equal } from './equality.ts';
import type { SchemaField, SchemaType } from './schema-type.ts';
import { parseLooseDuration, parseTimestamp } from './time-text.ts';
import type { CelType } from './types.ts';
import { CelKeyedList, CelMap, CelObject, type CelFields, type CelValue } from './values.ts';
import { escapeFieldName, unescapeFieldName } from './reserved-names.ts';

/**
 * A part of an object as rules see it. Objects are read when a field is asked for, and keep what was read: a rule
 * touches little of most objects.
 */
export function valueOf(json: Json, schema: SchemaType): CelValue {
  if (json === null) return null;
  switch (schema.type.kind) {
    case 'dyn':
      if (getOwn(schema.schema, 'x-kubernetes-int-or-string') === true && !isIntOrString(json))
        throw unexpected('XIntOrString value to be either a string or integer');
      return plainValue(json);
    case 'bool':
      if (typeof json !== 'boolean') throw unexpected('bool', json);
      return json;
    case 'string':
      return textOf(json);
    case 'int':
      return typeof json === 'bigint' ? json : integerOf(json);
    case 'double':
      if (typeof json !== 'number' && typeof json !== 'bigint') throw unexpected('float', json);
      return Number(json);
    case 'bytes':
      return Buffer.from(textOf(json), 'base64');
    case 'duration':
      return parseLooseDuration(textOf(json));
    case 'timestamp':
      return timeOf(textOf(json));
    case 'list':
      if (!Array.isArray(json)) throw unexpected('an array for the provided schema with type=array');
      return listOf(json, schema);
    case 'map':
      return mapOf(objectOf(json), schema.item as SchemaType);
    default:
      return new CelObject(new ObjectFields(objectOf(json), schema));
  }
}

/** The error of Kubernetes for a value that is not of its schema (apiserver: pkg/cel/common), with the Go type of `given`. */
const unexpected = (what: string, given?: Json): CelError =>
  new CelError(`invalid data, expected ${what}${given === undefined ? '' : `, got ${goTypeOfJson(given)}`}`);

const isIntOrString = (json: Json): boolean =>
  typeof json === 'string' || typeof json === 'bigint' || (typeof json === 'number' && Number.isInteger(json));

function goTypeOfJson(json: Json): string {
  if (typeof json === 'object') return Array.isArray(json) ? '[]interface {}' : 'map[string]interface {}';
  if (typeof json === 'boolean') return 'bool';
  if (typeof json === 'string') return 'string';
  return typeof json === 'bigint' || Number.isInteger(json) ? 'int64' : 'float64';
}

function textOf(json: Json): string {
  if (typeof json !== 'string') throw unexpected('string', json);
  return json;
}
function objectOf(json: Json): JsonObject {
  if (!isJsonObject(json)) throw unexpected('a map for the provided schema with type=object');
  return json;
}

function integerOf(json: Json): bigint {
  if (typeof json !== 'number' || !Number.isInteger(json)) throw unexpected('int', json);
  return BigInt(json);
}

const timeOf = (text: string): CelValue =>
  /^\d{4}-\d{2}-\d{2}$/.test(text)
    ? parseTimestamp(`${text}T00:00:00Z`)
    : parseTimestamp(text.replace(/^(.{10})[tT ]/, '$1T').replace(/z$/, 'Z'));

/** Without a schema: an int-or-string, or a variable of type dyn. Whole numbers are ints. */
export function plainValue(json: Json): CelValue {
  if (typeof json === 'number') return Number.isInteger(json) ? BigInt(json) : json;
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(plainValue);
  const object = json;
  return CelMap.of(Object.keys(object).map((key) => [key, plainValue(object[key] as Json)]));
}

function listOf(json: readonly Json[], schema: SchemaType): CelValue {
  const item = schema.item as SchemaType;
  const type = getOwn(schema.schema, 'x-kubernetes-list-type');
  if (type !== 'set' && type !== 'map') return json.map((value) => valueOf(value, item));
  const list = new CelKeyedList();
  for (const value of json) list.push(valueOf(value, item));
  const keys = getOwn(schema.schema, 'x-kubernetes-list-map-keys');
  if (type === 'map' && Array.isArray(keys)) {
    list.itemKeys = keys.filter((key) => typeof key === 'string').map((key) => escapeFieldName(key) ?? key);
  }
  return list;
}

function mapOf(json: JsonObject, item: SchemaType): CelMap {
  return CelMap.of(Object.keys(json).map((key) => [key, valueOf(json[key] as Json, item)]));
}

/** Null stands for a property that is absent; a null in a map or a list is a value. */
class ObjectFields implements CelFields {
  readonly type: CelType;
  readonly isMap = true;
  readonly #json: JsonObject;
  readonly #schema: SchemaType;
  readonly #read = new Map<string, CelValue | undefined>();

  constructor(json: JsonObject, schema: SchemaType) {
    this.type = schema.type;
    this.#json = json;
    this.#schema = schema;
  }

  get size(): number {
    return Object.keys(this.#json).length;
  }

  get(name: string): CelValue | undefined {
    const known = this.#read.get(name);
    if (known !== undefined) return known;
    const field = this.#field(name);
    const json = field === undefined ? undefined : (getOwn(this.#json, field.name) ?? undefined);
    if (field === undefined || json === undefined) return undefined;
    const value = valueOf(json, field.type);
    this.#read.set(name, value);
    return value;
  }

  /** A name may also be that of the property: of a reserved word, or when it is no constant. */
  #field(name: string): SchemaField | undefined {
    const { fields } = this.#schema;
    const field = fields?.get(name);
    if (field !== undefined) return field;
    const property = unescapeFieldName(name);
    const escaped = property === undefined ? undefined : escapeFieldName(property);
    return escaped === undefined ? undefined : fields?.get(escaped);
  }

  keys(): readonly string[] {
    return Object.keys(this.#json).flatMap((key) => {
      const escaped = escapeFieldName(key);
      return escaped !== undefined && this.#schema.fields?.has(escaped) === true ? [escaped] : [];
    });
  }

  /** Known fields compare as values, others as they stand in the objects, if both have them. */
  equals(other: CelFields): boolean {
    if (!(other instanceof ObjectFields) || this.size !== other.size) return false;
    const names = new Map([...(this.#schema.fields ?? [])].map(([escaped, field]) => [field.name, escaped]));
    return Object.keys(this.#json).every((key) => {
      const escaped = names.get(key);
      if (escaped === undefined) {
        const theirs = getOwn(other.#json, key);
        return theirs === undefined || deepEqual(this.#json[key], theirs);
      }
      const [mine, theirs] = [this.get(escaped), other.get(escaped)];
      return mine === undefined || theirs === undefined ? mine === theirs : equal(mine, theirs);
    });
  }
}
