import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import type { ProtobufWriter } from './protobuf-writer.ts';

/* Shared by the protobuf forms of OpenAPI v2 and v3: gnostic's encoding of maps, extensions and values. */

/** Encodes a value as a field. */
export type WriteValue = (writer: ProtobufWriter, field: number, value: Json) => void;

/** Fields of a message by their JSON names: number and encoder. */
export type FieldTable = Readonly<Record<string, readonly [number, WriteValue]>>;

/** Writes the members of an object that the table contains, in their order, then its extensions. */
export function writeFields(writer: ProtobufWriter, table: FieldTable, extensions: number, object: JsonObject): void {
  for (const key of Object.keys(object)) {
    const known = Object.hasOwn(table, key) ? table[key] : undefined;
    if (known !== undefined) known[1](writer, known[0], object[key] as Json);
  }
  writeExtensions(writer, extensions, object);
}

/** Writes each item of a list as a field. */
export const writeEach =
  (write: WriteValue): WriteValue =>
  (writer, field, value) => {
    for (const item of listOf(value)) write(writer, field, item);
  };

/** Writes `additionalProperties`: a schema, or a boolean. */
export const writeSchemaOrFlag =
  (writeSchema: WriteValue): WriteValue =>
  (writer, field, value) =>
    writer.message(field, () =>
      typeof value === 'boolean' ? writer.boolean(2, value) : writeSchema(writer, 1, value),
    );

/** Writes a map as gnostic's pairs of name and message. */
export function writeNamed(writer: ProtobufWriter, field: number, map: Json, write: WriteValue): void {
  if (!isJsonObject(map)) return;
  for (const name of Object.keys(map)) {
    writer.message(field, () => {
      writer.text(1, name);
      write(writer, 2, map[name] as Json);
    });
  }
}

export function writeExtensions(writer: ProtobufWriter, field: number, object: JsonObject): void {
  for (const name of Object.keys(object)) {
    if (!name.startsWith('x-')) continue;
    writer.message(field, () => {
      writer.text(1, name);
      writeAny(writer, 2, object[name] as Json);
    });
  }
}

/** Writes any value as YAML, of which JSON is a subset. */
export function writeAny(writer: ProtobufWriter, field: number, value: Json): void {
  writer.message(field, () => writer.text(2, JSON.stringify(value)));
}

export function writeText(writer: ProtobufWriter, field: number, value: Json): void {
  if (typeof value === 'string') writer.text(field, value);
}
export function writeTexts(writer: ProtobufWriter, field: number, value: Json | undefined): void {
  for (const item of listOf(value)) if (typeof item === 'string') writer.element(field, item);
}
export function writeFlag(writer: ProtobufWriter, field: number, value: Json): void {
  writer.boolean(field, value === true);
}
export function writeCount(writer: ProtobufWriter, field: number, value: Json): void {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) writer.varint(field, value);
}
export function writeDouble(writer: ProtobufWriter, field: number, value: Json): void {
  if (typeof value === 'number' || typeof value === 'bigint') writer.double(field, Number(value));
}

/** The items of a list; none for other values. */
export const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
