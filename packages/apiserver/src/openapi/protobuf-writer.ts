/**
 * Writes the protobuf wire format (proto3: default values are omitted). The length of a nested message is written as a
 * varint of fixed width, so that the message need not be copied once its length is known.
 */
export class ProtobufWriter {
  #buffer = Buffer.allocUnsafe(4096);
  #length = 0;

  /** The encoded bytes; the writer must not be used afterwards. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  text(field: number, value: string): void {
    if (value !== '') this.element(field, value);
  }

  /** A string of a repeated field: also written when it is empty. */
  element(field: number, value: string): void {
    const size = Buffer.byteLength(value);
    this.#head(field, 2, size);
    this.#reserve(size);
    this.#length += this.#buffer.write(value, this.#length, 'utf8');
  }

  bytes(field: number, value: Buffer): void {
    this.#head(field, 2, value.length);
    this.#reserve(value.length);
    this.#length += value.copy(this.#buffer, this.#length);
  }

  boolean(field: number, value: boolean): void {
    if (value) this.#head(field, 0, 1);
  }

  /** A non-negative integer. */
  varint(field: number, value: number): void {
    if (value !== 0) this.#head(field, 0, value);
  }

  /** Also written when it is false: a member of a oneof. */
  presentBoolean(field: number, value: boolean): void {
    this.#head(field, 0, value ? 1 : 0);
  }

  double(field: number, value: number): void {
    if (value !== 0) this.presentDouble(field, value);
  }

  /** Also written when it is 0: a member of a oneof. */
  presentDouble(field: number, value: number): void {
    this.#varint(field * 8 + 1);
    this.#reserve(8);
    this.#length = this.#buffer.writeDoubleLE(value, this.#length);
  }

  message(field: number, write: () => void): void {
    this.#varint(field * 8 + 2);
    this.#reserve(lengthWidth);
    const start = this.#length;
    this.#length += lengthWidth;
    write();
    let rest = this.#length - start - lengthWidth;
    for (let i = 0; i < lengthWidth; i++) {
      const more = i < lengthWidth - 1 ? 0x80 : 0;
      this.#buffer[start + i] = (rest & 0x7f) | more;
      rest >>>= 7;
    }
  }

  #head(field: number, wireType: number, value: number): void {
    this.#varint(field * 8 + wireType);
    this.#varint(value);
  }

  #varint(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest > 0x7f) {
      this.#buffer[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.#length++] = rest;
  }

  #reserve(size: number): void {
    if (this.#length + size <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + size));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** Four bytes of varint: messages up to 256 MiB, far above the size limits of documents. */
const lengthWidth = 4;
