/**
 * JSON values as this system holds them.
 *
 * Integers beyond 2^53 are `bigint` (so they survive a round trip exactly); every other number is a `number`.
 * Objects come from the parser with own keys only, `__proto__` included: read them with `Object.hasOwn`/`Object.keys`
 * or {@link getOwn}, write computed keys with {@link setOwn}. Never index with a key that a user chose and then trust
 * what comes back from the prototype.
 */
export type Json = string | number | bigint | boolean | null | JsonArray | JsonObject;
export type JsonArray = Json[];
export interface JsonObject {
  [key: string]: Json;
}

/** An immutable value, as caches and listers return it. */
export type DeepReadonly<T> = unknown extends T
  ? T
  : T extends string | number | bigint | boolean | null | undefined
    ? T
    : T extends readonly (infer E)[]
      ? readonly DeepReadonly<E>[]
      : { readonly [K in keyof T]: DeepReadonly<T[K]> };

/** A value that `JSON.stringify` prints as this very text: how integers beyond 2^53 leave the process exactly. */
export const rawJson: (text: string) => Json = (
  JSON as unknown as { readonly rawJSON: (this: void, text: string) => Json }
).rawJSON;

/** Whether a value is one of {@link rawJson}. */
export const isRawJson: (value: unknown) => boolean = (
  JSON as unknown as { readonly isRawJSON: (this: void, value: unknown) => boolean }
).isRawJSON;

/** True for a JSON object (not an array, not null). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The own property `key`, or undefined; never looks at the prototype. */
export function getOwn(object: DeepReadonly<JsonObject>, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? (object as JsonObject)[key] : undefined;
}

/** Sets an own property whatever its name is; a plain assignment to `__proto__` would change the prototype instead. */
export function setOwn(object: JsonObject, key: string, value: Json): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    object[key] = value;
  }
}

/** Whether a value consists of more than `limit` scalars, objects and lists, itself included. Looks at no more of them. */
export function hasMoreValues(value: DeepReadonly<Json>, limit: number): boolean {
  const pending: Json[] = [value as Json];
  let values = 1;
  for (let next = pending.pop(); next !== undefined && values <= limit; next = pending.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    if (Array.isArray(next)) {
      values += next.length;
      for (const item of next) if (typeof item === 'object' && item !== null) pending.push(item);
      continue;
    }
    // `Object.values` of a wide object takes several times as long.
    for (const key in next) {
      values++;
      const member = next[key];
      if (typeof member === 'object' && member !== null) pending.push(member);
    }
  }
  return values > limit;
}

/** A copy that shares nothing with its source. */
export function deepCopy<T extends Json>(value: DeepReadonly<T>): T {
  if (typeof value !== 'object' || value === null) return value as T;
  if (Array.isArray(value)) return value.map((item: Json) => deepCopy(item)) as unknown as T;
  const source = value as JsonObject;
  const copy: JsonObject = {};
  // Every write comes here many times: `for in` makes no list of keys, and JSON inherits none.
  for (const key in source) setOwn(copy, key, deepCopy(source[key] as Json));
  return copy as T;
}

/** Freezes a value and all it holds; returns it. */
export function deepFreeze<T>(value: T): DeepReadonly<T> {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const key in value) deepFreeze((value as Record<string, unknown>)[key]);
  }
  return value as DeepReadonly<T>;
}

/** Structural equality; the order of keys does not matter, `1` equals `1n`. */
export function deepEqual(a: DeepReadonly<Json> | undefined, b: DeepReadonly<Json> | undefined): boolean {
  if (a === b) return true;
  if (typeof a === 'bigint') return typeof b === 'number' && Number.isInteger(b) && BigInt(b) === a;
  if (typeof b === 'bigint') return deepEqual(b, a);
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    for (let index = 0; index < a.length; index++) if (!deepEqual(a[index] as Json, b[index] as Json)) return false;
    return true;
  }
  const left = a as JsonObject;
  const right = b as JsonObject;
  let more = 0;
  for (const key in left) {
    if (!Object.hasOwn(right, key) || !deepEqual(left[key], right[key])) return false;
    more--;
  }
  for (const _ in right) more++;
  return more === 0;
}
