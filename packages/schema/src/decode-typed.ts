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
  type StatusError,
} from '@multiplane/apimachinery';
import { goTypeName } from './go-type-names.ts';
import { typeBitsOf } from './schema-compiler.ts';
import { ARRAY, BOOLEAN, INTEGER, NUMBER, OBJECT, STRING, type SchemaNode } from './schema-node.ts';

/**
 * Checks that an object of a built-in kind has the JSON types that its fields demand, as decoding into a typed object
 * would; names match with their case, unknown fields are skipped. In place: null makes a field absent, and an
 * item or value of a map the zero of its type; a quantity given as a number becomes a text. Throws a StatusError 400.
 *
 * Of several errors it reports the one that Go's decoder (sigs.k8s.io/json) reports: a value that its type decodes itself,
 * such as a time or a quantity, ends decoding; of all other misfits the first is reported at the end.
 */
export function decodeTyped(object: JsonObject, node: SchemaNode): void {
  new TypedDecoder(textOf(object['kind'], 'object')).decodeWhole(object, node);
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

class TypedDecoder {
  /** Names of the fields from the root down. Items of lists and keys of maps have none, as in Go's messages. */
  readonly #path: string[] = [];
  /** Go's type of the struct that holds the value which is decoded. */
  #struct: string;
  #firstMisfit: StatusError | undefined;

  constructor(struct: string) {
    this.#struct = struct;
  }

  decodeWhole(object: JsonObject, node: SchemaNode): void {
    this.decode(object, node);
    if (this.#firstMisfit !== undefined) throw this.#firstMisfit;
  }

  /** Returns the value, or what stands for it. */
  decode(value: Json, node: SchemaNode): Json {
    if (value === null) return zeroOf(node);
    if (isQuantity(node)) {
      return this.#quantity(value);
    }
    if (node.types === 0) {
      // Without a type there is still structure to follow where the document gives some.
      if (isJsonObject(value) && node.properties !== undefined) this.#decodeFields(value, node);
      return value;
    }
    const type = typeBitsOf(value);
    if ((node.types & type) === 0 && !(type === INTEGER && (node.types & NUMBER) !== 0)) {
      const misfit = this.#misfit(value, goType(node));
      // A time decodes itself, so that its failure ends decoding.
      if (node.format?.name === 'date-time') throw misfit;
      this.#save(misfit);
      return value;
    }
    if (type === OBJECT) this.#decodeFields(value as JsonObject, node);
    else if (type === ARRAY) this.#decodeItems(value as Json[], node);
    else if (type === INTEGER) this.#checkRange(value as number | bigint, node);
    else if (type === STRING) this.#checkText(value as string, node);
    return value;
  }

  #decodeFields(object: JsonObject, node: SchemaNode): void {
    const outer = this.#struct;
    if (node.definition !== '' && this.#path.length > 0)
      this.#struct = node.definition.slice(node.definition.lastIndexOf('.') + 1);
    for (const name of Object.keys(object)) {
      const property = node.properties?.get(name);
      const schema = property ?? node.additional;
      if (schema === undefined) continue;
      const child = object[name] as Json;
      if (child === null && property !== undefined) {
        delete object[name];
        continue;
      }
      if (property !== undefined) this.#path.push(name);
      const decoded = this.decode(child, schema);
      if (property !== undefined) this.#path.pop();
      if (decoded !== child) setOwn(object, name, decoded);
    }
    this.#struct = outer;
  }

  #decodeItems(list: Json[], node: SchemaNode): void {
    const items = node.items;
    if (items === undefined) return;
    for (let index = 0; index < list.length; index++) {
      const item = list[index] as Json;
      const decoded = this.decode(item, items);
      if (decoded !== item) list[index] = decoded;
    }
  }

  #checkRange(value: number | bigint, node: SchemaNode): void {
    if (node.format?.name === 'int32' && (value < -2147483648 || value > 2147483647)) {
      this.#save(this.#misfit(value, 'int32', `number ${value}`));
    }
  }

  #checkText(value: string, node: SchemaNode): void {
    const format = node.format?.name;
    if (format === 'date-time' && node.format?.check?.(value) !== true) {
      throw this.#failure(goTimeError(value, node.definition.endsWith('.MicroTime')));
    }
    if (format === 'byte') {
      const bad = illegalBase64(value);
      if (bad !== undefined) this.#save(this.#failure(`illegal base64 data at input byte ${bad}`));
    }
  }

  #misfit(value: Json, expected: string, found = jsonType(value)): StatusError {
    const field = `${this.#struct}.${this.#path.join('.')}`;
    const type = goTypeName(this.#struct, this.#path.at(-1) ?? '', expected);
    return this.#failure(`json: cannot unmarshal ${found} into Go struct field ${field} of type ${type}`);
  }

  #quantity(value: Json): string {
    const text = typeof value === 'object' ? '' : String(value);
    try {
      Quantity.parse(text.trim());
      return text;
    } catch (error) {
      if (!(error instanceof QuantityError)) throw error;
      throw this.#failure(error.message);
    }
  }

  #save(error: StatusError): void {
    this.#firstMisfit ??= error;
  }

  /** The caller adds which kind the body could not be decoded as. */
  #failure(reason: string): StatusError {
    return statusErrors.badRequest(reason);
  }
}

const textOf = (value: Json | undefined, otherwise: string): string =>
  typeof value === 'string' && value !== '' ? value : otherwise;

const isQuantity = (node: SchemaNode): boolean => node.definition.endsWith('.Quantity');

function zeroOf(node: SchemaNode): Json {
  if (node.preserve || node.types === 0) return null;
  if ((node.types & INTEGER) !== 0 || (node.types & NUMBER) !== 0) return 0;
  if ((node.types & STRING) !== 0) return node.format?.name === 'date-time' ? null : '';
  if ((node.types & BOOLEAN) !== 0) return false;
  return (node.types & OBJECT) !== 0 && node.properties !== undefined ? {} : null;
}

function jsonType(value: Json): string {
  if (Array.isArray(value)) return 'array';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'number':
    case 'bigint':
      return Number.isInteger(Number(value)) ? 'number' : `number ${value}`;
    default:
      return 'object';
  }
}

function goType(node: SchemaNode): string {
  // Times decode themselves, from a text.
  if (node.format?.name === 'date-time') return 'string';
  if (node.definition !== '') {
    const [version, name] = node.definition.split('.').slice(-2);
    return `${version}.${name}`;
  }
  if (node.types === (INTEGER | STRING)) return 'intstr.IntOrString';
  if ((node.types & STRING) !== 0) return node.format?.name === 'byte' ? '[]uint8' : 'string';
  if ((node.types & INTEGER) !== 0) return node.format?.name ?? 'int64';
  if ((node.types & NUMBER) !== 0) return 'float64';
  if ((node.types & BOOLEAN) !== 0) return 'bool';
  if ((node.types & ARRAY) !== 0) return `[]${node.items === undefined ? 'interface {}' : goType(node.items)}`;
  return node.additional === undefined ? 'map[string]interface {}' : `map[string]${goType(node.additional)}`;
}

/** Position of the first byte that standard, padded base64 does not allow; line breaks are skipped. */
function illegalBase64(text: string): number | undefined {
  let digits = 0;
  let padding = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 10 || code === 13) continue;
    if (code === 61) {
      padding++;
      if ((digits & 3) < 2 || (digits & 3) + padding > 4) return index;
      continue;
    }
    const letter =
      (code >= 65 && code <= 90) ||
      (code >= 97 && code <= 122) ||
      (code >= 48 && code <= 57) ||
      code === 43 ||
      code === 47;
    if (!letter || padding > 0) return index;
    digits++;
  }
  const rest = digits & 3;
  if (padding === 0) return rest === 0 ? undefined : text.length;
  return rest + padding === 4 && rest >= 2 ? undefined : text.length;
}
