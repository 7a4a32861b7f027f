import type { AuditTrail } from '../audit/audit-trail.ts';
import type { Exchange } from './exchange.ts';
import { ExchangeDecorator } from './exchange-decorator.ts';

interface ObservedExchangeOptions {
  readonly auditTrail: AuditTrail;
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

  override get auditTrail(): AuditTrail {
    return this.#options.auditTrail;
  }

  /** Observes as well; bodies below the compression are not recorded. */
  override get direct(): Exchange {
    const { direct } = this.inner;
    return direct === undefined ? this : new ObservedExchange(direct, { ...this.#options, maxBodyBytes: 0 });
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
