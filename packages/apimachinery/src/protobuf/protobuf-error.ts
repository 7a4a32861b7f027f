/** Bytes that do not decode as the expected message. Clients see the text, which is that of Go's decoders. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';
}
