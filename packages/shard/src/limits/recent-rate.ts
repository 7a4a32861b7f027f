const windowMs = 1_000;

/**
 * How much was used in the last second, without a timer: what was used in this second of the clock, and of the second
 * before it the share that is not over yet, as if its use had been even. Times are in milliseconds.
 */
export class RecentRate {
  #second = 0;
  #used = 0;
  #usedBefore = 0;

  add(now: number, amount: number): void {
    this.#advance(now);
    this.#used += amount;
  }

  perSecond(now: number): number {
    this.#advance(now);
    const left = 1 - (now - this.#second * windowMs) / windowMs;
    return Math.round(this.#usedBefore * left + this.#used);
  }

  #advance(now: number): void {
    const second = Math.floor(now / windowMs);
    if (second === this.#second) return;
    this.#usedBefore = second === this.#second + 1 ? this.#used : 0;
    this.#used = 0;
    this.#second = second;
  }
}
