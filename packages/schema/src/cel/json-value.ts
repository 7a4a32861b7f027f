import { setOwn, type Json, type JsonObject } from '@multiplane/apimachinery';
import { CelError } from './cel-error.ts';
import { typeOfValue } from './standard-types.ts';
import { StructFields } from './struct-fields.ts';
import { exactDurationText, timestampText } from './time-text.ts';
import { typeText } from './types.ts';
import {
  CelDuration,
  CelMap,
  CelObject,
  CelOptional,
  CelTimestamp,
  CelUint,
  isList,
  type CelFields,
  type CelValue,
} from './values.ts';

/**
 * What an expression made, as a part of an object. Integers beyond 2^53 stay exact. `onStruct` is called with each value
 * that the expression itself made of a type, and of the fields that lead to it. Throws CelError for what no object can hold.
 */
export function jsonOfValue(
  value: CelValue,
  onStruct?: (typeName: string, path: readonly string[]) => void,
  path: readonly string[] = [],
): Json {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (!Number.isFinite(value)) throw new CelError(`cannot convert ${value} to JSON`);
      return value;
    case 'bigint':
      return integer(value);
    default:
  }
  if (value === null) return null;
  // Items of a list are of the type that is named after the list.
  if (isList(value)) return value.map((item) => jsonOfValue(item, onStruct, path));
  if (value instanceof CelUint) return integer(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof CelTimestamp) return timestampText(value);
  if (value instanceof CelDuration) return exactDurationText(value);
  const object: JsonObject = {};
  if (value instanceof CelMap) {
    for (const [key, item] of value.entries()) {
      if (typeof key !== 'string') throw new CelError(`unsupported key type: ${typeText(typeOfValue(key))}`);
      setOwn(object, key, jsonOfValue(item, onStruct, [...path, key]));
    }
    return object;
  }
  if (value instanceof CelObject) {
    const { fields } = value;
    if (fields instanceof StructFields) onStruct?.(fields.type.name, path);
    for (const [name, item] of fieldsOf(fields)) setOwn(object, name, jsonOfValue(item, onStruct, [...path, name]));
    return object;
  }
  if (value instanceof CelOptional && value.value !== undefined) return jsonOfValue(value.value, onStruct, path);
  throw new CelError(`cannot convert a value of type ${typeText(typeOfValue(value))} to JSON`);
}

function* fieldsOf(fields: CelFields): Iterable<readonly [string, CelValue]> {
  if (fields instanceof StructFields) {
    yield* fields.entries();
    return;
  }
  for (const name of fields.type.fields?.keys() ?? []) {
    const value = fields.get(name);
    if (value !== undefined) yield [name, value];
  }
}

const integer = (value: bigint): Json =>
  value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
