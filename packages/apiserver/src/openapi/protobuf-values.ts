import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import type { ProtobufWriter } from './protobuf-writer.ts';

/*
 * What the protobuf forms of OpenAPI v2 and v3 have in common: gnostic's way of writing maps, extensions and values.
 */

/** How a value becomes a field. */
export type WriteValue = (writer: ProtobufWriter, field: number, value: Json) => void;

/** A map of gnostic's: pairs of a name and a message. */
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

/** Any value, as YAML; JSON is YAML. */
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

/** The items of a list; of anything else none. */
export const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
