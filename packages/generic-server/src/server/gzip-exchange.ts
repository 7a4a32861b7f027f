import { constants, createGzip, gzip, type Gzip } from 'node:zlib';
import type { Headers } from '../exchange.ts';
import { ExchangeDecorator } from './exchange-decorator.ts';

/** Answers up to this many bytes are not worth the work (K1.4). */
const threshold = 128 * 1024;
const level = constants.Z_BEST_SPEED;

/** True if one element of Accept-Encoding is exactly `gzip`; weights are not looked at (K1.4). */
export function acceptsGzip(headers: Headers): boolean {
  const accepted = headers['accept-encoding'];
  if (accepted === undefined) return false;
  if (accepted === 'gzip') return true;
  const text = typeof accepted === 'string' ? accepted : accepted.join(',');
  return text.split(',').some((element) => element.trim() === 'gzip');
}

/**
 * Compresses answers beyond {@link threshold} on their way out, in node's thread pool. A streamed answer is held back
 * until it is known to be long enough, so the headers leave later than `start`; not for watches.
 */
export class GzipExchange extends ExchangeDecorator {
  #status = 0;
  #ended = false;
  /** Pieces of a streamed answer that is still short. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #gzip: Gzip | undefined;
  /** What the answer depends on besides its compression. */
  #vary: readonly string[] = [];

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
    // A text is never shorter in bytes than in characters.
    const long = body.length > threshold || (typeof body === 'string' && Buffer.byteLength(body) > threshold);
    if (!long) {
      this.inner.respond(status, body);
      return;
    }
    gzip(body, { level }, (error, compressed) => {
      if (error === null) {
        this.#declare();
        this.inner.respond(status, compressed);
      } else {
        this.inner.respond(status, body);
      }
    });
  }

  override start(status: number): void {
    if (!this.headersSent) this.#status = status;
  }

  override write(chunk: Buffer): boolean {
    if (this.#ended || this.#status === 0) return true;
    if (this.#gzip !== undefined) return this.#gzip.write(chunk);
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    return this.#heldBytes <= threshold || this.#compress();
  }

  override get buffered(): number {
    return this.#heldBytes + (this.#gzip?.writableLength ?? 0) + this.inner.buffered;
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
      this.inner.respond(this.#status, Buffer.concat(this.#held, this.#heldBytes));
    } else {
      this.#gzip.end();
    }
  }

  override destroy(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#gzip?.destroy();
    this.inner.destroy();
  }

  #declare(): void {
    this.inner.setHeader('content-encoding', 'gzip');
    if (!this.#vary.includes('Accept-Encoding')) this.inner.setHeader('vary', [...this.#vary, 'Accept-Encoding']);
  }

  /** Turns the held pieces and all that follow into a compressed stream. */
  #compress(): boolean {
    const inner = this.inner;
    const stream = createGzip({ level });
    this.#gzip = stream;
    this.#declare();
    inner.start(this.#status);
    inner.signal.addEventListener('abort', () => stream.destroy(), { once: true });
    stream.on('data', (chunk: Buffer) => {
      if (inner.write(chunk)) return;
      stream.pause();
      void inner.drained().then(() => stream.resume());
    });
    stream.on('end', () => inner.end());
    stream.on('error', () => inner.destroy());
    let hasRoom = true;
    for (const piece of this.#held) hasRoom = stream.write(piece);
    this.#held = [];
    this.#heldBytes = 0;
    return hasRoom;
  }
}
