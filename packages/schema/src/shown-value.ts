import { isJsonObject, type Json } from '@multiplane/apimachinery';

/** A value as errors show it: Go writes the keys of its maps in their order. */
export function shownValue(value: Json): Json {
  if (Array.isArray(value)) return value.map(shownValue);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, shownValue(value[key] as Json)]),
  );
}
