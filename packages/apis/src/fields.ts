import { getOwn, isJsonObject, type DeepReadonly, type Json, type JsonObject } from '@multiplane/apimachinery';

/*
 * Readers for the fields of objects whose JSON types are already checked. They never throw and never look at a
 * prototype: a wrong type reads as an absent value.
 */

type Source = DeepReadonly<object> | null | undefined;

/** The value at a path of own properties; undefined where any step is missing. */
export function at(source: Source | Json, ...path: readonly string[]): Json | undefined {
  let value: unknown = source;
  for (const key of path) {
    if (!isJsonObject(value)) return undefined;
    value = getOwn(value, key);
  }
  return value as Json | undefined;
}

/** The text at a path; empty when absent. */
export function textAt(source: Source | Json, ...path: readonly string[]): string {
  const value = at(source, ...path);
  return typeof value === 'string' ? value : '';
}

/** The number at a path; undefined when absent. Integers beyond 2^53 stay bigint. */
export function numberAt(source: Source | Json, ...path: readonly string[]): number | bigint | undefined {
  const value = at(source, ...path);
  return typeof value === 'number' || typeof value === 'bigint' ? value : undefined;
}

/** The list at a path; empty when absent. */
export function listAt(source: Source | Json, ...path: readonly string[]): readonly Json[] {
  const value = at(source, ...path);
  return Array.isArray(value) ? value : [];
}

/** The texts of the list at a path. */
export function textsAt(source: Source | Json, ...path: readonly string[]): readonly string[] {
  return listAt(source, ...path).map((item) => (typeof item === 'string' ? item : ''));
}

/** The object at a path; undefined when absent. */
export function objectAt(source: Source | Json, ...path: readonly string[]): JsonObject | undefined {
  const value = at(source, ...path);
  return isJsonObject(value) ? value : undefined;
}

/** The entries of the map at a path, sorted by key (the order in which messages name them). */
export function entriesAt(source: Source | Json, ...path: readonly string[]): readonly (readonly [string, Json])[] {
  const map = objectAt(source, ...path);
  return map === undefined
    ? []
    : Object.keys(map)
        .sort()
        .map((key) => [key, map[key] as Json] as const);
}

/** The value of an annotation or label map; empty when absent. */
export function annotationOf(object: Source, key: string): string {
  return textAt(object, 'metadata', 'annotations', key);
}
