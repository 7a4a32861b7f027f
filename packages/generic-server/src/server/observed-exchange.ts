import type { Exchange } from './exchange.ts';
import { ExchangeDecorator } from './exchange-decorator.ts';

interface ObservedExchangeOptions {
  /** Largest response body that is recorded; 0: none. */
  readonly maxBodyBytes: number;
  /** Called when the response starts. */
  readonly onStart: (status: number) => void;
}

/** Reports the start of the response and records its body. */
export class ObservedExchange extends ExchangeDecorator {
  readonly #options: ObservedExchangeOptions;
  #chunks: Buffer[] | undefined;
  #bytes = 0;

  constructor(inner: Exchange, options: ObservedExchangeOptions) {
    super(inner);
    this.#options = options;
    if (options.maxBodyBytes > 0) this.#chunks = [];
  }

  /** The whole response body; undefined if it was too long or was not to be recorded. */
  body(): Buffer | undefined {
    return this.#chunks === undefined ? undefined : Buffer.concat(this.#chunks);
  }

  override respond(status: number, body: Buffer | string): void {
    this.#options.onStart(status);
    this.#record(body);
    super.respond(status, body);
  }

  override start(status: number): void {
    this.#options.onStart(status);
    super.start(status);
  }

  override write(chunk: Buffer, done?: () => void): boolean {
    this.#record(chunk);
    return super.write(chunk, done);
  }

  #record(chunk: Buffer | string): void {
    if (this.#chunks === undefined) return;
    this.#bytes += chunk.length;
    if (this.#bytes > this.#options.maxBodyBytes) this.#chunks = undefined;
    // Copied, because writers reuse the memory of a chunk.
    else this.#chunks.push(Buffer.from(chunk as Buffer));
  }
}
