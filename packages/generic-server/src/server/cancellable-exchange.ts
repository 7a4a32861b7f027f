import type { Exchange, UpgradedConnection } from './exchange.ts';
import { ExchangeDecorator } from './exchange-decorator.ts';

/**
 * An exchange whose streamed response is ended when one of its signals aborts. The response ends properly, not cut off, so the
 * client keeps what it received; the handler that writes it sees its own signal abort, as if the client had
 * disconnected. A stream that starts after the signal aborted ends immediately. Responses that are not streamed are not
 * affected.
 */
export class CancellableExchange extends ExchangeDecorator {
  readonly #cancels: readonly AbortSignal[];
  readonly #ended = new AbortController();
  /** An upgraded connection is closed when the signal aborts. */
  readonly takeConnection?: () => UpgradedConnection;
  #started = false;
  #finished = false;
  #upgraded: UpgradedConnection | undefined;

  constructor(exchange: Exchange, ...cancels: readonly AbortSignal[]) {
    // Wraps the exchange below compression: a handler that compresses does so itself.
    super(exchange.direct ?? exchange);
    const { inner } = this;
    this.#cancels = cancels;
    if (inner.signal.aborted) this.#ended.abort(inner.signal.reason);
    inner.signal.addEventListener('abort', this.#onClientAbort);
    for (const cancel of cancels) cancel.addEventListener('abort', this.#onCancel);
    if (inner.takeConnection !== undefined) {
      this.takeConnection = (): UpgradedConnection => {
        this.#upgraded = (inner as Required<Exchange>).takeConnection();
        if (this.#isCancelled) this.#onCancel();
        return this.#upgraded;
      };
    }
  }

  /** Removes the listeners. Call it when the response is complete, because the signals outlive the exchange. */
  release(): void {
    this.inner.signal.removeEventListener('abort', this.#onClientAbort);
    for (const cancel of this.#cancels) cancel.removeEventListener('abort', this.#onCancel);
  }

  get #isCancelled(): boolean {
    return this.#cancels.some(({ aborted }) => aborted);
  }

  readonly #onClientAbort = (): void => this.#ended.abort(this.inner.signal.reason);
  readonly #onCancel = (): void => {
    this.#upgraded?.socket.destroy();
    if (!this.#started || this.#finished) return;
    this.#finished = true;
    this.inner.end();
    this.#ended.abort(this.#cancels.find(({ aborted }) => aborted)?.reason);
  };

  override get signal(): AbortSignal {
    return this.#ended.signal;
  }
  /** Itself, so that no handler bypasses the cancellation. */
  override get direct(): Exchange {
    return this;
  }

  override respond(status: number, body: Buffer | string): void {
    if (this.#finished) return;
    this.#finished = true;
    this.inner.respond(status, body);
  }
  override start(status: number): void {
    if (this.#finished) return;
    this.#started = true;
    this.inner.start(status);
    if (this.#isCancelled) this.#onCancel();
  }
  override write(chunk: Buffer, done?: () => void): boolean {
    if (!this.#finished) return this.inner.write(chunk, done);
    done?.();
    return true;
  }
  override drained(): Promise<void> {
    return this.#finished ? Promise.resolve() : this.inner.drained();
  }
  override end(trailers?: readonly string[]): void {
    if (this.#finished) return;
    this.#finished = true;
    this.inner.end(trailers);
  }
  override destroy(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.inner.destroy();
  }
}
