/** Before each message: a byte that tells whether it is compressed, and its length. */
const headBytes = 5;

/** Frames a message (gRPC over HTTP/2, Length-Prefixed-Message). */
export function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, headBytes);
  return frame;
}

/** Joins the messages of a stream, whatever chunks they arrive in. */
export class FrameReader {
  readonly #take: (message: Buffer) => void;
  #chunks: Buffer[] = [];
  #length = 0;

  /** The memory of a message may be shared with those that arrived with it. */
  constructor(take: (message: Buffer) => void) {
    this.#take = take;
  }

  /** True when a message is incomplete. */
  get isPartial(): boolean {
    return this.#length > 0;
  }

  /** Throws for data that is no uncompressed gRPC message, and what `take` throws. */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#wanted()) return;
    let bytes = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    for (;;) {
      this.#chunks = bytes.length === 0 ? [] : [bytes];
      this.#length = bytes.length;
      const end = this.#wanted();
      if (bytes.length < end) return;
      const message = bytes.subarray(headBytes, end);
      bytes = bytes.subarray(end);
      this.#take(message);
    }
  }

  /** Bytes up to the end of the next message, or of its head while that is incomplete. */
  #wanted(): number {
    if (this.#length < headBytes) return headBytes;
    let head = this.#chunks[0] as Buffer;
    if (head.length < headBytes) {
      head = Buffer.concat(this.#chunks);
      this.#chunks = [head];
    }
    // The client accepts no compression.
    if (head[0] !== 0) throw new Error('13 INTERNAL: the response is not a gRPC message');
    return headBytes + head.readUInt32BE(1);
  }
}
