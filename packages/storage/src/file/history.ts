import { setImmediate as nextTurn } from 'node:timers/promises';
import { compareKeys } from '../key-order.ts';
import type { Entry } from './record.ts';

/** One revision: what it wrote, and what had been there. */
export interface Change {
  readonly entry: Entry;
  readonly previous: Entry | undefined;
}

/** Changes that are made when somebody looks at them; the same records each time, until they are forgotten. */
export interface StoredChanges {
  readonly length: number;
  change(revision: number): Change;
  /** Length of the key, and of the record that was replaced. */
  weight(revision: number): [number, number];
  /** Nobody asks for what is not after this revision. */
  forget(revision: number): void;
}

/** Changes that are made in one turn of the event loop. */
const changesPerTurn = 5000;

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
  /** Undefined: forgotten, or not made yet of what is stored. */
  #changes: (Change | undefined)[];
  #start = 0;
  #oldest: number;
  readonly #stored: StoredChanges | undefined;
  /** The answer that was given last. */
  #former: { readonly revision: number; readonly states: readonly Former[] } | undefined;

  /** With the changes of every revision after `oldest`. */
  constructor(oldest: number, changes: Change[] | StoredChanges) {
    this.#oldest = oldest;
    this.#stored = Array.isArray(changes) ? undefined : changes;
    this.#changes = Array.isArray(changes) ? changes : Array.from({ length: changes.length });
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
    const end = Math.min(first + limit, this.#changes.length);
    const changes: Change[] = [];
    for (let i = first; i < end; i++) changes.push(this.#at(i));
    return changes;
  }

  /** Makes what is still only stored, so that nobody has to make all of it at once. */
  async makeAll(): Promise<void> {
    for (let revision = this.#oldest; revision < this.#oldest + this.length; revision += changesPerTurn) {
      this.after(Math.max(revision, this.#oldest), changesPerTurn);
      await nextTurn();
    }
  }

  /** Tells of each change, in order, what it holds: its key's length, and the length of the record that was replaced. */
  weigh(tell: (revision: number, keyLength: number, replaced: number) => void): void {
    for (let i = this.#start; i < this.#changes.length; i++) {
      const revision = this.#revisionAt(i);
      const change = this.#changes[i];
      if (change === undefined) tell(revision, ...(this.#stored as StoredChanges).weight(revision));
      else tell(revision, change.entry.key.length, change.previous?.bytes ?? 0);
    }
  }

  #revisionAt(index: number): number {
    return this.#oldest + (index - this.#start) + 1;
  }

  #at(index: number): Change {
    return (this.#changes[index] ??= (this.#stored as StoredChanges).change(this.#revisionAt(index)));
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
      const { entry, previous } = this.#at(i);
      states.set(entry.key, previous);
    }
    return Array.from(states, ([key, entry]) => ({ key, entry })).sort((a, b) => compareKeys(a.key, b.key));
  }

  /** Forgets changes up to a revision, at most `limit` of them. */
  trim(revision: number, limit: number): void {
    this.#former = undefined;
    const count = Math.min(revision - this.#oldest, limit);
    for (let i = 0; i < count; i++) {
      const { entry, previous } = this.#at(this.#start);
      if (previous !== undefined) bury(previous);
      if (entry.kind === 'delete') bury(entry);
      this.#changes[this.#start++] = undefined;
      this.#oldest++;
    }
    this.#stored?.forget(this.#oldest);
    if (this.#start > 1024 && this.#start * 2 > this.#changes.length) {
      this.#changes = this.#changes.slice(this.#start);
      this.#start = 0;
    }
  }

  /** Records that only the history wants. */
  held(): Entry[] {
    const held: Entry[] = [];
    for (let i = this.#start; i < this.#changes.length; i++) {
      const { entry, previous } = this.#at(i);
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
