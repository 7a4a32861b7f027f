const maxSeconds = 32;

/**
 * The `Retry-After` of rejected requests in seconds: doubles while at least three requests per second of it are rejected,
 * and shrinks by one when fewer than one per second is (Kubernetes: apiserver/pkg/util/flowcontrol/dropped_requests_tracker.go).
 */
export class RetryAfter {
  #seconds = 1;
  #increasedAt = Number.NEGATIVE_INFINITY;
  #second = Number.NEGATIVE_INFINITY;
  /** Rejected requests by second. */
  #history: { second: number; requests: number }[] = [];

  get seconds(): number {
    return this.#seconds;
  }

  /** A request was rejected at `now`, in milliseconds. */
  rejected(now: number): void {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#adjust(second);
      this.#history = this.#history.filter((entry) => second - entry.second <= 2 * maxSeconds);
      this.#history.push({ second, requests: 0 });
    }
    (this.#history.at(-1) as { requests: number }).requests++;
  }

  #adjust(second: number): void {
    const rejected = this.#history
      .filter((entry) => second - entry.second <= this.#seconds)
      .reduce((sum, { requests }) => sum + requests, 0);
    if (second - this.#increasedAt >= this.#seconds && rejected >= 3 * this.#seconds) {
      this.#seconds = Math.min(maxSeconds, this.#seconds * 2);
      this.#increasedAt = second;
    } else if (rejected < this.#seconds && this.#seconds > 1) {
      this.#seconds--;
    }
  }
}
