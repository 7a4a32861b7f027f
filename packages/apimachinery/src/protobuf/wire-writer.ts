/** Texts up to so many characters are written one by one while they are ASCII; a call into the engine costs more. */
const smallText = 96;
/** The same for slices. */
const smallSlice = 48;

/**
 * Writes the wire format of protocol buffers from the end to the beginning: what a message contains is there before its
 * length is written, so nothing is measured twice. Callers write the fields of a message in reverse.
 */
export class WireWriter {
  #bytes: Buffer;
  /** Where what was written begins. */
  #start: number;

  /** `expected`: about how many bytes there will be. */
  constructor(expected = 512) {
    this.#bytes = Buffer.allocUnsafe(expected);
    this.#start = expected;
  }

  /** Bytes written so far; a place to measure from. */
  get length(): number {
    return this.#bytes.length - this.#start;
  }

  /** What was written. Belongs to the caller; the writer is not used afterwards. */
  finish(): Buffer {
    const { length } = this;
    // A short message in a long buffer would keep all of it.
    return length * 2 < this.#bytes.length
      ? Buffer.from(this.#bytes.subarray(this.#start))
      : this.#bytes.subarray(this.#start);
  }

  /** A copy of what was written since the writer had this {@link length}. */
  since(before: number): Buffer {
    return Buffer.from(this.#bytes.subarray(this.#start, this.#bytes.length - before));
  }

  /** Number of a field below 2^28 and the wire type of its value. */
  tag(field: number, wireType: number): void {
    this.uint((field << 3) | wireType);
  }

  /** The head of something that was written since `before`: its length, then its tag. */
  delimit(field: number, before: number): void {
    const length = this.length - before;
    // Most are this short.
    if (length < 0x80 && field < 0x10) {
      this.#reserve(2);
      this.#bytes[--this.#start] = length;
      this.#bytes[--this.#start] = (field << 3) | 2;
      return;
    }
    this.uint(length);
    this.tag(field, 2);
  }

  /** A whole number from 0 to 2^53. */
  uint(value: number): void {
    if (value < 0x80) {
      this.#reserve(1);
      this.#bytes[--this.#start] = value;
      return;
    }
    let size = 1;
    for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
    this.#reserve(size);
    let at = (this.#start -= size);
    while (value >= 0x80) {
      this.#bytes[at++] = (value % 0x80) | 0x80;
      value = Math.floor(value / 0x80);
    }
    this.#bytes[at] = value;
  }

  /** Any whole number; negative ones take ten bytes, those beyond 64 bits lose what is above. */
  int(value: number | bigint): void {
    if (typeof value === 'number' && value >= 0) {
      this.uint(value);
      return;
    }
    let rest = BigInt.asUintN(64, BigInt(value));
    const groups: number[] = [];
    do {
      groups.push(Number(rest & 0x7fn));
      rest >>= 7n;
    } while (rest > 0n);
    this.#reserve(groups.length);
    const last = groups.length - 1;
    for (let index = last; index >= 0; index--)
      this.#bytes[--this.#start] = (groups[index] as number) | (index === last ? 0 : 0x80);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#start -= 8;
    this.#bytes.writeDoubleLE(value, this.#start);
  }

  /** The bytes of a text, without its length. */
  text(value: string): void {
    const { length } = value;
    if (length <= smallText) {
      this.#reserve(length);
      const bytes = this.#bytes;
      let at = this.#start;
      let index = length;
      while (index > 0) {
        const code = value.charCodeAt(--index);
        if (code > 0x7f) break;
        bytes[--at] = code;
        if (index === 0) {
          this.#start = at;
          return;
        }
      }
      if (length === 0) return;
    }
    const size = Buffer.byteLength(value);
    this.#reserve(size);
    this.#start -= size;
    this.#bytes.write(value, this.#start, size);
  }

  /** The bytes that a base64 text stands for, without their length. */
  base64(value: string): void {
    const decoded = Buffer.from(value, 'base64');
    this.bytes(decoded);
  }

  bytes(value: Buffer): void {
    this.#reserve(value.length);
    this.#start -= value.length;
    value.copy(this.#bytes, this.#start);
  }

  /** A part of a buffer, without its length. */
  slice(source: Buffer, start: number, end: number): void {
    const size = end - start;
    this.#reserve(size);
    let at = (this.#start -= size);
    if (size > smallSlice) {
      source.copy(this.#bytes, at, start, end);
      return;
    }
    const bytes = this.#bytes;
    for (let index = start; index < end; index++) bytes[at++] = source[index] as number;
  }

  #reserve(size: number): void {
    if (this.#start >= size) return;
    const { length } = this;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, length + size));
    const start = grown.length - length;
    this.#bytes.copy(grown, start, this.#start);
    this.#bytes = grown;
    this.#start = start;
  }
}
