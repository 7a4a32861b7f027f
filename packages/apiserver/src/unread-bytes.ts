import { LinkedList, type ListElement } from '@multiplane/component-base';

/** Somebody for whom bytes wait. */
export interface UnreadAnswer {
  /** What waits for it, and its place: the {@link UnreadBytes}' to set. */
  unread: Unread | undefined;
  /** Ends the answer at once; what waits is let go of. */
  cutOff(): void;
}

/** Of an {@link UnreadAnswer}. */
export interface Unread {
  readonly bytes: number;
  readonly place: ListElement<UnreadAnswer>;
}

/**
 * What waits for clients behind full sockets, of many answers together: of all watches of a server, and of all its other
 * answers.
 *
 * Each is bounded by itself, and a tenant may ask for thousands. Beyond the bound of all, those are cut off first who have
 * taken nothing for longest: a client that reads, however slowly, comes to the end of the order with all that it takes,
 * and one that never reads comes to the front. Nobody has to wait here, so clients that do not read cost the others nothing.
 */
export class UnreadBytes {
  readonly #max: number;
  /** By when each took something for the last time, the longest ago first. */
  readonly #held = new LinkedList<UnreadAnswer>();
  #total = 0;

  constructor(options: { readonly max: number }) {
    this.#max = options.max;
  }

  get total(): number {
    return this.#total;
  }

  /** More waits for an answer, until {@link release}. May cut it off itself. */
  hold(answer: UnreadAnswer, bytes: number): void {
    const { unread } = answer;
    answer.unread = { bytes: (unread?.bytes ?? 0) + bytes, place: unread?.place ?? this.#held.add(answer) };
    this.#total += bytes;
    while (this.#total > this.#max) {
      const longest = this.#held.first?.value;
      if (longest === undefined) return;
      this.release(longest);
      longest.cutOff();
    }
  }

  /** Some was taken, and so much is left. */
  took(answer: UnreadAnswer, left: number): void {
    this.release(answer);
    if (left > 0) this.hold(answer, left);
  }

  /** All was taken, or is not wanted any more. */
  release(answer: UnreadAnswer): void {
    const { unread } = answer;
    if (unread === undefined) return;
    unread.place.remove();
    answer.unread = undefined;
    this.#total -= unread.bytes;
  }
}
