import type { Clock } from '@multiplane/component-base';

/** An answer and how long it may be given again; 0: not at all. */
export interface Answer<T> {
  readonly value: T;
  readonly ttlMs: number;
}

interface Known<T> {
  readonly value: T;
  readonly until: number;
}

/**
 * Answers of a server that many ask the same. All who ask while an answer is on its way share it; a failure is theirs
 * too, and is not remembered. Bounded: the answer that was remembered first goes first.
 */
export class ExpiringAnswers<T> {
  readonly #maxEntries: number;
  readonly #clock: Clock;
  readonly #known = new Map<string, Known<T>>();
  readonly #pending = new Map<string, Promise<T>>();

  constructor(options: { readonly maxEntries: number }, modules: { readonly clock: Clock }) {
    this.#maxEntries = options.maxEntries;
    this.#clock = modules.clock;
  }

  get(key: string, ask: () => Promise<Answer<T>>): Promise<T> {
    const known = this.#known.get(key);
    if (known !== undefined) {
      if (known.until > this.#clock.monotonic()) return Promise.resolve(known.value);
      this.#known.delete(key);
    }
    let pending = this.#pending.get(key);
    if (pending === undefined) {
      pending = this.#ask(key, ask).finally(() => this.#pending.delete(key));
      this.#pending.set(key, pending);
    }
    return pending;
  }

  async #ask(key: string, ask: () => Promise<Answer<T>>): Promise<T> {
    const { value, ttlMs } = await ask();
    if (ttlMs > 0) {
      this.#known.delete(key);
      if (this.#known.size >= this.#maxEntries) this.#known.delete(this.#known.keys().next().value as string);
      this.#known.set(key, { value, until: this.#clock.monotonic() + ttlMs });
    }
    return value;
  }
}
