import type { DeepReadonly, Json, JsonObject } from '../json/json.ts';
import { goNumeric } from './go-float.ts';

/** A value as Go's `%v` prints it. */
export function goValueText(value: DeepReadonly<Json>): string {
  if (value === null) return '<nil>';
  if (typeof value === 'number' || typeof value === 'bigint') return goNumeric(value);
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${value.map((item: Json) => goValueText(item)).join(' ')}]`;
  const object = value as JsonObject;
  return `map[${Object.keys(object)
    .toSorted()
    .map((key) => `${key}:${goValueText(object[key] as Json)}`)
    .join(' ')}]`;
}
