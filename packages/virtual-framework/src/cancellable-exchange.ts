import { ExchangeDecorator, type Exchange, type UpgradedConnection } from '@multiplane/apiserver';

/**
 * An exchange whose streamed answer ends as it should (not cut off: what was written holds) once a signal aborts, whoever
 * writes it; to whom it looks as if the client had gone. An answer that begins only after that ends at once.
 */
export class EndingExchange extends ExchangeDecorator {
  readonly #until: AbortSignal;
  readonly #gone = new AbortController();
  /** A connection that no longer speaks HTTP is closed. */
  readonly takeConnection?: () => UpgradedConnection;
  #started = false;
  #over = false;
  #upgraded: UpgradedConnection | undefined;

  constructor(exchange: Exchange, until: AbortSignal) {
    // Below what changes bytes: whoever answers does that, if anybody.
    super(exchange.direct ?? exchange);
    const { inner } = this;
    this.#until = until;
    if (inner.signal.aborted) this.#gone.abort(inner.signal.reason);
    inner.signal.addEventListener('abort', this.#onGone);
    until.addEventListener('abort', this.#onEnd);
    if (inner.takeConnection !== undefined) {
      this.takeConnection = (): UpgradedConnection => {
        this.#upgraded = (inner as Required<Exchange>).takeConnection();
        if (until.aborted) this.#onEnd();
        return this.#upgraded;
      };
    }
  }

  /** Call it when the answer is complete: signals outlive exchanges. */
  release(): void {
    this.inner.signal.removeEventListener('abort', this.#onGone);
    this.#until.removeEventListener('abort', this.#onEnd);
  }

  readonly #onGone = (): void => this.#gone.abort(this.inner.signal.reason);
  readonly #onEnd = (): void => {
    this.#upgraded?.socket.destroy();
    if (!this.#started || this.#over) return;
    this.#over = true;
    this.inner.end();
    this.#gone.abort(this.#until.reason);
  };

  override get signal(): AbortSignal {
    return this.#gone.signal;
  }
  /** Nobody gets round it. */
  override get direct(): Exchange {
    return this;
  }

  override respond(status: number, body: Buffer | string): void {
    if (this.#over) return;
    this.#over = true;
    this.inner.respond(status, body);
  }
  override start(status: number): void {
    if (this.#over) return;
    this.#started = true;
    this.inner.start(status);
    if (this.#until.aborted) this.#onEnd();
  }
  override write(chunk: Buffer, done?: () => void): boolean {
    if (!this.#over) return this.inner.write(chunk, done);
    done?.();
    return true;
  }
  override drained(): Promise<void> {
    return this.#over ? Promise.resolve() : this.inner.drained();
  }
  override end(trailers?: readonly string[]): void {
    if (this.#over) return;
    this.#over = true;
    this.inner.end(trailers);
  }
  override destroy(): void {
    if (this.#over) return;
    this.#over = true;
    this.inner.destroy();
  }
}
