import {
  goTimeError,
  isJsonObject,
  Quantity,
  QuantityError,
  setOwn,
  statusErrors,
  type Json,
  type JsonObject,
  type JsonTextDetails,
  type StatusError,
} from '@multiplane/apimachinery';
import { goType, illegalBase64, isQuantity, isTime, zeroOf } from './go-types.ts';
import { goTypeName } from './go-type-names.ts';
import { ARRAY, BOOLEAN, INTEGER, NUMBER, STRING, type SchemaNode } from './schema-node.ts';

/**
 * Checks the types of an object of a built-in kind as the converter from untyped to typed objects does
 * (runtime.DefaultUnstructuredConverter of apimachinery), to which Kubernetes gives the result of a strategic merge patch.
 * It differs from the decoder of texts: the first misfit ends it, messages name Go kinds and no fields, a float without
 * fraction is an integer, and integers lose what does not fit into 32 bits. In place, with the nulls of {@link zeroOf}.
 * Throws a StatusError 400.
 */
export function convertTyped(object: JsonObject, node: SchemaNode, details?: JsonTextDetails): void {
  const { kind } = object;
  new TypedConverter(details?.literals).convertFields(object, node, typeof kind === 'string' ? kind : '');
}

const rootStruct = ({ definition }: SchemaNode): string => definition.slice(definition.lastIndexOf('.') + 1);

/** A value that is converted, with the field that holds it. */
interface Place {
  readonly node: SchemaNode;
  readonly struct: string;
  readonly field: string;
  /** The text has it as a float, whatever its value is. */
  readonly isFloat: boolean;
}

class TypedConverter {
  readonly #literals: JsonTextDetails['literals'] | undefined;

  constructor(literals: JsonTextDetails['literals'] | undefined) {
    this.#literals = literals;
  }

  convertFields(object: JsonObject, node: SchemaNode, outer: string): void {
    const { properties, additional } = node;
    const struct = node.definition === '' ? outer : rootStruct(node);
    // In the order of the struct's fields. Entries of a map have no order in Go.
    for (const name of properties?.keys() ?? []) this.#member(object, name, node, struct);
    if (additional === undefined) return;
    for (const name of Object.keys(object))
      if (properties?.has(name) !== true) this.#member(object, name, node, struct);
  }

  #member(object: JsonObject, name: string, node: SchemaNode, struct: string): void {
    const property = node.properties?.get(name);
    const schema = property ?? node.additional;
    if (schema === undefined || !Object.hasOwn(object, name)) return;
    const child = object[name] as Json;
    if (child === null && property !== undefined) {
      delete object[name];
      return;
    }
    const isFloat = this.#literals?.get(object)?.has(name) === true;
    const converted = this.#convert(child, { node: schema, struct, field: name, isFloat });
    if (converted !== child) setOwn(object, name, converted);
  }

  #convert(value: Json, place: Place): Json {
    const { node, isFloat } = place;
    if (value === null) return zeroOf(node);
    if (isQuantity(node)) return quantity(value);
    if (node.format?.name === 'date-time') return time(value, node);
    if (node.types === 0) return value;
    if ((node.types & STRING) !== 0 && node.format?.name !== 'byte') return text(value, place);
    if ((node.types & (INTEGER | NUMBER)) !== 0) return number(value, node);
    if ((node.types & BOOLEAN) !== 0) {
      if (typeof value !== 'boolean') throw failure('unrecognized type: bool');
      return value;
    }
    if ((node.types & ARRAY) !== 0 || node.format?.name === 'byte') return this.#list(value, place);
    if (!isJsonObject(value))
      throw failure(
        node.properties === undefined
          ? `cannot restore map from ${goKind(value, isFloat)}`
          : `cannot restore struct from: ${goKind(value, isFloat)}`,
      );
    this.convertFields(value, node, place.struct);
    return value;
  }

  #list(value: Json, { node, struct, field, isFloat }: Place): Json {
    if (node.format?.name === 'byte' && typeof value === 'string') {
      const bad = illegalBase64(value);
      if (bad === undefined) return value;
      throw failure(`error decoding from json: illegal base64 data at input byte ${bad}`);
    }
    if (!Array.isArray(value)) throw failure(`cannot restore slice from ${goKind(value, isFloat)}`);
    if (node.format?.name === 'byte') return Buffer.from(value.map(byte)).toString('base64');
    const { items } = node;
    if (items === undefined) return value;
    const literals = this.#literals?.get(value);
    for (let index = 0; index < value.length; index++) {
      const place = { node: items, struct, field, isFloat: literals?.has(String(index)) === true };
      value[index] = this.#convert(value[index] as Json, place);
    }
    return value;
  }
}

function text(value: Json, { node, struct, field, isFloat }: Place): Json {
  if (typeof value === 'string') return value;
  // Go can convert an integer to a text, which is no conversion of JSON; other types it cannot.
  throw failure(
    goKind(value, isFloat) === 'int64'
      ? `cannot convert int64 to ${goTypeName(struct, field, goType(node))}`
      : 'unrecognized type: string',
  );
}

/** What a float becomes that does not fit into 64 bits (on amd64). */
const minInt64 = -(2n ** 63n);

function number(value: Json, node: SchemaNode): Json {
  const type = goType(node);
  if (typeof value !== 'number' && typeof value !== 'bigint') throw failure(`unrecognized type: ${type}`);
  if ((node.types & NUMBER) !== 0) return value;
  if (isFraction(value)) throw failure(`cannot convert float64 to ${type}`);
  const exact = BigInt(value);
  const integer = exact === BigInt.asIntN(64, exact) ? exact : minInt64;
  if (type === 'int32') return Number(BigInt.asIntN(32, integer));
  return integer === exact ? value : integer;
}

/** An element of bytes that are written as a list. */
function byte(value: Json): number {
  if (value === null) return 0;
  if (typeof value !== 'number' && typeof value !== 'bigint') throw failure('unrecognized type: uint8');
  if (isFraction(value)) throw failure('cannot convert float64 to uint8');
  return Number(BigInt.asUintN(8, BigInt(value)));
}

const isFraction = (value: number | bigint): boolean => typeof value === 'number' && !Number.isInteger(value);

/** Quantities and times read their JSON themselves. */
function quantity(value: Json): string {
  const literal = typeof value === 'object' ? '' : String(value);
  try {
    Quantity.parse(literal.trim());
    return literal;
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    throw failure(error.message);
  }
}

function time(value: Json, node: SchemaNode): Json {
  if (typeof value !== 'string') {
    const found = Array.isArray(value) ? 'array' : isJsonObject(value) ? 'object' : (jsonTypes[typeof value] ?? '');
    throw failure(`json: cannot unmarshal ${found} into Go value of type string`);
  }
  if (!isTime(value, node)) throw failure(goTimeError(value, node.definition.endsWith('.MicroTime')));
  return value;
}

const jsonTypes: Readonly<Record<string, string>> = { boolean: 'bool', number: 'number', bigint: 'number' };

/** The Go kind that a value of JSON has in an untyped object. */
function goKind(value: Json, isFloat: boolean): string {
  if (isFloat) return 'float64';
  if (Array.isArray(value)) return 'slice';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'bigint':
      return value === BigInt.asIntN(64, value) ? 'int64' : 'float64';
    case 'number':
      return Number.isSafeInteger(value) ? 'int64' : 'float64';
    default:
      return 'map';
  }
}

const failure = (reason: string): StatusError => statusErrors.badRequest(reason);
