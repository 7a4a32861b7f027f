import { Readable } from 'node:stream';

/**
 * The body of a request on its way to the upstream. It decouples the client's stream from undici, because undici
 * destroys the body of a failed request, and destroying the client's stream would close the client's connection before
 * the response is sent. It does not buffer: the client is read as fast as the upstream accepts data.
 */
export class BodyRelay extends Readable {
  readonly #source: Readable;
  #complete = false;
  #bytes = 0;

  constructor(source: Readable) {
    super();
    this.#source = source;
    // The upstream request may be over already when the client breaks off; an error without a listener would end the process.
    this.on('error', () => undefined);
    source.pause();
    source.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (!this.destroyed && !this.push(chunk)) source.pause();
    });
    source.on('end', () => {
      this.#complete = true;
      if (!this.destroyed) this.push(null);
    });
    // An interrupted upload must not look like a shorter, complete one.
    const onInterrupted = (cause?: Error): void => {
      if (!this.#complete && !this.destroyed) this.destroy(new Error('the client aborted the request body', { cause }));
    };
    source.on('error', onInterrupted);
    source.on('aborted', () => onInterrupted());
    source.on('close', () => onInterrupted());
  }

  /** True once the whole body was received. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Received from the client so far. */
  get bytes(): number {
    return this.#bytes;
  }

  override _read(): void {
    this.#source.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    // Drain the rest of the body, so that the client can read the response.
    if (!this.#complete) this.#source.resume();
    callback(error);
  }
}
