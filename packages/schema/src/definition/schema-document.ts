import { deepEqual, getOwn, isJsonObject, type FieldPath, type Json, type JsonObject } from '@multiplane/apimachinery';

/** Reading of schema documents (JSONSchemaProps): absent, empty and zero are the same thing for every keyword. */

export const stringOf = (schema: JsonObject, key: string): string => {
  const value = getOwn(schema, key);
  return typeof value === 'string' ? value : '';
};

export const isTrue = (schema: JsonObject, key: string): boolean => getOwn(schema, key) === true;

export const objectOf = (schema: JsonObject, key: string): JsonObject | undefined => {
  const value = getOwn(schema, key);
  return isJsonObject(value) ? value : undefined;
};

export const listOf = (schema: JsonObject, key: string): readonly Json[] => {
  const value = getOwn(schema, key);
  return Array.isArray(value) ? value : [];
};

export const textsOf = (schema: JsonObject, key: string): readonly string[] =>
  listOf(schema, key).filter((item) => typeof item === 'string');

/** The schemas in a list (`allOf`), with their place in it. */
export function schemasOf(schema: JsonObject, key: string): readonly JsonObject[] {
  return listOf(schema, key).filter((item) => isJsonObject(item));
}

/** The schemas in a map (`properties`), by name. */
export function namedSchemasOf(schema: JsonObject, key: string): readonly (readonly [string, JsonObject])[] {
  const map = objectOf(schema, key);
  if (map === undefined) return [];
  const named: (readonly [string, JsonObject])[] = [];
  for (const name of Object.keys(map)) {
    const value = map[name];
    if (isJsonObject(value)) named.push([name, value]);
  }
  return named;
}

/** `default`, unless it is null: a null default is none. */
export function defaultOf(schema: JsonObject): Json | undefined {
  const value = getOwn(schema, 'default');
  return value === null ? undefined : value;
}

/** A keyword that says something: not absent, false, empty or null. */
export function isGiven(schema: JsonObject, key: string): boolean {
  const value = getOwn(schema, key);
  if (value === undefined || value === null || value === false || value === '' || value === 0) return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value !== 'object' || key === 'items' || key === 'not' || Object.keys(value).length > 0;
}

const integer: JsonObject = { type: 'integer' };
const text: JsonObject = { type: 'string' };

/** `anyOf: [{type: integer}, {type: string}]`, which int-or-string fields may repeat. */
export function isIntOrStringPattern(alternatives: readonly Json[]): boolean {
  return alternatives.length === 2 && deepEqual(alternatives[0], integer) && deepEqual(alternatives[1], text);
}

/** `….properties[name]`. */
export const propertyPath = (path: FieldPath, name: string, key = 'properties'): FieldPath => path.child(key).key(name);
