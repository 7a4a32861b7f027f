import type { Clock, Timer } from '@multiplane/component-base';

/** No data arrived for too long: the peer or the network failed without closing the connection. */
class IdleTimeoutError extends Error {
  override readonly name = 'IdleError';
}

/**
 * Aborts with its parent signal, or when {@link touch} was not called for `idleMs`: a frozen peer or a network partition does
 * not close a connection. `touch` only records the time; one timer checks it.
 */
export class IdleTimeout {
  readonly #controller = new AbortController();
  readonly #idleMs: number;
  readonly #clock: Clock;
  readonly #parent: AbortSignal;
  readonly #onAbort = (): void => this.#controller.abort(this.#parent.reason);
  #timer: Timer;
  #touched: number;

  constructor(options: { readonly idleMs: number }, modules: { readonly clock: Clock; readonly signal: AbortSignal }) {
    this.#idleMs = options.idleMs;
    this.#clock = modules.clock;
    this.#parent = modules.signal;
    this.#touched = this.#clock.monotonic();
    this.#timer = this.#clock.after(this.#idleMs, () => this.#check());
    if (this.#parent.aborted) this.#onAbort();
    else this.#parent.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  touch(): void {
    this.#touched = this.#clock.monotonic();
  }

  /** Ends the timeout and aborts the signal, which closes a connection that is still open. */
  release(): void {
    this.#timer.cancel();
    this.#parent.removeEventListener('abort', this.#onAbort);
    this.#controller.abort(new Error('finished'));
  }

  #check(): void {
    const left = this.#touched + this.#idleMs - this.#clock.monotonic();
    if (left <= 0) this.#controller.abort(new IdleTimeoutError(`no data received for ${this.#idleMs} ms`));
    else this.#timer = this.#clock.after(left, () => this.#check());
  }
}
