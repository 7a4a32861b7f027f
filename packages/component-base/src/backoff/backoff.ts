export interface BackoffOptions {
  /** The first pause, in milliseconds. */
  readonly initial: number;
  /** No pause is longer. */
  readonly max: number;
  /** Each pause is this many times the one before; 2 unless told otherwise. */
  readonly factor?: number | undefined;
  /** 0.5 lets a pause vary by half either way, so that many clients do not return at once; 0 for none. */
  readonly jitter?: number | undefined;
}

export interface BackoffModules {
  /** In [0, 1). */
  readonly random?: (() => number) | undefined;
}

/** Growing pauses between tries, with jitter. One per thing that is tried; `reset` after it went well. */
export class Backoff {
  readonly #options: Required<{ [K in keyof BackoffOptions]: NonNullable<BackoffOptions[K]> }>;
  readonly #random: () => number;
  #tries = 0;

  constructor({ initial, max, factor = 2, jitter = 0.5 }: BackoffOptions, modules: BackoffModules = {}) {
    this.#options = { initial, max, factor, jitter };
    this.#random = modules.random ?? Math.random;
  }

  /** How many pauses were given since the last reset. */
  get tries(): number {
    return this.#tries;
  }

  /** The next pause in milliseconds; never above the maximum, jitter included. */
  next(): number {
    const { initial, max, factor, jitter } = this.#options;
    const base = Math.min(max, initial * factor ** this.#tries);
    this.#tries += 1;
    return Math.min(max, base * (1 + jitter * (2 * this.#random() - 1)));
  }

  reset(): void {
    this.#tries = 0;
  }
}
