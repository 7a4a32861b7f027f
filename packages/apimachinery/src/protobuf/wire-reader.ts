import { ProtobufError } from './protobuf-error.ts';

/** Wire types of a field's value. */
export const wireVarint = 0;
export const wireFixed64 = 1;
export const wireBytes = 2;
const wireGroupStart = 3;
const wireGroupEnd = 4;
const wireFixed32 = 5;

/** Texts up to this many bytes are cut out of {@link WireReader.text}'s window; a call into the engine costs more. */
const shortText = 256;
/** Names beyond this are no names that come again. */
const longestName = 64;
/** What a cut-out text can keep alive besides itself. */
const windowSize = 4096;

/** Names that were read before, each in a slot of its own few characters. */
const knownNames: string[] = Array.from({ length: 512 }, () => '');

/**
 * A cursor over the wire format of protocol buffers. Nothing is read at or behind `limit`, which the reader of a nested
 * message moves. Only requested values are allocated, so a hostile length cannot allocate memory.
 */
export class WireReader {
  position: number;
  limit: number;
  /** Lists and maps are read up to here in one go. */
  pauseAt = Infinity;
  /** Entries of one map that {@link countEntries} accepts. */
  maxMapEntries = Infinity;
  /** How deep the message that is being read lies. */
  depth = 0;
  /** Number of the field, set by {@link tag}. */
  field = 0;
  /** What {@link textEntry} has read. */
  key = '';
  value = '';
  /** Halves of the last varint, as signed 32 bits. */
  #low = 0;
  #high = 0;
  /** Entries of the maps so far, where they are limited. */
  readonly #entries = new Map<object, number>();
  readonly #bytes: Buffer;
  /** The same, for looking at many bytes at once. */
  #view: DataView | undefined;
  /** The bytes from `#windowStart` as characters; right only where they are ASCII. */
  #window = '';
  #windowStart = 0;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.position = start;
    this.limit = end;
  }

  /** Counts entries that were read into a map. Throws {@link ProtobufError} beyond {@link maxMapEntries}. */
  countEntries(map: object, count: number): void {
    if (this.maxMapEntries === Infinity) return;
    const total = (this.#entries.get(map) ?? 0) + count;
    if (total > this.maxMapEntries) throw new ProtobufError(`proto: a map has more than ${this.maxMapEntries} entries`);
    this.#entries.set(map, total);
  }

  /** Reads the head of a field: sets {@link field}, returns the wire type. */
  tag(): number {
    const { position } = this;
    const byte = position < this.limit ? (this.#bytes[position] as number) : 0x80;
    if (byte < 0x80) {
      this.position = position + 1;
      this.field = byte >>> 3;
      return byte & 7;
    }
    this.#varint();
    this.field = (this.#low >>> 3) | (this.#high << 29);
    return this.#low & 7;
  }

  /**
   * Passes over the head of the next field if it is that of the same field once more: elements of lists and maps follow
   * each other.
   */
  again(field: number, wireType: number): boolean {
    const head = (field << 3) | wireType;
    if (head > 0x7f || this.position >= this.limit || this.#bytes[this.position] !== head) return false;
    this.position++;
    return true;
  }

  int32(): number {
    this.#varint();
    return this.#low;
  }

  int64(): number | bigint {
    this.#varint();
    const high = this.#high;
    const value = high * 0x1_0000_0000 + (this.#low >>> 0);
    return Number.isSafeInteger(value) ? value : (BigInt(high) << 32n) | BigInt(this.#low >>> 0);
  }

  bool(): boolean {
    this.#varint();
    return (this.#low | this.#high) !== 0;
  }

  double(): number {
    const start = this.#advance(8);
    return this.#bytes.readDoubleLE(start);
  }

  /** Reads a length and returns where what follows ends; that is never behind the limit. */
  end(): number {
    const { position, limit } = this;
    const byte = position < limit ? (this.#bytes[position] as number) : 0x80;
    if (byte < 0x80 && byte < limit - position) {
      this.position = position + 1;
      return position + 1 + byte;
    }
    this.#varint();
    if (this.#high < 0) throw new ProtobufError('proto: negative length found during unmarshaling');
    if (this.#high !== 0 || this.#low >>> 0 > this.limit - this.position) throw unexpectedEnd();
    return this.position + (this.#low >>> 0);
  }

  /** The text up to `end`; what is not UTF-8 becomes U+FFFD. */
  text(end: number): string {
    const start = this.position;
    this.position = end;
    if (end - start > shortText) return this.#bytes.toString('utf8', start, end);
    const bytes = this.#bytes;
    let index = start;
    let bits = 0;
    const view = (this.#view ??= new DataView(bytes.buffer, bytes.byteOffset, bytes.length));
    for (; index + 7 < end; index += 8) bits |= view.getInt32(index) | view.getInt32(index + 4);
    let rest = 0;
    for (; index < end; index++) rest |= bytes[index] as number;
    if (((bits & 0x80808080) | (rest & 0x80)) !== 0) return bytes.toString('utf8', start, end);
    if (start < this.#windowStart || end - this.#windowStart > this.#window.length) {
      this.#windowStart = start;
      this.#window = bytes.toString('latin1', start, start + windowSize);
    }
    return this.#window.substring(start - this.#windowStart, end - this.#windowStart);
  }

  /**
   * {@link text} for a name in a map. The engine has to look up every text that becomes the name of a property, which
   * costs as much as all the rest; names repeat, and those that it has seen before are handed out as they were then.
   */
  name(end: number): string {
    const bytes = this.#bytes;
    const start = this.position;
    const length = end - start;
    if (length < 2 || length > longestName) return this.text(end);
    const slot =
      (length * 31 +
        (bytes[end - 1] as number) * 7 +
        (bytes[end - 2] as number) * 67 +
        (bytes[start + (length >> 1)] as number)) &
      (knownNames.length - 1);
    const known = knownNames[slot] as string;
    // Compared by bytes: a text that is not needed is not even cut out. What is known is ASCII.
    if (known.length === length) {
      let index = 0;
      while (index < length && known.charCodeAt(index) === bytes[start + index]) index++;
      if (index === length) {
        this.position = end;
        return known;
      }
    }
    const name = this.text(end);
    if (name.length === length) knownNames[slot] = name;
    return name;
  }

  /**
   * Reads one entry of a map of texts as everybody writes it, key before value, into {@link key} and {@link value}.
   * `wrapped`: the values are messages of one text each. False, and nothing is read, for an entry in any other form.
   */
  textEntry(wrapped: boolean): boolean {
    const bytes = this.#bytes;
    let at = this.position;
    let length = bytes[at++] as number;
    if (length > 0x7f) length = (length & 0x7f) | ((bytes[at++] as number) << 7);
    const end = at + length;
    const keyStart = at + 2;
    const keyLength = bytes[at + 1] as number;
    const keyEnd = keyStart + keyLength;
    if (length > 0x3fff || end > this.limit || bytes[at] !== 0x0a || keyLength > 0x7f || keyEnd >= end) return false;
    at = keyEnd + 1;
    let valueLength = bytes[at++] as number;
    if (valueLength > 0x7f) valueLength = (valueLength & 0x7f) | ((bytes[at++] as number) << 7);
    if (bytes[keyEnd] !== 0x12 || valueLength > 0x3fff || at + valueLength !== end) return false;
    if (wrapped) {
      const textLength = bytes[at + 1] as number;
      if (bytes[at] !== 0x0a || textLength > 0x7f || at + 2 + textLength !== end) return false;
      at += 2;
    }
    this.position = keyStart;
    this.key = this.name(keyEnd);
    this.position = at;
    this.value = this.text(end);
    return true;
  }

  base64(end: number): string {
    const start = this.position;
    this.position = end;
    return this.#bytes.toString('base64', start, end);
  }

  /** Passes over the value of a field that is not known; groups are passed over whole, however deep they nest. */
  skip(wireType: number): void {
    let groups = 0;
    for (;;) {
      switch (wireType) {
        case wireVarint:
          this.#varint();
          break;
        case wireFixed64:
          this.#advance(8);
          break;
        case wireBytes:
          this.position = this.end();
          break;
        case wireGroupStart:
          groups++;
          break;
        case wireGroupEnd:
          if (groups === 0) throw new ProtobufError('proto: unexpected end of group');
          groups--;
          break;
        case wireFixed32:
          this.#advance(4);
          break;
        default:
          throw new ProtobufError(`proto: illegal wireType ${wireType}`);
      }
      if (groups === 0) return;
      wireType = this.tag();
    }
  }

  #advance(count: number): number {
    const start = this.position;
    if (this.limit - start < count) throw unexpectedEnd();
    this.position = start + count;
    return start;
  }

  #varint(): void {
    const bytes = this.#bytes;
    const limit = this.limit;
    let position = this.position;
    if (position >= limit) throw unexpectedEnd();
    let byte = bytes[position++] as number;
    let low = byte & 0x7f;
    let high = 0;
    for (let shift = 7; byte > 0x7f; shift += 7) {
      if (shift >= 64) throw new ProtobufError('proto: integer overflow');
      if (position >= limit) throw unexpectedEnd();
      byte = bytes[position++] as number;
      const bits = byte & 0x7f;
      if (shift < 32) low |= bits << shift;
      if (shift === 28) high = bits >>> 4;
      else if (shift > 28) high |= bits << (shift - 32);
    }
    this.position = position;
    this.#low = low;
    this.#high = high;
  }
}

const unexpectedEnd = (): ProtobufError => new ProtobufError('unexpected EOF');
