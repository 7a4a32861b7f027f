import { itemOffset, revisionOffset, revisionText } from './stored-layout.ts';

export interface ChunkSink {
  /** Takes the bytes of a buffer. */
  push(bytes: Buffer, start: number, end: number): void;
  /** Takes an ASCII text. */
  pushText(text: string): void;
  /** Takes one byte. */
  pushByte(byte: number): void;
}

/** Upper bound of the bytes that {@link pushListItem} and a comma add to the stored bytes. */
export const addedBytes = 64;

/** A sink with a fixed capacity in bytes. */
export class BufferSink implements ChunkSink {
  readonly #buffer: Buffer;
  #length = 0;

  constructor(size: number) {
    // Not from the shared pool: the buffer may be cached for long.
    this.#buffer = Buffer.allocUnsafeSlow(size);
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  push(bytes: Buffer, start: number, end: number): void {
    this.#length += bytes.copy(this.#buffer, this.#length, start, end);
  }

  pushText(text: string): void {
    this.#length += this.#buffer.write(text, this.#length, 'latin1');
  }

  pushByte(byte: number): void {
    this.#buffer[this.#length++] = byte;
  }
}

const quoteCode = 0x22;
const openBrace = 0x7b;
const comma = 0x2c;
const letterM = 0x6d;

/**
 * Writes one item of a list: complete for custom resources, without kind and apiVersion for built-in kinds, as Kubernetes
 * does. `usualOffset` is the expected {@link itemOffset}, equal for all objects of one kind and version; 0 if unknown.
 */
export function pushListItem(
  sink: ChunkSink,
  stored: Buffer,
  revision: number,
  complete: boolean,
  usualOffset = 0,
): void {
  const offset = revisionOffset(stored);
  if (complete) {
    sink.push(stored, 0, offset);
  } else {
    sink.pushByte(openBrace);
    const usual =
      stored[usualOffset - 2] === quoteCode && stored[usualOffset - 1] === comma && stored[usualOffset + 1] === letterM;
    sink.push(stored, usual ? usualOffset : itemOffset(stored), offset);
  }
  sink.pushText(revisionText(revision));
  sink.push(stored, offset, stored.length);
}
