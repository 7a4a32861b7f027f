import type { Exchange } from '../exchange.ts';
import { ExchangeDecorator } from './exchange-decorator.ts';

interface ObservedExchangeOptions {
  /** An answer up to this size is kept; 0: none is. */
  readonly keepBytes: number;
  /** The answer begins. */
  readonly onStart: (status: number) => void;
}

/** An exchange as it is, with an eye on its answer. */
export class ObservedExchange extends ExchangeDecorator {
  readonly #options: ObservedExchangeOptions;
  #kept: Buffer[] | undefined;
  #bytes = 0;

  constructor(inner: Exchange, options: ObservedExchangeOptions) {
    super(inner);
    this.#options = options;
    if (options.keepBytes > 0) this.#kept = [];
  }

  /** The whole answer; undefined when it was too long, or none was to be kept. */
  kept(): Buffer | undefined {
    return this.#kept === undefined ? undefined : Buffer.concat(this.#kept);
  }

  override respond(status: number, body: Buffer | string): void {
    this.#options.onStart(status);
    this.#keep(body);
    super.respond(status, body);
  }

  override start(status: number): void {
    this.#options.onStart(status);
    super.start(status);
  }

  override write(chunk: Buffer, done?: () => void): boolean {
    this.#keep(chunk);
    return super.write(chunk, done);
  }

  #keep(chunk: Buffer | string): void {
    if (this.#kept === undefined) return;
    this.#bytes += chunk.length;
    if (this.#bytes > this.#options.keepBytes) this.#kept = undefined;
    // A copy: the memory of a piece is used again once it was written.
    else this.#kept.push(Buffer.from(chunk as Buffer));
  }
}
