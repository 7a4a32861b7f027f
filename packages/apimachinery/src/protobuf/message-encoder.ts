import { compareTexts, sortIncrementally } from '../async/sort-incrementally.ts';
import { encodeJson } from '../json/json-codec.ts';
import { type Json, type JsonObject, isJsonObject } from '../json/json.ts';
import type { CompiledField, MessageType } from './message-type.ts';
import { WireWriter } from './wire-writer.ts';

/**
 * The message of a JSON object, byte for byte as Kubernetes writes it: fields by their numbers, those that are no
 * pointers also when they are zero, maps by their keys. What a message cannot say is left out: fields that it does not
 * know, values of another type than its own (custom resources may hold both).
 */
export function encodeMessage(type: MessageType, object: Readonly<JsonObject>, expectedBytes?: number): Buffer {
  const writer = new WireWriter(expectedBytes);
  writeMessage(writer, type, object);
  return writer.finish();
}

/** How much is written in one pass. */
const passBytes = 64 * 1024;
/** Resuming nested generators costs as much as they are deep. */
const maxSteppedDepth = 16;

/** {@link encodeMessage} in passes; one JSON text is a pass of its own length. */
export function* encodeMessageIncrementally(
  type: MessageType,
  object: Readonly<JsonObject>,
  expectedBytes?: number,
): Generator<void, Buffer> {
  const writer = new WireWriter(expectedBytes);
  yield* writeIncrementally(writer, type, object, { pauseAt: passBytes, depth: 0 });
  return writer.finish();
}

function* writeIncrementally(
  writer: WireWriter,
  type: MessageType,
  object: Readonly<JsonObject>,
  pass: { pauseAt: number; readonly depth: number },
): Generator<void, void> {
  for (const field of type.reversed) {
    const value = field.shape === 'inlined' ? (object as JsonObject) : object[field.name];
    const message = field.type === 'message' && field.shape !== 'map' ? field.message() : undefined;
    const isNested = message !== undefined && message.conversion === undefined && pass.depth < maxSteppedDepth;
    if (isNested && typeof value === 'object' && value !== null) {
      const items = field.shape === 'repeated' ? value : [value];
      if (!Array.isArray(items)) continue;
      for (const item of items.toReversed()) {
        const before = writer.length;
        if (isJsonObject(item)) {
          const inner = { pauseAt: pass.pauseAt, depth: pass.depth + 1 };
          yield* writeIncrementally(writer, message, item, inner);
          pass.pauseAt = inner.pauseAt;
          writer.delimit(field.number, before);
        } else if (field.always || field.shape === 'repeated') writeValueZero(writer, field, field.number);
      }
    } else if (field.shape === 'map' && isJsonObject(value)) {
      yield* writeMapIncrementally(writer, field, value, pass);
    } else writeMember(writer, field, value);
    if (writer.length < pass.pauseAt) continue;
    yield;
    pass.pauseAt = writer.length + passBytes;
  }
}

/** Writes the fields of a message in front of what was written before. */
export function writeMessage(writer: WireWriter, { reversed }: MessageType, object: Readonly<JsonObject>): void {
  for (let index = 0; index < reversed.length; index++) {
    const field = reversed[index] as CompiledField;
    writeMember(writer, field, field.shape === 'inlined' ? object : object[field.name]);
  }
}

function writeMember(writer: WireWriter, field: CompiledField, value: Json | undefined): void {
  if (field.isText) {
    if (typeof value === 'string') writeText(writer, field.number, value);
    else if (field.always) writeText(writer, field.number, '');
  } else if (value !== undefined && value !== null) {
    writeField(writer, field, value);
  } else if (field.always) {
    writeZero(writer, field);
  }
}

/** A string field. */
export function writeText(writer: WireWriter, number: number, text: string): void {
  const before = writer.length;
  writer.text(text);
  writer.delimit(number, before);
}

function writeField(writer: WireWriter, field: CompiledField, value: Json): void {
  switch (field.shape) {
    case 'single':
      if (!writeValue(writer, field, field.number, value) && field.always) writeZero(writer, field);
      return;
    case 'inlined': {
      const before = writer.length;
      writeMessage(writer, field.message(), value as JsonObject);
      writer.delimit(field.number, before);
      return;
    }
    case 'repeated':
      if (!Array.isArray(value)) return;
      for (let index = value.length - 1; index >= 0; index--)
        if (!writeValue(writer, field, field.number, value[index] as Json)) writeValueZero(writer, field, field.number);
      return;
    case 'map':
      if (isJsonObject(value)) writeMap(writer, field, value);
  }
}

/** The entries of a map, sorted by key. */
export function writeMap(writer: WireWriter, field: CompiledField, map: JsonObject): void {
  const keys = Object.keys(map);
  if (keys.length > 1) keys.sort();
  for (let index = keys.length - 1; index >= 0; index--) {
    writeEntry(writer, field, keys[index] as string, map);
  }
}

/** Entries that {@link writeMapIncrementally} begins with at once. */
const fewEntries = 2_000;

/** {@link writeMap} in passes. */
function* writeMapIncrementally(
  writer: WireWriter,
  field: CompiledField,
  map: JsonObject,
  pass: { pauseAt: number },
): Generator<void, void> {
  const keys = Object.keys(map);
  if (keys.length > fewEntries) yield;
  const sorted = yield* sortIncrementally(keys, compareTexts);
  for (let index = sorted.length - 1; index >= 0; index--) {
    writeEntry(writer, field, sorted[index] as string, map);
    if (writer.length < pass.pauseAt) continue;
    yield;
    pass.pauseAt = writer.length + passBytes;
  }
}

function writeEntry(writer: WireWriter, field: CompiledField, key: string, map: JsonObject): void {
  const before = writer.length;
  if (!writeValue(writer, field, 2, map[key] as Json)) writeValueZero(writer, field, 2);
  writeText(writer, 1, key);
  writer.delimit(field.number, before);
}

/** One value under a number; false: it is of another type, and nothing was written. */
export function writeValue(writer: WireWriter, field: CompiledField, number: number, value: Json): boolean {
  const before = writer.length;
  switch (field.type) {
    case 'string':
      if (typeof value !== 'string') return false;
      writer.text(value);
      break;
    case 'bytes':
      if (typeof value !== 'string') return false;
      writer.base64(value);
      break;
    case 'json':
      writer.text(encodeJson(value));
      break;
    case 'bool':
      if (typeof value !== 'boolean') return false;
      writer.uint(value ? 1 : 0);
      writer.tag(number, field.wireType);
      return true;
    case 'int32':
    case 'int64':
      if (typeof value !== 'bigint' && !(typeof value === 'number' && Number.isInteger(value))) return false;
      writer.int(value);
      writer.tag(number, field.wireType);
      return true;
    case 'double':
      if (typeof value !== 'number' && typeof value !== 'bigint') return false;
      writer.double(Number(value));
      writer.tag(number, field.wireType);
      return true;
    case 'message': {
      const type = field.message();
      const object = type.conversion === undefined ? value : type.conversion.toMessage(value);
      if (object === undefined) break;
      if (!isJsonObject(object)) return false;
      writeMessage(writer, type, object);
      break;
    }
  }
  writer.delimit(number, before);
  return true;
}

/** The zero value of a field that is never absent. */
function writeZero(writer: WireWriter, field: CompiledField): void {
  writeValueZero(writer, field, field.number);
}

/** The zero value under a number: of a field that is never absent, or of an item that has another type. */
export function writeValueZero(writer: WireWriter, field: CompiledField, number: number): void {
  const before = writer.length;
  if (field.type === 'message') {
    const type = field.message();
    const object = type.conversion === undefined ? {} : type.conversion.toMessage(undefined);
    if (object !== undefined) writeMessage(writer, type, object);
  } else if (field.type === 'double') {
    writer.double(0);
    writer.tag(number, field.wireType);
    return;
  } else if (field.wireType === 0) {
    writer.uint(0);
    writer.tag(number, field.wireType);
    return;
  }
  writer.delimit(number, before);
}
