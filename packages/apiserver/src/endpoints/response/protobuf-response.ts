import {
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  WireWriter,
  protobufEnvelopeHead,
} from '@multiplane/apimachinery';
import {
  encodeProtobufIncrementally,
  encodeProtobufMessage,
  encodeProtobufMessageIncrementally,
  encodeProtobufObject,
  protobufEnvelope,
} from '@multiplane/apis';
import type { Transform } from '@multiplane/generic-server';

const metaVersion = 'meta.k8s.io/v1';

/** An object, or its metadata only, in a protobuf envelope. `expectedBytes`: the approximate length. */
export function protobufObject(
  object: DeepReadonly<KubeObject>,
  transform: Transform | undefined,
  expectedBytes?: number,
): Buffer {
  if (transform === undefined) return encodeProtobufObject(object as unknown as JsonObject, expectedBytes);
  // v1 and v1beta1 have the same messages.
  return protobufEnvelope(`meta.k8s.io/${transform.version}`, 'PartialObjectMetadata', partialMessage(object));
}

/** {@link protobufObject} in passes. */
export function* protobufIncrementally(
  object: DeepReadonly<KubeObject>,
  transform: Transform | undefined,
  expectedBytes?: number,
): Generator<void, Buffer> {
  if (transform === undefined)
    return yield* encodeProtobufIncrementally(object as unknown as JsonObject, expectedBytes);
  const message = yield* partialMessageIncrementally(object);
  return protobufEnvelope(`meta.k8s.io/${transform.version}`, 'PartialObjectMetadata', message);
}

/** The message of PartialObjectMetadata without envelope, as an item of a list. */
export function partialMessage({ metadata }: DeepReadonly<KubeObject>): Buffer {
  return encodeProtobufMessage(metaVersion, 'PartialObjectMetadata', { metadata });
}

/** {@link partialMessage} in passes. */
export const partialMessageIncrementally = ({ metadata }: DeepReadonly<KubeObject>): Generator<void, Buffer> =>
  encodeProtobufMessageIncrementally(metaVersion, 'PartialObjectMetadata', { metadata });

/**
 * The bytes before the items of a list: envelope and metadata. `itemBytes` is the length of all items with their heads,
 * because the envelope contains the length of the whole message.
 */
export function protobufListHead(
  apiVersion: string,
  listKind: string,
  metadata: DeepReadonly<JsonObject>,
  itemBytes: number,
): Buffer {
  const message = encodeProtobufMessage(metaVersion, 'ListMeta', metadata);
  const writer = new WireWriter(message.length + 8);
  writer.bytes(message);
  writer.delimit(1, 0);
  const head = writer.finish();
  return Buffer.concat([protobufEnvelopeHead(apiVersion, listKind, head.length + itemBytes), head]);
}

/** A watch event: its length in four bytes, then a WatchEvent without envelope that contains an object with envelope. */
export function protobufWatchFrame(type: string, object: Buffer): Buffer {
  const writer = new WireWriter(object.length + type.length + 24);
  writer.bytes(object);
  writer.delimit(1, 0);
  writer.delimit(2, 0);
  const before = writer.length;
  writer.text(type);
  writer.delimit(1, before);
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(writer.length);
  return Buffer.concat([length, writer.finish()]);
}
