/** Somebody for whom bytes wait. */
export interface UnreadAnswer {
  /** Ends the answer at once; what waits is let go of. */
  cutOff(): void;
}

/**
 * What waits for clients behind full sockets, of all watches of a server together.
 *
 * Each watch is bounded by itself, and a tenant may have thousands. Beyond the bound of all, those are cut off first who
 * have taken nothing for longest: a client that reads, however slowly, comes to the end of the order with all that it
 * takes, and one that never reads comes to the front. Whoever is cut off goes on from the last line it read, as after
 * every end of a watch. Nobody has to wait here, so clients that do not read cost the others nothing.
 */
export class UnreadBytes {
  readonly #max: number;
  /** By when each took something for the last time, the longest ago first. */
  readonly #held = new Map<UnreadAnswer, number>();
  #total = 0;

  constructor(options: { readonly max: number }) {
    this.#max = options.max;
  }

  get total(): number {
    return this.#total;
  }

  /** More waits for an answer, until {@link release}. May cut it off itself. */
  hold(answer: UnreadAnswer, bytes: number): void {
    this.#held.set(answer, (this.#held.get(answer) ?? 0) + bytes);
    this.#total += bytes;
    while (this.#total > this.#max) {
      const [longest] = this.#held.keys();
      if (longest === undefined) return;
      this.release(longest);
      longest.cutOff();
    }
  }

  /** All was taken, or is not wanted any more. */
  release(answer: UnreadAnswer): void {
    this.#total -= this.#held.get(answer) ?? 0;
    this.#held.delete(answer);
  }
}
