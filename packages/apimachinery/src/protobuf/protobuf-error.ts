/** Bytes that are no message of the expected type. The text is what a client is told, in the words of Go's decoders. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';
}
