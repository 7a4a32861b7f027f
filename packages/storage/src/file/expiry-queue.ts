/** A key and its expiry time, in milliseconds since the epoch. */
export interface Expiry {
  readonly at: number;
  readonly key: string;
}

/** A binary heap ordered by expiry time. The caller ignores entries whose key got another expiry time since. */
export class ExpiryQueue {
  readonly #heap: Expiry[] = [];

  get first(): Expiry | undefined {
    return this.#heap[0];
  }

  push(expiry: Expiry): void {
    const heap = this.#heap;
    let i = heap.length;
    heap.push(expiry);
    while (i > 0) {
      const parent = (i - 1) >>> 1;
      if ((heap[parent] as Expiry).at <= expiry.at) break;
      heap[i] = heap[parent] as Expiry;
      i = parent;
    }
    heap[i] = expiry;
  }

  /** Removes and returns expired entries, at most `limit`. */
  takeDue(now: number, limit: number): Expiry[] {
    const due: Expiry[] = [];
    while (due.length < limit && this.#heap.length > 0 && (this.#heap[0] as Expiry).at <= now) due.push(this.#take());
    return due;
  }

  #take(): Expiry {
    const heap = this.#heap;
    const first = heap[0] as Expiry;
    const moved = heap.pop() as Expiry;
    if (heap.length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1] as Expiry).at < (heap[child] as Expiry).at) child++;
      if ((heap[child] as Expiry).at >= moved.at) break;
      heap[i] = heap[child] as Expiry;
      i = child;
    }
    heap[i] = moved;
    return first;
  }
}
