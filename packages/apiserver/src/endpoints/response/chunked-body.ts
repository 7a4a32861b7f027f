import { slicesOfTurns } from '@multiplane/component-base';
import type { Exchange } from '../exchange.ts';
import type { ChunkSink } from '../registry/object-codec.ts';

const chunkBytes = 64 * 1024;

/** The clock is looked at when so many bytes or elements were added. */
const bytesPerLook = 16 * 1024;
const elementsPerLook = 16;

/** Chunks that nobody reads any more. Fresh memory costs more than filling it does: the system must first clear it. */
const freeChunks: Buffer[] = [];
const maxFreeChunks = 32;

function takeChunk(): Buffer {
  return freeChunks.pop() ?? Buffer.allocUnsafeSlow(chunkBytes);
}

function giveChunkBack(chunk: Buffer): void {
  if (freeChunks.length < maxFreeChunks) freeChunks.push(chunk);
}

/**
 * The body of a long answer: pieces are copied into chunks of 64 KiB, a full chunk goes to the socket, and
 * {@link checkpoint} waits where the socket or the event loop needs it. An answer that fits one chunk is sent whole, with
 * its length.
 */
export class ChunkedBody implements ChunkSink {
  readonly #exchange: Exchange;
  readonly #status: number;
  readonly #signal: AbortSignal;
  #chunk = takeChunk();
  #length = 0;
  #started = false;
  #full = false;
  /** Where the chunk ended, and how many elements ago, when the clock was looked at. */
  #looked = 0;
  #elements = 0;
  #slices = slicesOfTurns();

  constructor(exchange: Exchange, status: number, signal: AbortSignal) {
    this.#exchange = exchange;
    this.#status = status;
    this.#signal = signal;
  }

  push(bytes: Buffer, start: number, end: number): void {
    if (end - start <= chunkBytes - this.#length) {
      this.#length += bytes.copy(this.#chunk, this.#length, start, end);
      return;
    }
    let at = start;
    while (at < end) {
      if (this.#length === chunkBytes) this.#flush();
      const copied = bytes.copy(this.#chunk, this.#length, at, end);
      this.#length += copied;
      at += copied;
    }
  }

  pushByte(byte: number): void {
    if (this.#length === chunkBytes) this.#flush();
    this.#chunk[this.#length++] = byte;
  }

  /** ASCII only. */
  pushText(text: string): void {
    if (chunkBytes - this.#length < text.length) {
      this.push(Buffer.from(text, 'latin1'), 0, text.length);
      return;
    }
    this.#length += this.#chunk.write(text, this.#length, 'latin1');
  }

  pushString(text: string): void {
    // No character takes more than three bytes.
    if (text.length * 3 <= chunkBytes - this.#length) {
      this.#length += this.#chunk.write(text, this.#length, 'utf8');
      return;
    }
    const bytes = Buffer.from(text);
    this.push(bytes, 0, bytes.length);
  }

  /** Bytes that never change: what is long goes to the socket as it is. */
  pushBlock(bytes: Buffer): void {
    if (!this.#started && bytes.length <= chunkBytes - this.#length) {
      this.push(bytes, 0, bytes.length);
      return;
    }
    if (this.#length > 0) this.#flush();
    else this.#begin();
    if (!this.#exchange.write(bytes)) this.#full = true;
  }

  /** True when {@link checkpoint} would wait: called between elements, so that waiting costs a promise only when needed. */
  get shouldPause(): boolean {
    if (this.#full) return true;
    // Looking at the clock costs as much as a small element.
    if (
      this.#length - this.#looked < bytesPerLook &&
      this.#length >= this.#looked &&
      ++this.#elements < elementsPerLook
    )
      return false;
    this.#looked = this.#length;
    this.#elements = 0;
    return this.#slices.over;
  }

  /** Waits for room in the socket and lets others run. Throws when nobody reads any more. */
  async checkpoint(): Promise<void> {
    if (this.#full) {
      await this.#exchange.drained();
      this.#full = false;
      this.#slices = slicesOfTurns();
    } else {
      await this.#slices.next();
    }
    this.#signal.throwIfAborted();
    this.#exchange.signal.throwIfAborted();
  }

  end(): void {
    if (!this.#started) {
      // A copy of its own length: an answer that waits must not hold a whole chunk.
      this.#exchange.respond(this.#status, Buffer.from(this.#chunk.subarray(0, this.#length)));
      giveChunkBack(this.#chunk);
      return;
    }
    if (this.#length > 0) this.#exchange.write(this.#chunk.subarray(0, this.#length));
    this.#exchange.end();
  }

  #begin(): void {
    if (this.#started) return;
    this.#started = true;
    this.#exchange.start(this.#status);
  }

  #flush(): void {
    this.#begin();
    // The socket keeps the chunk until it is sent: the next one needs memory of its own.
    const chunk = this.#chunk;
    const filled = this.#length === chunkBytes ? chunk : chunk.subarray(0, this.#length);
    if (!this.#exchange.write(filled, () => giveChunkBack(chunk))) this.#full = true;
    this.#chunk = takeChunk();
    this.#length = 0;
  }
}
