import {
  goTimeError,
  isJsonObject,
  isStatusError,
  setOwn,
  Quantity,
  QuantityError,
  statusErrors,
  type Json,
  type JsonObject,
  type JsonTextDetails,
  type RepeatedMember,
  type StatusError,
} from '@multiplane/apimachinery';
import { embeddedStructs, goTypeName } from './go-type-names.ts';
import { mergedRepetition } from './merged-repetition.ts';
import { goType, illegalBase64, isQuantity, isTime, zeroOf } from './go-types.ts';
import { typeBitsOf } from './schema-compiler.ts';
import { ARRAY, INTEGER, NUMBER, OBJECT, STRING, type SchemaNode } from './schema-node.ts';

/**
 * Checks that an object of a built-in kind has the JSON types that its fields demand, as decoding into a typed object
 * would; names match with their case, unknown fields are skipped. In place: null makes a field absent, and an
 * item or value of a map the zero of its type; a quantity given as a number becomes a text. Throws a StatusError 400.
 *
 * Of several errors it reports the one that Go's decoder (sigs.k8s.io/json) reports: a value that its type decodes itself,
 * such as a time or a quantity, ends decoding; of all other misfits the first is reported at the end.
 *
 * `details`, if the object was read from a text that has some, make the decoder see each of several members with the same
 * name and the literals of numbers. Returns the paths of known fields and keys that occur more than once.
 */
export function decodeTyped(object: JsonObject, node: SchemaNode, details?: JsonTextDetails): readonly string[] {
  return new TypedDecoder(textOf(object['kind'], 'object'), details).decodeWhole(object, node);
}

/**
 * What is wrong with the types of an object of Go's type `struct` that is part of another; undefined: nothing. Changes the
 * object as decoding does.
 */
export function typedProblem(object: JsonObject, node: SchemaNode, struct: string): string | undefined {
  try {
    new TypedDecoder(struct).decodeWhole(object, node);
    return undefined;
  } catch (error) {
    if (!isStatusError(error)) throw error;
    return error.message;
  }
}

const schemaOrElse = /\.JSONSchemaPropsOr(?:Array|Bool|StringArray)$/;

class TypedDecoder {
  /** Names of the fields from the root down. Items of lists and keys of maps have none, as in Go's messages. */
  readonly #path: string[] = [];
  /** Go's type of the struct that holds the value which is decoded. */
  #struct: string;
  #firstMisfit: StatusError | undefined;
  readonly #details: JsonTextDetails | undefined;
  /** The text of the number that is decoded, where its value does not tell it. */
  #literal: string | undefined;
  readonly #duplicates: string[] = [];
  /** The schema of JSON schemas, once one was met. */
  #schema: SchemaNode | undefined;
  /** The struct that holds the outermost value that is decoded by itself: all misfits below are reported as its. */
  #reportedStruct: string | undefined;

  constructor(struct: string, details?: JsonTextDetails) {
    this.#struct = struct;
    this.#details = details;
  }

  decodeWhole(object: JsonObject, node: SchemaNode): readonly string[] {
    const { apiVersion, kind } = object;
    this.decode(object, node);
    return this.#end(object, apiVersion, kind);
  }

  /** Restores what the caller has put in place of an absent or null version and kind: members that repeat are decoded from the text. */
  #end(object: JsonObject, apiVersion: Json | undefined, kind: Json | undefined): readonly string[] {
    if (apiVersion !== undefined) object['apiVersion'] = apiVersion;
    if (kind !== undefined) object['kind'] = kind;
    if (this.#firstMisfit !== undefined) throw this.#firstMisfit;
    return this.#duplicates;
  }

  /** Returns the value, or what stands for it. */
  decode(value: Json, node: SchemaNode): Json {
    if (value === null) return zeroOf(node);
    if (isQuantity(node)) {
      return this.#quantity(value);
    }
    // Keeps the JSON as it is.
    if (node.definition.endsWith('.FieldsV1')) return value;
    if (node.types === 0) {
      // Without a type there is still structure to follow where the document gives some.
      if (isJsonObject(value) && node.properties !== undefined) this.#decodeFields(value, node);
      else if (this.#schema !== undefined && schemaOrElse.test(node.definition))
        this.#decodeSchemaOrElse(value, node, this.#schema);
      return value;
    }
    const type = typeBitsOf(value);
    if ((node.types & type) === 0 && !(type === INTEGER && (node.types & NUMBER) !== 0)) {
      if (type === ARRAY && node.format?.name === 'byte') return this.#bytes(value as Json[]);
      const misfit = this.#misfit(value, node);
      // A time decodes itself, so that its failure ends decoding.
      if (node.format?.name === 'date-time') throw misfit;
      this.#save(misfit);
      return value;
    }
    if (type === OBJECT) this.#decodeFields(value as JsonObject, node);
    else if (type === ARRAY) this.#decodeItems(value as Json[], node);
    else if (type === INTEGER) this.#checkInteger(value as number | bigint, node);
    else if (type === STRING) this.#checkText(value as string, node);
    else if (this.#literal !== undefined && !Number.isFinite(Number(this.#literal)))
      this.#save(this.#misfit(value, node));
    return value;
  }

  /**
   * A schema, where something else may take its place (`items`, `additionalProperties`, `dependencies`). Go decodes it by a
   * decoder of its own, which does not look for duplicate fields; the first misfit below ends decoding.
   */
  #decodeSchemaOrElse(value: Json, node: SchemaNode, schema: SchemaNode): void {
    const [outerMisfit, outerStruct, { length }] = [this.#firstMisfit, this.#reportedStruct, this.#duplicates];
    this.#firstMisfit = undefined;
    this.#reportedStruct ??= this.#struct;
    if (isJsonObject(value)) this.#decodeFields(value, schema);
    else if (node.definition.endsWith('OrBool')) {
      if (typeof value !== 'boolean') throw this.#failure('boolean or JSON schema expected');
    } else if (Array.isArray(value))
      for (const item of value) {
        if (node.definition.endsWith('OrArray')) this.decode(item, schema);
        else if (typeof item !== 'string' && item !== null)
          this.#save(this.#failure(this.#misfitText(jsonType(item, false, undefined), 'string')));
      }
    const misfit = this.#savedMisfit();
    if (misfit !== undefined) throw misfit;
    this.#firstMisfit = outerMisfit;
    this.#reportedStruct = outerStruct;
    this.#duplicates.length = length;
  }

  #decodeFields(object: JsonObject, node: SchemaNode): void {
    const outer = this.#enterStruct(node);
    const members = this.#details?.repeats.get(object);
    if (members !== undefined) this.#decodeRepeated(object, members, node);
    else {
      const literals = this.#details?.literals.get(object);
      for (const name of Object.keys(object)) this.#decodeField(object, name, node, literals);
    }
    this.#struct = outer;
  }

  #decodeField(
    object: JsonObject,
    name: string,
    node: SchemaNode,
    literals: { get(name: string): string | undefined } | undefined,
  ): void {
    const property = node.properties?.get(name);
    const schema = property ?? node.additional;
    if (schema === undefined) return;
    const child = object[name] as Json;
    if (child === null && property !== undefined) {
      delete object[name];
      return;
    }
    const decoded = this.#decodeMember(name, property !== undefined, child, schema, literals?.get(name));
    if (decoded !== child) setOwn(object, name, decoded);
  }

  /** Returns Go's type of the struct around. */
  #enterStruct(node: SchemaNode): string {
    const outer = this.#struct;
    if (node.definition.endsWith('.JSONSchemaProps')) this.#schema = node;
    if (node.definition !== '' && this.#path.length > 0)
      this.#struct = node.definition.slice(node.definition.lastIndexOf('.') + 1);
    return outer;
  }

  #enterField(name: string, isField: boolean): void {
    if (isField) this.#path.push(...(embeddedStructs(this.#struct, name) ?? []), name);
  }

  #decodeMember(name: string, isField: boolean, value: Json, schema: SchemaNode, literal: string | undefined): Json {
    const depth = this.#path.length;
    this.#enterField(name, isField);
    this.#literal = literal;
    const decoded = this.decode(value, schema);
    this.#literal = undefined;
    this.#path.length = depth;
    return decoded;
  }

  /** Each member is decoded into the same place, so that the first misfit counts and what fits is merged. */
  #decodeRepeated(object: JsonObject, members: readonly RepeatedMember[], node: SchemaNode): void {
    const merged = new Map<string, Json>();
    for (const { name, value, literal, path } of members) {
      const property = node.properties?.get(name);
      const schema = property ?? node.additional;
      if (schema === undefined) continue;
      if (path !== undefined) this.#duplicates.push(path);
      const isField = property !== undefined;
      const decoded = value === null && isField ? null : this.#decodeMember(name, isField, value, schema, literal);
      // The values of a map are decoded into new places.
      merged.set(name, isField ? mergedRepetition(merged.get(name) ?? null, decoded, schema) : decoded);
    }
    for (const [name, value] of merged) {
      if (value === null && node.properties?.has(name) === true) delete object[name];
      else setOwn(object, name, value);
    }
  }

  #decodeItems(list: Json[], node: SchemaNode): void {
    const items = node.items;
    if (items === undefined) return;
    const literals = this.#details?.literals.get(list);
    for (let index = 0; index < list.length; index++) {
      const item = list[index] as Json;
      this.#literal = literals?.get(String(index));
      const decoded = this.decode(item, items);
      if (decoded !== item) list[index] = decoded;
    }
    this.#literal = undefined;
  }

  /** Integers have neither fraction nor exponent, whatever their value is. */
  #checkInteger(value: number | bigint, node: SchemaNode): void {
    const isInteger = (node.types & INTEGER) !== 0;
    const least = node.format?.name === 'int32' ? -2147483648 : minInt64;
    const most = node.format?.name === 'int32' ? 2147483647 : maxInt64;
    if (isInteger && (this.#literal !== undefined || value < least || value > most))
      this.#save(this.#misfit(value, node));
  }

  /** A list of small numbers fits where bytes are expected. */
  #bytes(list: readonly Json[]): string {
    const literals = this.#details?.literals.get(list as Json[]);
    const bytes = list.map((item, index) => {
      if (item === null) return 0;
      const fits = typeof item === 'number' && Number.isInteger(item) && item >= 0 && item <= 255;
      if (fits && literals?.get(String(index)) === undefined) return item;
      this.#save(this.#failure(this.#misfitText(jsonType(item, true, literals?.get(String(index))), 'uint8')));
      return 0;
    });
    return Buffer.from(bytes).toString('base64');
  }

  #checkText(value: string, node: SchemaNode): void {
    const format = node.format?.name;
    if (format === 'date-time' && !isTime(value, node))
      throw this.#failure(goTimeError(value, node.definition.endsWith('.MicroTime')));
    if (format === 'byte') {
      const bad = illegalBase64(value);
      if (bad !== undefined) this.#save(this.#failure(`illegal base64 data at input byte ${bad}`));
    }
  }

  #misfit(value: Json, node: SchemaNode): StatusError {
    const isNumeric = (node.types & (INTEGER | NUMBER)) !== 0;
    return this.#failure(this.#misfitText(jsonType(value, isNumeric, this.#literal), goType(node)));
  }

  #misfitText(found: string, expected: string): string {
    const field = `${this.#reportedStruct ?? this.#struct}.${this.#path.join('.')}`;
    const type = goTypeName(this.#struct, this.#path.at(-1) ?? '', expected);
    return `json: cannot unmarshal ${found} into Go struct field ${field} of type ${type}`;
  }

  #quantity(value: Json): string {
    const text = typeof value === 'object' ? '' : (this.#literal ?? String(value));
    try {
      Quantity.parse(text.trim());
      return text;
    } catch (error) {
      if (!(error instanceof QuantityError)) throw error;
      throw this.#failure(error.message);
    }
  }

  #savedMisfit(): StatusError | undefined {
    return this.#firstMisfit;
  }

  #save(error: StatusError): void {
    this.#firstMisfit ??= error;
  }

  /** The caller adds which kind the body could not be decoded as. */
  #failure(reason: string): StatusError {
    return statusErrors.badRequest(reason);
  }
}

const minInt64 = -(2n ** 63n);
const maxInt64 = 2n ** 63n - 1n;

const textOf = (value: Json | undefined, otherwise: string): string =>
  typeof value === 'string' && value !== '' ? value : otherwise;

/** A number is quoted where numbers are expected, in its literal form. */
function jsonType(value: Json, isNumeric: boolean, literal: string | undefined): string {
  if (Array.isArray(value)) return 'array';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'number':
    case 'bigint':
      return isNumeric ? `number ${literal ?? value}` : 'number';
    default:
      return 'object';
  }
}
