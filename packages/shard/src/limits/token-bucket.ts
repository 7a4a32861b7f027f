/** A token bucket without a timer: it is refilled when it is asked. Times are in milliseconds. */
export class TokenBucket {
  #tokens = Infinity;
  #refilledAt: number;

  constructor(options: { readonly now: number }) {
    this.#refilledAt = options.now;
  }

  /** Adds the tokens since the last call, `rate` per second, up to those of `seconds`. Returns how many there are. */
  refill(now: number, rate: number, seconds: number): number {
    this.#tokens =
      rate === Infinity ? Infinity : Math.min(rate * seconds, this.#tokens + ((now - this.#refilledAt) * rate) / 1000);
    this.#refilledAt = now;
    return this.#tokens;
  }

  /** More than there are may be taken; then there are less than none. */
  take(amount: number): void {
    this.#tokens -= amount;
  }

  /** Cancels the debt. */
  forgive(): void {
    this.#tokens = Math.max(0, this.#tokens);
  }
}
