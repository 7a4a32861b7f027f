/** A key and the time at which it goes, if nobody changes that. */
export interface Expiry {
  readonly at: number;
  readonly key: string;
}

/** A heap: the earliest comes out first. Entries that have been overtaken are the caller's to recognise. */
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

  /** Takes out those that are due, at most `limit`. */
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
