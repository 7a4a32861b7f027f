/** Encodes into a growing buffer; {@link take} removes the encoded bytes. Integers are LEB128. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafeSlow(1 << 16);
  #at = 0;
  #before = 0;

  /** Number of bytes written so far, including those that were taken. */
  get length(): number {
    return this.#before + this.#at;
  }

  /** Number of bytes that were not taken yet. */
  get pending(): number {
    return this.#at;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
  }

  /** A non-negative safe integer. */
  number(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#at++] = (rest % 0x80) | 0x80;
      rest = Math.trunc(rest / 0x80);
    }
    this.#bytes[this.#at++] = rest;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** The length in bytes, then the UTF-8 bytes. */
  text(value: string): void {
    const length = Buffer.byteLength(value);
    this.number(length);
    this.#reserve(length);
    this.#at += this.#bytes.write(value, this.#at);
  }

  bytes(value: Buffer): void {
    this.#reserve(value.length);
    value.copy(this.#bytes, this.#at);
    this.#at += value.length;
  }

  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#at));
    this.#before += this.#at;
    this.#at = 0;
    return taken;
  }

  #reserve(wanted: number): void {
    if (this.#at + wanted <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#at + wanted));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

/** Decodes what a {@link ByteWriter} has encoded. The caller has verified the checksum, so bounds are not checked. */
export class ByteReader {
  at: number;
  readonly bytes: Buffer;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  byte(): number {
    return this.bytes[this.at++] as number;
  }

  number(): number {
    const { bytes } = this;
    let byte = bytes[this.at++] as number;
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let scale = 0x80; ; scale *= 0x80) {
      byte = bytes[this.at++] as number;
      if (!(byte >= 0x80)) return value + byte * scale;
      value += (byte & 0x7f) * scale;
    }
  }

  double(): number {
    const value = this.bytes.readDoubleLE(this.at);
    this.at += 8;
    return value;
  }

  text(): string {
    const length = this.number();
    const value = this.bytes.toString('utf8', this.at, this.at + length);
    this.at += length;
    return value;
  }

  take(length: number): Buffer {
    const value = this.bytes.subarray(this.at, this.at + length);
    this.at += length;
    return value;
  }
}
