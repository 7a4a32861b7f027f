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
  CelTypeValue,
  CelUint,
  isList,
  type CelFields,
  type CelValue,
} from './values.ts';

export interface JsonForm {
  /** Called with each value that the expression itself made of a type, and the fields that lead to it. */
  readonly onStruct?: (typeName: string, path: readonly string[]) => void;
  /**
   * What Kubernetes makes of it. `patch`: a message of protobuf, whose integers beyond 2^53 are texts. `configuration`: a Go value,
   * in which types are their names, and an absent value is null. Integers stay exact in all but patches.
   */
  readonly as?: 'patch' | 'configuration';
}

/** What an expression made, as a part of an object. Throws CelError, with the texts of cel-go, for what no object can hold. */
export function jsonOfValue(value: CelValue, form: JsonForm = {}, path: readonly string[] = []): Json {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (!Number.isFinite(value)) throw new CelError(notFinite(value));
      return value;
    case 'bigint':
      return integer(value, form);
    default:
  }
  if (value === null) return null;
  // Items of a list are of the type that is named after the list.
  if (isList(value)) return value.map((item) => jsonOfValue(item, form, path));
  if (value instanceof CelUint) return integer(value.value, form);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof CelTimestamp) return timestampText(value);
  if (value instanceof CelDuration) return exactDurationText(value);
  const object: JsonObject = {};
  if (value instanceof CelMap) {
    for (const [key, item] of value.entries()) {
      if (typeof key !== 'string') throw new CelError(unsupportedKey(key, form));
      setOwn(object, key, jsonOfValue(item, form, [...path, key]));
    }
    return object;
  }
  if (value instanceof CelObject) {
    const { fields } = value;
    if (fields instanceof StructFields) form.onStruct?.(fields.type.name, path);
    for (const [name, item] of fieldsOf(fields)) setOwn(object, name, jsonOfValue(item, form, [...path, name]));
    return object;
  }
  if (value instanceof CelOptional) {
    if (value.value !== undefined) return jsonOfValue(value.value, form, path);
    if (form.as === 'configuration') return null;
    throw new CelError('optional.none() dereference');
  }
  if (value instanceof CelTypeValue && form.as === 'configuration') return value.type.name;
  if (value instanceof CelTypeValue) throw new CelError("type conversion not supported for 'type'");
  const name = typeText(typeOfValue(value)).replace(/^(?:kubernetes|net)\.(?=\w+$)/, '');
  throw new CelError(`type conversion error from '${name}' to '*structpb.Value'`);
}

/** The operations of a JSON patch that an expression made. Throws CelError with the text of Kubernetes. */
export function jsonPatchOfValue(value: CelValue): Json {
  try {
    return jsonOfValue(value, { as: 'patch' });
  } catch (cause) {
    if (!(cause instanceof CelError)) throw cause;
    const why = 'JSONPath valueExpression evaluated to a type that could not marshal to JSON';
    throw new CelError(`${why}: ${cause.message}`, { cause });
  }
}

function unsupportedKey(key: CelValue, { as }: JsonForm): string {
  const type = typeText(typeOfValue(key));
  if (as !== 'patch') return `unsupported key type: ${type}`;
  return type === 'bool'
    ? "type conversion error from bool to 'string'"
    : `unsupported type conversion from '${type}' to string`;
}

function notFinite(value: number): string {
  const text = Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  return `json: error calling MarshalJSON for type *structpb.Value: proto: google.protobuf.Value.number_value: invalid ${text} value`;
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

function integer(value: bigint, { as }: JsonForm): Json {
  if (value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
  return as === 'patch' ? String(value) : value;
}
