/** A line that is longer than anything a server may send. */
export class LineTooLongError extends Error {
  override readonly name = 'LineTooLongError';
}

const newline = 0x0a;

/**
 * Cuts a stream of bytes into its lines. Keeps the unfinished line only, and at most `maxBytes` of it; whole lines are
 * views of the chunk they came in wherever they did not cross its end.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  constructor(options: { readonly maxBytes: number }) {
    this.#maxBytes = options.maxBytes;
  }

  /** True when bytes wait for their end of line. */
  get partial(): boolean {
    return this.#pendingBytes > 0;
  }

  /** The lines that end in this chunk, without their ends; empty ones are left out. Throws {@link LineTooLongError}. */
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
