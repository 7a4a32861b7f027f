import { Readable } from 'node:stream';

/**
 * The body of a request on its way to the upstream. It stands between the client's stream and undici because undici
 * destroys the body it was given when a request fails, and destroying a client's request closes its connection before it
 * got its answer. Nothing is kept: the client is read as fast as the upstream takes it.
 */
export class BodyRelay extends Readable {
  readonly #source: Readable;
  #complete = false;

  constructor(source: Readable) {
    super();
    this.#source = source;
    source.pause();
    source.on('data', (chunk: Buffer) => {
      if (!this.destroyed && !this.push(chunk)) source.pause();
    });
    source.on('end', () => {
      this.#complete = true;
      if (!this.destroyed) this.push(null);
    });
    // An upload that breaks off must not look like a shorter one.
    const broken = (cause?: Error): void => {
      if (!this.#complete && !this.destroyed) this.destroy(new Error('the client broke off its request', { cause }));
    };
    source.on('error', broken);
    source.on('aborted', () => broken());
    source.on('close', () => broken());
  }

  /** True once all of it came from the client. */
  get complete(): boolean {
    return this.#complete;
  }

  override _read(): void {
    this.#source.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    // What the client still sends is taken in and dropped, so that it gets to read its answer.
    if (!this.#complete) this.#source.resume();
    callback(error);
  }
}
