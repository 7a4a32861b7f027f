/** What all memos of a cache may hold together. */
const frameBytes = 32 * 1024 * 1024;
/** Map, its table and the Buffer's own objects. */
const overhead = 400;

/**
 * Bounds the bytes of encoded frames over all events. Frames are wanted by many watchers at the moment of the event and
 * by hardly any later, so the memos that were begun first are emptied first.
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

  /** Counts a frame of `memo`, and empties the oldest memos while there are too many bytes. */
  add(memo: FrameMemo, bytes: number): void {
    if (memo.bytes === 0) this.#memos.push(memo);
    memo.bytes += bytes + overhead;
    this.#bytes += bytes + overhead;
    while (this.#bytes > this.#limit && this.#head < this.#memos.length) this.#empty(this.#memos[this.#head++]);
    if (this.#head > 1024 && this.#head * 2 > this.#memos.length) {
      this.#memos = this.#memos.slice(this.#head);
      this.#head = 0;
    }
  }

  #empty(memo: FrameMemo | undefined): void {
    if (memo === undefined) return;
    this.#bytes -= memo.bytes;
    memo.bytes = 0;
    memo.clear();
  }
}

/** Frames of one event by encoding. */
export class FrameMemo extends Map<string, Buffer> {
  /** What the budget has counted for this memo. */
  bytes = 0;
  readonly #budget: FrameBudget;

  constructor(budget: FrameBudget) {
    super();
    this.#budget = budget;
  }

  override set(encoding: string, frame: Buffer): this {
    super.set(encoding, frame);
    // The new frame itself goes at once when it alone is over the limit; whoever made it holds it anyway.
    this.#budget.add(this, frame.length);
    return this;
  }
}
