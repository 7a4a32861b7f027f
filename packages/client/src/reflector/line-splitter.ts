/** A line exceeds the limit. */
export class LineTooLongError extends Error {
  override readonly name = 'LineTooLongError';
}

const newline = 0x0a;

/**
 * Splits a byte stream into lines. Buffers only the incomplete line, up to `maxBytes`; a line within one chunk is a view of
 * that chunk.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  constructor(options: { readonly maxBytes: number }) {
    this.#maxBytes = options.maxBytes;
  }

  /** True while an incomplete line is buffered. */
  get partial(): boolean {
    return this.#pendingBytes > 0;
  }

  /** The lines that end in this chunk, without newlines and empty lines. Throws {@link LineTooLongError}. */
  *push(chunk: Buffer): Generator<Buffer, void, undefined> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const part = chunk.subarray(start, end);
      start = end + 1;
      const line = this.#pendingBytes === 0 ? part : this.#join(part);
      if (line.length > 0) yield line;
    }
    const rest = chunk.subarray(start);
    if (rest.length === 0) return;
    this.#pending.push(rest);
    this.#pendingBytes += rest.length;
    if (this.#pendingBytes > this.#maxBytes)
      throw new LineTooLongError(`a line of a watch is longer than ${this.#maxBytes} bytes`);
  }

  #join(last: Buffer): Buffer {
    const line = Buffer.concat([...this.#pending, last]);
    this.#pending = [];
    this.#pendingBytes = 0;
    return line;
  }
}
