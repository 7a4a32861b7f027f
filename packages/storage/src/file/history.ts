import { compareKeys } from '../key-order.ts';
import type { Entry } from './record.ts';

/** One revision: what it wrote, and what had been there. */
export interface Change {
  readonly entry: Entry;
  readonly previous: Entry | undefined;
}

/** What a key held before it changed. */
export interface Former {
  readonly key: string;
  readonly entry: Entry | undefined;
}

/**
 * The changes of every revision after `oldest`, without gaps: the place of a change follows from its revision. A record
 * that was replaced or is a removal is wanted as long as a change here names it, and dies with that change.
 */
export class History {
  #changes: Change[];
  #start = 0;
  #oldest: number;
  /** The answer that was given last. */
  #former: { readonly revision: number; readonly states: readonly Former[] } | undefined;

  /** With the changes of every revision after `oldest`. */
  constructor(oldest: number, changes: Change[]) {
    this.#oldest = oldest;
    this.#changes = changes;
  }

  get oldest(): number {
    return this.#oldest;
  }

  get length(): number {
    return this.#changes.length - this.#start;
  }

  push(entry: Entry, previous: Entry | undefined): void {
    this.#former = undefined;
    this.#changes.push({ entry, previous });
  }

  /** At most `limit` changes after a revision that is not older than `oldest`. */
  after(revision: number, limit: number): Change[] {
    const first = this.#start + (revision - this.#oldest);
    return this.#changes.slice(first, first + limit);
  }

  /**
   * The keys that changed after a revision, in order, and what they held at it (undefined: nothing). Whoever lists an older
   * state page by page asks for the same again and again.
   */
  before(revision: number): readonly Former[] {
    if (this.#former?.revision !== revision) this.#former = { revision, states: this.#statesAt(revision) };
    return this.#former.states;
  }

  #statesAt(revision: number): readonly Former[] {
    const states = new Map<string, Entry | undefined>();
    const first = this.#start + (revision - this.#oldest);
    for (let i = this.#changes.length - 1; i >= first; i--) {
      const { entry, previous } = this.#changes[i] as Change;
      states.set(entry.key, previous);
    }
    return Array.from(states, ([key, entry]) => ({ key, entry })).sort((a, b) => compareKeys(a.key, b.key));
  }

  /** Forgets changes up to a revision, at most `limit` of them. */
  trim(revision: number, limit: number): void {
    this.#former = undefined;
    const count = Math.min(revision - this.#oldest, limit);
    for (let i = 0; i < count; i++) {
      const { entry, previous } = this.#changes[this.#start] as Change;
      if (previous !== undefined) bury(previous);
      if (entry.kind === 'delete') bury(entry);
      this.#changes[this.#start++] = undefined as never;
    }
    this.#oldest += count;
    if (this.#start > 1024 && this.#start * 2 > this.#changes.length) {
      this.#changes = this.#changes.slice(this.#start);
      this.#start = 0;
    }
  }

  /** Records that only the history wants. */
  held(): Entry[] {
    const held: Entry[] = [];
    for (let i = this.#start; i < this.#changes.length; i++) {
      const { entry, previous } = this.#changes[i] as Change;
      if (previous !== undefined) held.push(previous);
      if (entry.kind === 'delete') held.push(entry);
    }
    return held;
  }
}

/** Nobody can ask for a record any more. */
export function bury(entry: Entry): void {
  entry.dead = true;
  entry.segment.live -= entry.bytes;
}
