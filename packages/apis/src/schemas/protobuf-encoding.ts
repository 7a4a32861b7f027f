import {
  JsonTranscoder,
  type WireWriter,
  encodeMessage,
  encodeMessageIncrementally,
  protobufEnvelopeHead,
  protobufEnvelopeTail,
  type DeepReadonly,
  type JsonObject,
  type MessageType,
} from '@multiplane/apimachinery';
import { protobufMessageOf } from './protobuf-messages.ts';

/** Its memory is used within one call. Allocated for the first one: many processes never need it. */
let transcoder: JsonTranscoder | undefined;

/**
 * Writes the bare message of an object that is encoded as JSON, without parsing it, with this
 * resourceVersion. False: nothing was written; the text has to
 * be parsed.
 */
export function transcodeProtobufMessage(
  writer: WireWriter,
  apiVersion: string,
  kind: string,
  json: Buffer,
  resourceVersion?: string,
): boolean {
  const type = protobufMessageOf(apiVersion, kind);
  if (type === undefined) return false;
  transcoder ??= new JsonTranscoder();
  return transcoder.write(writer, type, json, resourceVersion);
}

/** The bare message of an object, as items of lists carry it. Throws a TypeError for a kind that has none. */
export function encodeProtobufMessage(
  apiVersion: string,
  kind: string,
  object: DeepReadonly<JsonObject>,
  expectedBytes?: number,
): Buffer {
  return encodeMessage(knownType(apiVersion, kind), object as JsonObject, expectedBytes);
}

/** {@link encodeProtobufMessage} in passes. */
export function* encodeProtobufMessageIncrementally(
  apiVersion: string,
  kind: string,
  object: DeepReadonly<JsonObject>,
  expectedBytes?: number,
): Generator<void, Buffer> {
  return yield* encodeMessageIncrementally(knownType(apiVersion, kind), object as JsonObject, expectedBytes);
}

function knownType(apiVersion: string, kind: string): MessageType {
  const type = protobufMessageOf(apiVersion, kind);
  if (type === undefined) throw new TypeError(`no message for ${apiVersion}/${kind}`);
  return type;
}

/** A message in its envelope. */
export function protobufEnvelope(apiVersion: string, kind: string, message: Buffer): Buffer {
  return Buffer.concat([protobufEnvelopeHead(apiVersion, kind, message.length), message, protobufEnvelopeTail]);
}

/** The object in the envelope that its `apiVersion` and `kind` name. */
export function encodeProtobufObject(object: DeepReadonly<JsonObject>, expectedBytes?: number): Buffer {
  const [apiVersion, kind] = identityOf(object);
  return protobufEnvelope(apiVersion, kind, encodeProtobufMessage(apiVersion, kind, object, expectedBytes));
}

/** {@link encodeProtobufObject} in passes. */
export function* encodeProtobufIncrementally(
  object: DeepReadonly<JsonObject>,
  expectedBytes?: number,
): Generator<void, Buffer> {
  const [apiVersion, kind] = identityOf(object);
  const message = yield* encodeProtobufMessageIncrementally(apiVersion, kind, object, expectedBytes);
  return protobufEnvelope(apiVersion, kind, message);
}

/** Discovery of the core group is older than the rule that every object says its version. */
const identityOf = (object: DeepReadonly<JsonObject>): [apiVersion: string, kind: string] => [
  (object['apiVersion'] as string | undefined) ?? 'v1',
  object['kind'] as string,
];
