import type { Clock, Timer } from '@multiplane/component-base';

/** Nothing came for too long: the peer or the network is gone without a word. */
export class IdleError extends Error {
  override readonly name = 'IdleError';
}

/**
 * Aborts when its outer signal does, or when nothing was {@link touch}ed for `idleMs`: a peer that was stopped or whose
 * packets get lost never closes the connection by itself. Touching costs no timer.
 */
export class IdleGuard {
  readonly #controller = new AbortController();
  readonly #idleMs: number;
  readonly #clock: Clock;
  readonly #outer: AbortSignal;
  readonly #onAbort = (): void => this.#controller.abort(this.#outer.reason);
  #timer: Timer;
  #touched: number;

  constructor(options: { readonly idleMs: number }, modules: { readonly clock: Clock; readonly signal: AbortSignal }) {
    this.#idleMs = options.idleMs;
    this.#clock = modules.clock;
    this.#outer = modules.signal;
    this.#touched = this.#clock.monotonic();
    this.#timer = this.#clock.after(this.#idleMs, () => this.#check());
    if (this.#outer.aborted) this.#onAbort();
    else this.#outer.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  touch(): void {
    this.#touched = this.#clock.monotonic();
  }

  /** Ends the guarding; what is still open is cut off. */
  release(): void {
    this.#timer.cancel();
    this.#outer.removeEventListener('abort', this.#onAbort);
    this.#controller.abort(new Error('finished'));
  }

  #check(): void {
    const left = this.#touched + this.#idleMs - this.#clock.monotonic();
    if (left <= 0) this.#controller.abort(new IdleError(`nothing was received for ${this.#idleMs} ms`));
    else this.#timer = this.#clock.after(left, () => this.#check());
  }
}
