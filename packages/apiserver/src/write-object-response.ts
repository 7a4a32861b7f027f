import type { JsonObject } from '@multiplane/apimachinery';
import { encodeProtobufObject } from '@multiplane/apis';
import { encodeObject, writeBytes, type Negotiated, type ResponseTarget } from '@multiplane/generic-server';

/**
 * Responds with an object that is encoded for this response: JSON like Go's encoder, followed by a newline unless
 * indented; YAML with sorted keys; protobuf in its envelope. Stored objects are sent as bytes instead (`writeBytes`).
 */
export function writeObject(target: ResponseTarget, status: number, object: object, negotiated: Negotiated): void {
  const body =
    negotiated.encoding === 'protobuf' ? encodeProtobufObject(object as JsonObject) : encodeObject(object, negotiated);
  writeBytes(target, status, negotiated.mediaType, body);
}
