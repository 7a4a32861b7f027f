import {
  decodeMessage,
  decodeMessageIncrementally,
  ProtobufError,
  readProtobufEnvelope,
  type JsonObject,
  type MessageType,
  type WireReader,
} from '@multiplane/apimachinery';
import { protobufMessageOf } from './protobuf-messages.ts';

/**
 * The object in the message of a kind, as a JSON client would have sent it; `apiVersion` and `kind` come first.
 * Throws {@link ProtobufError}, also for a kind that has no message.
 */
export function decodeProtobufMessage(apiVersion: string, kind: string, message: WireReader): JsonObject {
  return decodeMessage(knownType(apiVersion, kind), message, { kind, apiVersion });
}

/** {@link decodeProtobufMessage} in passes. */
export function* decodeProtobufIncrementally(
  apiVersion: string,
  kind: string,
  message: WireReader,
): Generator<void, JsonObject> {
  return yield* decodeMessageIncrementally(knownType(apiVersion, kind), message, { kind, apiVersion });
}

function knownType(apiVersion: string, kind: string): MessageType {
  const type = protobufMessageOf(apiVersion, kind);
  if (type === undefined) {
    // What upstream says of objects that it knows by a schema only.
    throw new ProtobufError(
      'object *unstructured.Unstructured does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message',
    );
  }
  return type;
}

/** The object in a body, whose envelope must name its kind. Throws {@link ProtobufError}. */
export function decodeProtobufObject(body: Buffer): JsonObject {
  const { apiVersion, kind, message } = readProtobufEnvelope(body);
  return decodeProtobufMessage(apiVersion, kind, message);
}
