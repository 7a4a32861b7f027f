/** Limit of all memos of a cache, in bytes. */
const frameBytes = 32 * 1024 * 1024;
/** Bytes of the Map, its table and the Buffer objects. */
const overhead = 400;

/**
 * Bounds the bytes of encoded frames over all events. Most watchers need a frame when the event happens, so the oldest
 * memos are cleared first.
 */
export class FrameBudget {
  readonly #limit: number;
  #memos: FrameMemo[] = [];
  #head = 0;
  #bytes = 0;

  constructor(limit = frameBytes) {
    this.#limit = limit;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds the bytes of a frame of `memo`, then clears the oldest memos while the limit is exceeded. */
  add(memo: FrameMemo, bytes: number): void {
    if (memo.bytes === 0) this.#memos.push(memo);
    memo.bytes += bytes + overhead;
    this.#bytes += bytes + overhead;
    while (this.#bytes > this.#limit && this.#head < this.#memos.length) this.#clear(this.#memos[this.#head++]);
    this.#compactQueue();
  }

  /** Clears a memo whose event is evicted. */
  release(memo: FrameMemo): void {
    this.#clear(memo);
    while (this.#head < this.#memos.length && this.#memos[this.#head]?.bytes === 0) this.#head++;
    this.#compactQueue();
  }

  #compactQueue(): void {
    if (this.#head > 1024 && this.#head * 2 > this.#memos.length) {
      this.#memos = this.#memos.slice(this.#head);
      this.#head = 0;
    }
  }

  #clear(memo: FrameMemo | undefined): void {
    if (memo === undefined) return;
    this.#bytes -= memo.bytes;
    memo.bytes = 0;
    memo.clear();
  }
}

/** Frames of one event by encoding. */
export class FrameMemo extends Map<string, Buffer> {
  /** Bytes that the budget has counted for this memo. */
  bytes = 0;
  readonly #budget: FrameBudget;

  constructor(budget: FrameBudget) {
    super();
    this.#budget = budget;
  }

  override set(encoding: string, frame: Buffer): this {
    super.set(encoding, frame);
    // Clears the new frame too when it exceeds the limit by itself; the caller has its own reference.
    this.#budget.add(this, frame.length);
    return this;
  }
}
