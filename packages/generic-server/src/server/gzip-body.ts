import { constants, crc32, createGzip, type Gzip, type ZlibReset } from 'node:zlib';
import { unlessFailed } from './base-exchange.ts';
import { combineCrc32, crc32Shift } from './crc32-combine.ts';
import type { Exchange } from './exchange.ts';
import { sharedChunk, type DeflatedChunk, type SharedChunk } from './shared-chunk.ts';

/** Larger than Node's 16 KiB: each chunk takes the main thread a callback, a write and a TLS record of its own. */
const outputBytes = 128 * 1024;
/** The same for input: chunks are joined up to this size. */
const inputBytes = 512 * 1024;
/** With the chunk that exceeds it; longer ones get a buffer of their own. */
const maxInputBytes = inputBytes + 128 * 1024;
/** The writer waits beyond this: one piece waits while another one is compressed. */
const maxQueuedBytes = 2 * inputBytes;
/** Shorter pieces are not compressed: the thread pool costs more. */
const minInputBytes = 16 * 1024;
/** Up to this length computing the CRC-32 here costs less than another call to the thread pool. */
const maxCrcBytes = 128 * 1024;

/** RFC 1952 §2.3: deflate, fastest algorithm, unknown operating system. */
const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff]);
/** An empty block that is the last one, as deflate writes it behind a flush. */
const lastBlock = Buffer.from([0x03, 0x00]);
/** {@link lastBlock}, CRC-32 and length. */
const trailerBytes = lastBlock.length + 8;

/**
 * Buffers of {@link maxInputBytes} that were compressed. The allocator maps memory of this size anew each time, and the operating
 * system clears it page by page, which takes as long as filling it.
 */
const freeInputs: Buffer[] = [];
const maxFreeInputs = 4;
/** The same for {@link outputBytes} that were sent. */
const freeOutputs: Buffer[] = [];
const maxFreeOutputs = 8;

/** Consecutive content of the response. */
interface Piece {
  readonly content: Buffer;
  /** Absent for content that is joined of several chunks. */
  readonly shared?: SharedChunk | undefined;
  /** One of {@link freeInputs} when the piece is compressed. */
  readonly input?: Buffer | undefined;
}

/**
 * The body of a compressed response: one gzip stream (RFC 1952) of one member.
 *
 * Chunks are joined to pieces, which Node's thread pool compresses one after the other. Each piece ends with a full flush, so that
 * another piece may follow which was compressed before: the kept form of a shared chunk. Consecutive pieces that are compressed
 * here are a run. At the end of a run deflate writes its CRC-32, from which the one of the whole stream is combined.
 */
export class GzipBody {
  readonly #inner: Exchange;
  readonly #level: number;
  /** Chunks that are not a piece yet, and what to call when they are copied. */
  #chunks: Buffer[] = [];
  #copied: (() => void)[] = [];
  #chunkBytes = 0;
  #queue: Piece[] = [];
  #queuedBytes = 0;
  #isPumping = false;
  #isEnded = false;
  #isDestroyed = false;
  #wakers: (() => void)[] = [];
  /** The part of the stream that is not written yet. */
  #output: Buffer | undefined;
  #outputLength = 0;
  /** The result of the last write. */
  #hasRoom = true;
  #crc = 0;
  #length = 0;

  #gzip: Gzip | undefined;
  /** Content of the current run. */
  #runLength = 0;
  /** The CRC-32 of the current run if it is one short piece. */
  #runCrc: number | undefined;
  /** What happens to the output of {@link #gzip}. */
  #onOutput: (bytes: Buffer) => void = (bytes) => this.#send(bytes);
  /** Bytes of the header of the current run that {@link #gzip} has not written yet. */
  #headerLeft = 0;

  /** The response of `inner` has started. */
  constructor(options: { readonly level: number }, modules: { readonly inner: Exchange }) {
    this.#level = options.level;
    this.#inner = modules.inner;
    this.#inner.signal.addEventListener('abort', () => this.destroy(), { once: true });
    this.#send(header);
  }

  /** Bytes that are not compressed yet. */
  get buffered(): number {
    return this.#chunkBytes + this.#queuedBytes;
  }

  /** As {@link Exchange.write}. */
  write(chunk: Buffer, done?: () => void): boolean {
    if (this.#isDestroyed || this.#isEnded) return true;
    const shared = sharedChunk(chunk);
    // Behind content that has to be compressed anyway, it is compressed with this: one more piece would cost more.
    const isAlone = shared?.deflated !== undefined || this.#chunkBytes <= minInputBytes;
    if (shared?.wasCompressed === true && isAlone) {
      this.#queueChunks();
      this.#enqueue({ content: chunk, shared });
      done?.();
    } else {
      if (shared !== undefined) shared.wasCompressed = true;
      this.#chunks.push(chunk);
      this.#chunkBytes += chunk.length;
      if (done !== undefined) this.#copied.push(done);
      if (this.#chunkBytes > inputBytes) this.#queueChunks();
    }
    this.#pump();
    return !this.#isFull;
  }

  /** As {@link Exchange.drained}. */
  drained(): Promise<void> {
    if (this.#isDestroyed || !this.#isFull) return Promise.resolve();
    return new Promise((resolve) => this.#wakers.push(resolve));
  }

  end(): void {
    if (this.#isEnded || this.#isDestroyed) return;
    this.#queueChunks();
    this.#isEnded = true;
    this.#pump();
  }

  destroy(): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    this.#queue = [];
    this.#chunks = [];
    this.#queuedBytes = 0;
    this.#chunkBytes = 0;
    this.#gzip?.destroy();
    this.#wake();
  }

  get #isFull(): boolean {
    return this.#queuedBytes >= maxQueuedBytes;
  }

  #wake(): void {
    for (const wake of this.#wakers.splice(0)) wake();
  }

  #enqueue(piece: Piece): void {
    this.#queue.push(piece);
    this.#queuedBytes += piece.content.length;
  }

  #queueChunks(): void {
    const length = this.#chunkBytes;
    if (length === 0) return;
    const isPooled = length > minInputBytes && length <= maxInputBytes;
    const input = isPooled ? (freeInputs.pop() ?? Buffer.allocUnsafeSlow(maxInputBytes)) : Buffer.allocUnsafe(length);
    let at = 0;
    for (const chunk of this.#chunks) at += chunk.copy(input, at);
    this.#chunks = [];
    this.#chunkBytes = 0;
    for (const done of this.#copied.splice(0)) done();
    this.#enqueue({ content: input.subarray(0, length), input: isPooled ? input : undefined });
  }

  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    this.#sendPieces().catch(() => {
      if (!this.#isDestroyed) this.#inner.destroy();
    });
  }

  /** Sends pieces until none is left, as fast as the client reads. */
  async #sendPieces(): Promise<void> {
    for (let piece = this.#queue.shift(); piece !== undefined; piece = this.#queue.shift()) {
      const compressed = this.#sendPiece(piece);
      if (compressed !== undefined) await compressed;
      if (!this.#hasRoom) {
        await this.#inner.drained();
        this.#hasRoom = true;
      }
      if (this.#isDestroyed) return;
      this.#queuedBytes -= piece.content.length;
      if (this.#queuedBytes <= maxQueuedBytes / 2) this.#wake();
    }
    if (this.#isEnded && !this.#isDestroyed) await this.#sendTrailer();
    this.#isPumping = false;
  }

  /** Sends a piece at once, or returns a promise if it has to be compressed. */
  #sendPiece(piece: Piece): Promise<void> | undefined {
    const { content, shared } = piece;
    const kept = shared?.deflated;
    const isStored = shared === undefined && content.length <= minInputBytes;
    if (this.#runLength > 0 && (shared !== undefined || isStored))
      return this.#endRun().then(() => this.#sendPiece(piece));
    if (kept === undefined && !isStored)
      return shared === undefined ? this.#compress(content, piece.input) : this.#compressShared(content, shared);
    const { bytes, crc, shift } = kept ?? storedBlock(content);
    this.#send(bytes);
    this.#count(crc, content.length, shift);
    return undefined;
  }

  /** Writes short bytes together: each write takes an encryption and a system call. */
  #send(bytes: Buffer): void {
    if (this.#outputLength + bytes.length > outputBytes) this.#flush();
    if (bytes.length > outputBytes / 2) {
      this.#flush();
      this.#hasRoom = this.#inner.write(bytes);
      return;
    }
    this.#output ??= freeOutputs.pop() ?? Buffer.allocUnsafeSlow(outputBytes);
    this.#outputLength += bytes.copy(this.#output, this.#outputLength);
  }

  #flush(): void {
    const output = this.#output;
    if (output === undefined) return;
    this.#hasRoom = this.#inner.write(output.subarray(0, this.#outputLength), () => {
      if (freeOutputs.length < maxFreeOutputs) freeOutputs.push(output);
    });
    this.#output = undefined;
    this.#outputLength = 0;
  }

  #count(crc: number, length: number, shift: number): void {
    this.#crc = combineCrc32(this.#crc, crc, shift);
    this.#length += length;
  }

  async #compressShared(content: Buffer, shared: SharedChunk): Promise<void> {
    const output: Buffer[] = [];
    this.#onOutput = (bytes) => {
      output.push(bytes);
      this.#send(bytes);
    };
    await this.#compress(content);
    this.#onOutput = (bytes) => this.#send(bytes);
    const crc = await this.#endRun();
    // A copy: the output shares larger memory.
    shared.deflated = { bytes: Buffer.concat(output), crc, shift: crc32Shift(content.length) };
  }

  /** Compresses a piece of the current run. */
  #compress(content: Buffer, input?: Buffer): Promise<void> {
    const gzip = (this.#gzip ??= this.#createGzip());
    this.#runCrc = this.#runLength === 0 && content.length <= maxCrcBytes ? crc32(content) : undefined;
    if (this.#runLength === 0) this.#headerLeft = header.length;
    this.#runLength += content.length;
    return new Promise((resolve) => {
      gzip.write(
        content,
        // After an error the thread may still read the input.
        unlessFailed(() => {
          if (input !== undefined && freeInputs.length < maxFreeInputs) freeInputs.push(input);
          resolve();
        }),
      );
    });
  }

  /** Ends the current run; returns its CRC-32. */
  async #endRun(): Promise<number> {
    const gzip = this.#gzip as Gzip;
    const crc = this.#runCrc ?? (await this.#writtenCrc(gzip));
    (gzip as Gzip & ZlibReset).reset();
    this.#count(crc, this.#runLength, crc32Shift(this.#runLength));
    this.#runLength = 0;
    return crc;
  }

  /** The CRC-32 of the current run from the trailer that deflate writes. */
  async #writtenCrc(gzip: Gzip): Promise<number> {
    const output: Buffer[] = [];
    this.#onOutput = (bytes) => output.push(bytes);
    await new Promise<void>((resolve) => gzip.flush(constants.Z_FINISH, resolve));
    this.#onOutput = (bytes) => this.#send(bytes);
    const trailer = Buffer.concat(output);
    if (trailer.length !== trailerBytes || !trailer.subarray(0, lastBlock.length).equals(lastBlock))
      throw new Error('deflate wrote an unexpected end');
    return trailer.readUInt32LE(lastBlock.length);
  }

  async #sendTrailer(): Promise<void> {
    if (this.#runLength > 0) await this.#endRun();
    const trailer = Buffer.alloc(trailerBytes);
    lastBlock.copy(trailer);
    trailer.writeUInt32LE(this.#crc, lastBlock.length);
    trailer.writeUInt32LE(this.#length % 2 ** 32, lastBlock.length + 4);
    this.#send(trailer);
    this.#flush();
    this.#gzip?.destroy();
    this.#inner.end();
  }

  #createGzip(): Gzip {
    const gzip = createGzip({ level: this.#level, chunkSize: outputBytes, flush: constants.Z_FULL_FLUSH });
    gzip.on('data', (bytes: Buffer) => {
      // Each run starts with a header of its own.
      const skipped = Math.min(this.#headerLeft, bytes.length);
      this.#headerLeft -= skipped;
      if (skipped < bytes.length) this.#onOutput(skipped === 0 ? bytes : bytes.subarray(skipped));
    });
    gzip.on('error', () => this.#inner.destroy());
    return gzip;
  }
}

/** A deflate block that is not compressed (RFC 1951 §3.2.4). */
function storedBlock(content: Buffer): DeflatedChunk {
  const bytes = Buffer.allocUnsafe(content.length + 5);
  bytes[0] = 0;
  bytes.writeUInt16LE(content.length, 1);
  bytes.writeUInt16LE(0xffff - content.length, 3);
  content.copy(bytes, 5);
  return { bytes, crc: crc32(content), shift: crc32Shift(content.length) };
}
