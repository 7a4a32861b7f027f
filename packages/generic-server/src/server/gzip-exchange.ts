import { constants, gzip } from 'node:zlib';
import type { Headers } from './exchange.ts';
import { ExchangeDecorator } from './exchange-decorator.ts';
import { GzipBody } from './gzip-body.ts';

/** Responses up to this size are not compressed, as in kube-apiserver. */
const threshold = 128 * 1024;
const level = constants.Z_BEST_SPEED;
/** Larger than Node's 16 KiB: each chunk takes the main thread a callback. */
const chunkSize = 128 * 1024;

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
  /** Chunks of a streamed response below the threshold. */
  #chunks: { readonly chunk: Buffer; readonly done: (() => void) | undefined }[] = [];
  #chunkBytes = 0;
  #body: GzipBody | undefined;
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
    if (this.#body !== undefined) return this.#body.write(chunk, done);
    this.#chunks.push({ chunk, done });
    this.#chunkBytes += chunk.length;
    return this.#chunkBytes <= threshold || this.#startBody();
  }

  override get buffered(): number {
    return this.#chunkBytes + (this.#body?.buffered ?? 0) + this.inner.buffered;
  }

  override drained(): Promise<void> {
    return this.#body?.drained() ?? Promise.resolve();
  }

  override end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#body !== undefined) this.#body.end();
    else if (this.#status === 0) this.inner.end();
    else {
      const chunks = this.#takeChunks();
      this.inner.respond(this.#status, Buffer.concat(chunks.map(({ chunk }) => chunk)));
      for (const { done } of chunks) done?.();
    }
  }

  override destroy(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#body?.destroy();
    this.inner.destroy();
  }

  #setHeaders(): void {
    this.inner.setHeader('content-encoding', 'gzip');
    if (!this.#vary.includes('Accept-Encoding')) this.inner.setHeader('vary', [...this.#vary, 'Accept-Encoding']);
  }

  /** Sends the headers and what was written so far. Returns the result of the last write. */
  #startBody(): boolean {
    this.#setHeaders();
    this.inner.start(this.#status);
    const body = new GzipBody({ level }, { inner: this.inner });
    this.#body = body;
    let hasRoom = true;
    for (const { chunk, done } of this.#takeChunks()) hasRoom = body.write(chunk, done);
    return hasRoom;
  }

  #takeChunks(): { readonly chunk: Buffer; readonly done: (() => void) | undefined }[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#chunkBytes = 0;
    return chunks;
  }
}
