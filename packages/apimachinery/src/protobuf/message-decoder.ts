import { bodyLimits, maxJsonMembers, maxJsonValues, parseJson, parseJsonIncrementally } from '../json/json-codec.ts';
import { hasMoreValues, type Json, type JsonObject, setOwn } from '../json/json.ts';
import type { CompiledField, MessageType } from './message-type.ts';
import { ProtobufError } from './protobuf-error.ts';
import { type WireReader, wireBytes } from './wire-reader.ts';

/** How deep messages may nest. */
export const maxMessageDepth = 100;

const wireGroupEnd = 4;

/**
 * The JSON object that a message stands for; its fields come behind what `object` holds already. Reads up to the
 * reader's limit. Fields that the type does not know are passed over; of a field that stands twice the last value
 * counts, messages are merged. Throws {@link ProtobufError}.
 */
export function decodeMessage(type: MessageType, reader: WireReader, object: JsonObject = {}): JsonObject {
  readFields(reader, type, object);
  return object;
}

/** How much is read in one pass. */
const passBytes = 64 * 1024;

/**
 * {@link decodeMessage} in passes over some tens of kilobytes of the message. The limits are those of JSON:
 * {@link maxJsonMembers} entries of a map, {@link maxJsonValues} values.
 */
export function* decodeMessageIncrementally(
  type: MessageType,
  reader: WireReader,
  object: JsonObject = {},
): Generator<void, JsonObject> {
  reader.pauseAt = reader.position + passBytes;
  reader.maxMapEntries = maxJsonMembers;
  yield* readFieldsIncrementally(reader, type, object);
  yield;
  if (hasMoreValues(object, maxJsonValues)) throw new ProtobufError(`proto: more than ${maxJsonValues} values`);
  return object;
}

/** Messages of less than a pass are read in one go, whatever is in them; lists and maps end at {@link WireReader.pauseAt}. */
function* readFieldsIncrementally(reader: WireReader, type: MessageType, object: JsonObject): Generator<void, void> {
  while (reader.position < reader.limit) {
    if (reader.position >= reader.pauseAt) {
      yield;
      reader.pauseAt = reader.position + passBytes;
    }
    const start = reader.position;
    const wireType = reader.tag();
    const field = type.fields[reader.field];
    const isWide = wireType === wireBytes && reader.end() - reader.position >= passBytes;
    reader.position = start;
    if (field !== undefined && isWide && isDivisible(field)) yield* readWide(reader, field, object);
    else readFields(reader, type, object, true);
  }
}

const isDivisible = (field: CompiledField): boolean =>
  field.type === 'message' || (field.type === 'json' && field.shape === 'single');

/** One value of a field that is longer than a pass. */
function* readWide(reader: WireReader, field: CompiledField, object: JsonObject): Generator<void, void> {
  reader.tag();
  if (field.type === 'json') {
    keepSingle(field, object, yield* embeddedJsonIncrementally(reader.text(reader.end())));
    return;
  }
  if (field.shape === 'map') {
    const map = (object[field.name] ??= {}) as JsonObject;
    yield* readEntryIncrementally(reader, field, map);
    reader.countEntries(map, 1);
    return;
  }
  const message = field.message();
  const { conversion } = message;
  const target = conversion === undefined ? targetOf(field, object) : {};
  const outer = enter(reader);
  yield* readFieldsIncrementally(reader, message, target);
  leave(reader, outer);
  if (conversion === undefined) return;
  const value = conversion.fromMessage(target);
  if (field.shape === 'single') keepSingle(field, object, value);
  else ((object[field.name] ??= []) as Json[]).push(value ?? null);
}

function keepSingle({ name }: CompiledField, object: JsonObject, value: Json | undefined): void {
  if (value !== undefined) object[name] = value;
  else if (object[name] !== undefined) delete object[name];
}

/** {@link readEntry} of messages. */
function* readEntryIncrementally(reader: WireReader, field: CompiledField, map: JsonObject): Generator<void, void> {
  const outer = enter(reader);
  const entry: JsonObject = {};
  let key = '';
  while (reader.position < reader.limit) {
    const start = reader.position;
    const wireType = reader.tag();
    if (reader.field === 1) {
      if (wireType !== wireBytes) throw wrongWireType(field, wireType);
      key = reader.name(reader.end());
    } else if (reader.field === 2) {
      if (wireType !== wireBytes) throw wrongWireType(field, wireType);
      reader.position = start;
      delete entry['value'];
      yield* readWide(reader, { ...field, name: 'value', shape: 'single' }, entry);
    } else reader.skip(wireType);
  }
  leave(reader, outer);
  setOwn(map, key, entry['value'] ?? zeroOf(field));
}

/** The object that gets the fields of a message that is no text. */
function targetOf({ name, shape }: CompiledField, object: JsonObject): JsonObject {
  if (shape === 'inlined') return object;
  if (shape === 'single') return (object[name] ??= {}) as JsonObject;
  const item: JsonObject = {};
  ((object[name] ??= []) as Json[]).push(item);
  return item;
}

/** Reads fields into `object` up to the reader's limit, or only the next one and those of the same number behind it. */
function readFields(reader: WireReader, type: MessageType, object: JsonObject, once = false): void {
  const { fields } = type;
  while (reader.position < reader.limit) {
    const wireType = reader.tag();
    const field = fields[reader.field];
    if (field !== undefined) {
      if (field.isText && wireType === wireBytes) {
        const text = reader.text(reader.end());
        if (text !== '' || !field.dropZero) object[field.name] = text;
        else if (object[field.name] !== undefined) delete object[field.name];
      } else readField(reader, field, wireType, object);
      if (once) return;
      continue;
    }
    if (wireType === wireGroupEnd) throw new ProtobufError(`proto: ${type.name}: wiretype end group for non-group`);
    if (reader.field <= 0) {
      throw new ProtobufError(`proto: ${type.name}: illegal tag ${reader.field} (wire type ${wireType})`);
    }
    reader.skip(wireType);
    if (once) return;
  }
}

function readField(reader: WireReader, field: CompiledField, wireType: number, object: JsonObject): void {
  const { name, shape } = field;
  if (shape === 'single') {
    if (field.type === 'message') {
      readSingleMessage(reader, field, wireType, object);
      return;
    }
    const value = readScalar(reader, field, wireType);
    if (value !== undefined && !(field.dropZero && isZero(value))) object[name] = value;
    else if (object[name] !== undefined) delete object[name];
    return;
  }
  if (shape === 'repeated') {
    const list = (object[name] ??= []) as Json[];
    if (wireType === wireBytes && field.wireType !== wireBytes) readPacked(reader, field, list);
    else {
      do list.push(readValue(reader, field, wireType) ?? null);
      while (reader.position < reader.pauseAt && reader.again(field.number, wireType));
    }
    return;
  }
  if (wireType !== wireBytes) throw wrongWireType(field, wireType);
  if (shape === 'map') {
    const map = (object[name] ??= {}) as JsonObject;
    let entries = 0;
    do {
      readEntry(reader, field, map);
      entries++;
    } while (reader.position < reader.pauseAt && reader.again(field.number, wireType));
    reader.countEntries(map, entries);
  } else {
    const outer = enter(reader);
    readFields(reader, field.message(), object);
    leave(reader, outer);
  }
}

function readSingleMessage(reader: WireReader, field: CompiledField, wireType: number, object: JsonObject): void {
  if (wireType !== wireBytes) throw wrongWireType(field, wireType);
  const type = field.message();
  if (type.conversion !== undefined) {
    keepSingle(field, object, readMessage(reader, type));
    return;
  }
  const outer = enter(reader);
  readFields(reader, type, (object[field.name] ??= {}) as JsonObject);
  leave(reader, outer);
}

/** One entry of a map; an absent key or value is the zero of its type. */
function readEntry(reader: WireReader, field: CompiledField, map: JsonObject): void {
  const wrapped = field.type === 'message' && field.message().conversion?.isText === true;
  if ((wrapped || field.type === 'string') && reader.depth + 2 < maxMessageDepth && reader.textEntry(wrapped)) {
    setOwn(map, reader.key, reader.value);
    return;
  }
  const outer = enter(reader);
  let key = '';
  let value: Json | undefined;
  while (reader.position < reader.limit) {
    const wireType = reader.tag();
    if (reader.field === 1) {
      if (wireType !== wireBytes) throw wrongWireType(field, wireType);
      key = reader.name(reader.end());
    } else if (reader.field === 2) {
      value =
        field.type === 'string' && wireType === wireBytes
          ? reader.text(reader.end())
          : readValue(reader, field, wireType);
    } else {
      reader.skip(wireType);
    }
  }
  leave(reader, outer);
  setOwn(map, key, value ?? zeroOf(field));
}

function readValue(reader: WireReader, field: CompiledField, wireType: number): Json | undefined {
  if (field.type !== 'message') return readScalar(reader, field, wireType);
  if (wireType !== wireBytes) throw wrongWireType(field, wireType);
  return readMessage(reader, field.message());
}

function readMessage(reader: WireReader, type: MessageType): Json | undefined {
  const outer = enter(reader);
  const object: JsonObject = {};
  readFields(reader, type, object);
  leave(reader, outer);
  return type.conversion === undefined ? object : type.conversion.fromMessage(object);
}

function readScalar(reader: WireReader, field: CompiledField, wireType: number): Json | undefined {
  if (wireType !== field.wireType) throw wrongWireType(field, wireType);
  switch (field.type) {
    case 'string':
      return reader.text(reader.end());
    case 'bool':
      return reader.bool();
    case 'int32':
      return reader.int32();
    case 'int64':
      return reader.int64();
    case 'bytes':
      return reader.base64(reader.end());
    case 'json':
      return embeddedJson(reader.text(reader.end()));
    case 'double':
      return finite(reader.double());
    case 'message':
      return undefined;
  }
}

/** Numbers may come many in one value, whatever the schema says. */
function readPacked(reader: WireReader, field: CompiledField, list: Json[]): void {
  const outer = enter(reader);
  const wireType = field.wireType;
  while (reader.position < reader.limit) list.push(readScalar(reader, field, wireType) ?? null);
  leave(reader, outer);
}

/** Narrows the reader to the message that follows; returns the limit for {@link leave}. */
function enter(reader: WireReader): number {
  const outer = reader.limit;
  reader.limit = reader.end();
  if (++reader.depth > maxMessageDepth) throw new ProtobufError('proto: exceeded max depth');
  return outer;
}

function leave(reader: WireReader, outer: number): void {
  reader.limit = outer;
  reader.depth--;
}

const isZero = (value: Json): boolean => value === '' || value === 0 || value === false;

function zeroOf(field: CompiledField): Json {
  switch (field.type) {
    case 'string':
    case 'bytes':
      return '';
    case 'bool':
      return false;
    case 'int32':
    case 'int64':
    case 'double':
      return 0;
    case 'json':
      return null;
    case 'message': {
      const { conversion } = field.message();
      return conversion === undefined ? {} : (conversion.fromMessage({}) ?? null);
    }
  }
}

/** The JSON in a field; no bytes are no value. */
function embeddedJson(text: string): Json | undefined {
  if (text === '') return undefined;
  try {
    return parseJson(text);
  } catch (error) {
    throw new ProtobufError((error as Error).message, { cause: error });
  }
}

function* embeddedJsonIncrementally(text: string): Generator<void, Json | undefined> {
  try {
    return (yield* parseJsonIncrementally(text, false, { limits: bodyLimits })).value;
  } catch (error) {
    throw new ProtobufError((error as Error).message, { cause: error });
  }
}

/** JSON knows no other numbers. */
function finite(value: number): number {
  if (!Number.isFinite(value)) {
    const text = Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
    throw new ProtobufError(`json: unsupported value: ${text}`);
  }
  return value;
}

function wrongWireType({ name }: CompiledField, wireType: number): ProtobufError {
  return new ProtobufError(
    `proto: wrong wireType = ${wireType} for field ${name.charAt(0).toUpperCase()}${name.slice(1)}`,
  );
}
