import { timeSlices, type TimeSlices } from '@multiplane/component-base';
import type { Exchange } from '@multiplane/generic-server';
import type { ChunkSink } from '../../registry/codec/list-item.ts';

const chunkBytes = 64 * 1024;

/** The clock is read after this many bytes or elements. */
const bytesPerClockRead = 16 * 1024;
const elementsPerClockRead = 16;

/** Chunks that were sent and can be reused: the operating system clears fresh memory, which costs more than filling it. */
const freeChunks: Buffer[] = [];
const maxFreeChunks = 32;

function takeChunk(): Buffer {
  return freeChunks.pop() ?? Buffer.allocUnsafeSlow(chunkBytes);
}

function releaseChunk(chunk: Buffer): void {
  if (freeChunks.length < maxFreeChunks) freeChunks.push(chunk);
}

/** A request whose response is long. */
export interface ChunkedBodyContext {
  readonly exchange: Exchange;
  readonly signal: AbortSignal;
  readonly info: { readonly cluster?: string | undefined };
}

/**
 * The body of a long response: pieces are copied into chunks of 64 KiB, and full chunks are written to the socket.
 * {@link checkpoint} waits for the socket to drain, or yields to the event loop. A response that fits into one chunk is sent
 * with a Content-Length.
 */
export class ChunkedBody implements ChunkSink {
  readonly #exchange: Exchange;
  readonly #status: number;
  readonly #signal: AbortSignal;
  /** The logical cluster whose turns of the event loop it takes. */
  readonly #lane: string | undefined;
  #chunk = takeChunk();
  #length = 0;
  #started = false;
  #full = false;
  /** The length of the chunk at the last read of the clock, and the elements since then. */
  #lengthAtClockRead = 0;
  #elements = 0;
  #slices: TimeSlices;

  constructor({ exchange, signal, info }: ChunkedBodyContext, status: number) {
    this.#exchange = exchange;
    this.#status = status;
    this.#signal = signal;
    this.#lane = info.cluster;
    this.#slices = timeSlices(this.#lane);
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
    // A UTF-16 code unit takes at most three bytes.
    if (text.length * 3 <= chunkBytes - this.#length) {
      this.#length += this.#chunk.write(text, this.#length, 'utf8');
      return;
    }
    const bytes = Buffer.from(text);
    this.push(bytes, 0, bytes.length);
  }

  /** Immutable bytes: a long block is written to the socket without a copy. */
  pushBlock(bytes: Buffer): void {
    // A compressing exchange finds the compressed form of the block itself, and joins short responses.
    if (!this.#started && this.#exchange.compresses !== true && bytes.length <= chunkBytes - this.#length) {
      this.push(bytes, 0, bytes.length);
      return;
    }
    if (this.#length > 0) this.#flush();
    else this.#begin();
    if (!this.#exchange.write(bytes)) this.#full = true;
  }

  /** Whether {@link checkpoint} would wait; checked between elements to save a promise for each. */
  get shouldPause(): boolean {
    if (this.#full) return true;
    // Reading the clock costs as much as writing a small element.
    if (
      this.#length - this.#lengthAtClockRead < bytesPerClockRead &&
      this.#length >= this.#lengthAtClockRead &&
      ++this.#elements < elementsPerClockRead
    )
      return false;
    this.#lengthAtClockRead = this.#length;
    this.#elements = 0;
    return this.#slices.isExceeded;
  }

  /** Waits for the socket to drain, or yields to the event loop. Throws if the client disconnected. */
  async checkpoint(): Promise<void> {
    if (this.#full) {
      await this.#exchange.drained();
      this.#full = false;
      this.#slices = timeSlices(this.#lane);
    } else {
      await this.#slices.yield();
    }
    this.#signal.throwIfAborted();
    this.#exchange.signal.throwIfAborted();
  }

  end(): void {
    if (!this.#started) {
      // A copy of the exact length: a response that waits for the socket must not occupy a whole chunk.
      this.#exchange.respond(this.#status, Buffer.from(this.#chunk.subarray(0, this.#length)));
      releaseChunk(this.#chunk);
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
    // The socket uses the chunk until it is sent, so the next one needs memory of its own.
    const chunk = this.#chunk;
    const filled = this.#length === chunkBytes ? chunk : chunk.subarray(0, this.#length);
    if (!this.#exchange.write(filled, () => releaseChunk(chunk))) this.#full = true;
    this.#chunk = takeChunk();
    this.#length = 0;
  }
}
