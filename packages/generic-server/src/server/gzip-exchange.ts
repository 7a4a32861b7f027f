import { constants, createGzip, gzip, type Gzip, type ZlibOptions } from 'node:zlib';
import { unlessFailed } from './base-exchange.ts';
import type { Headers } from './exchange.ts';
import { ExchangeDecorator } from './exchange-decorator.ts';

/** Responses up to this size are not compressed, as in kube-apiserver. */
const threshold = 128 * 1024;
const level = constants.Z_BEST_SPEED;
/** Larger than Node's 16 KiB: each chunk takes the main thread a callback, a write and a TLS record of its own. */
const chunkSize = 128 * 1024;
/** The same for input: chunks of a streamed response are joined up to this size. */
const inputBytes = 512 * 1024;
/** With the chunk that exceeds it; longer ones get a buffer of their own. */
const maxInputBytes = inputBytes + threshold;

/**
 * Buffers of {@link inputBytes} that were compressed. The allocator maps memory of this size anew each time, and the operating system
 * clears it page by page, which takes as long as filling it.
 */
const freeInputs: Buffer[] = [];
const maxFreeInputs = 4;

function releaseInput(input: Buffer): void {
  if (freeInputs.length < maxFreeInputs) freeInputs.push(input);
}

/** True if an element of Accept-Encoding is exactly `gzip`; like kube-apiserver, elements with weights do not match. */
export function acceptsGzip(headers: Headers): boolean {
  const accepted = headers['accept-encoding'];
  if (accepted === undefined) return false;
  if (accepted === 'gzip') return true;
  const text = typeof accepted === 'string' ? accepted : accepted.join(',');
  return text.split(',').some((element) => element.trim() === 'gzip');
}

/**
 * Compresses responses above {@link threshold} in Node's thread pool. A streamed response is buffered until it exceeds the
 * threshold, so its headers are sent later than `start`. Not for watches.
 */
export class GzipExchange extends ExchangeDecorator {
  #status = 0;
  #ended = false;
  /** Chunks of a streamed response that are not compressed yet, and what to call when they are copied. */
  #chunks: Buffer[] = [];
  #copied: (() => void)[] = [];
  #chunkBytes = 0;
  #gzip: Gzip | undefined;
  /** The handler's `Vary` header. */
  #vary: readonly string[] = [];

  override get compresses(): boolean {
    return true;
  }
  override get status(): number {
    return this.#status === 0 ? this.inner.status : this.#status;
  }
  override get headersSent(): boolean {
    return this.status !== 0;
  }

  override setHeader(name: string, value: string | readonly string[]): void {
    if (this.#status !== 0) return;
    if (name === 'vary') this.#vary = typeof value === 'string' ? [value] : value;
    this.inner.setHeader(name, value);
  }

  override respond(status: number, body: Buffer | string): void {
    if (this.headersSent) return;
    this.#status = status;
    this.#ended = true;
    // A string has at least as many bytes as characters.
    const long = body.length > threshold || (typeof body === 'string' && Buffer.byteLength(body) > threshold);
    if (!long) {
      this.inner.respond(status, body);
      return;
    }
    gzip(body, { level, chunkSize }, (error, compressed) => {
      if (error === null) {
        this.#setHeaders();
        this.inner.respond(status, compressed);
      } else {
        this.inner.respond(status, body);
      }
    });
  }

  override start(status: number): void {
    if (!this.headersSent) this.#status = status;
  }

  override write(chunk: Buffer, done?: () => void): boolean {
    if (this.#ended || this.#status === 0) return true;
    this.#chunks.push(chunk);
    this.#chunkBytes += chunk.length;
    if (done !== undefined) this.#copied.push(done);
    if (this.#chunkBytes <= (this.#gzip === undefined ? threshold : inputBytes)) return true;
    this.#gzip ??= this.#startGzip();
    return this.#compressChunks(this.#gzip);
  }

  override get buffered(): number {
    return this.#chunkBytes + (this.#gzip?.writableLength ?? 0) + this.inner.buffered;
  }

  override drained(): Promise<void> {
    const gzip = this.#gzip;
    if (gzip === undefined || gzip.destroyed || !gzip.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        gzip.off('drain', done).off('close', done);
        resolve();
      };
      gzip.on('drain', done).on('close', done);
    });
  }

  override end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#status === 0) {
      this.inner.end();
    } else if (this.#gzip === undefined) {
      this.inner.respond(this.#status, this.#takeChunks(Buffer.allocUnsafe(this.#chunkBytes)));
    } else {
      if (this.#chunkBytes > 0) this.#compressChunks(this.#gzip);
      this.#gzip.end();
    }
  }

  override destroy(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#gzip?.destroy();
    this.inner.destroy();
  }

  #setHeaders(): void {
    this.inner.setHeader('content-encoding', 'gzip');
    if (!this.#vary.includes('Accept-Encoding')) this.inner.setHeader('vary', [...this.#vary, 'Accept-Encoding']);
  }

  /** Sends the headers; what is written to the result is compressed and sent. */
  #startGzip(): Gzip {
    const inner = this.inner;
    // One piece waits while another one is compressed.
    const stream = createGzip({ level, chunkSize, writableHighWaterMark: 2 * inputBytes } as ZlibOptions);
    this.#setHeaders();
    inner.start(this.#status);
    inner.signal.addEventListener('abort', () => stream.destroy(), { once: true });
    stream.on('data', (chunk: Buffer) => {
      if (inner.write(chunk)) return;
      stream.pause();
      void inner.drained().then(() => stream.resume());
    });
    stream.on('end', () => inner.end());
    stream.on('error', () => inner.destroy());
    return stream;
  }

  /** Returns false if the caller must wait for {@link drained}. */
  #compressChunks(stream: Gzip): boolean {
    if (this.#chunkBytes > maxInputBytes)
      return stream.write(this.#takeChunks(Buffer.allocUnsafeSlow(this.#chunkBytes)));
    const input = freeInputs.pop() ?? Buffer.allocUnsafeSlow(maxInputBytes);
    // After an error the thread may still read it.
    return stream.write(
      this.#takeChunks(input),
      unlessFailed(() => releaseInput(input)),
    );
  }

  #takeChunks(buffer: Buffer): Buffer {
    let length = 0;
    for (const chunk of this.#chunks) length += chunk.copy(buffer, length);
    this.#chunks = [];
    this.#chunkBytes = 0;
    for (const done of this.#copied.splice(0)) done();
    return buffer.subarray(0, length);
  }
}
