export interface BackoffOptions {
  /** The first pause, in milliseconds. */
  readonly initial: number;
  /** No pause is longer. */
  readonly max: number;
  /** Factor between two pauses; 2 by default. */
  readonly factor?: number | undefined;
  /** Fraction by which a pause varies either way; 0.5 by default. It spreads the retries of many clients. */
  readonly jitter?: number | undefined;
}

export interface BackoffModules {
  /** In [0, 1). */
  readonly random?: (() => number) | undefined;
}

/** Exponential backoff with jitter. One per retried operation; call {@link Backoff.reset} after a success. */
export class Backoff {
  readonly #options: Required<{ [K in keyof BackoffOptions]: NonNullable<BackoffOptions[K]> }>;
  readonly #random: () => number;
  #tries = 0;

  constructor({ initial, max, factor = 2, jitter = 0.5 }: BackoffOptions, modules: BackoffModules = {}) {
    this.#options = { initial, max, factor, jitter };
    this.#random = modules.random ?? Math.random;
  }

  /** Number of pauses since the last reset. */
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
