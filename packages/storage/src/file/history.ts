import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { compareKeys } from '../key-order.ts';
import type { Entry } from './record.ts';

/** The change of one revision. */
export interface Change {
  readonly entry: Entry;
  readonly previous: Entry | undefined;
}

/** Changes that are decoded on access; the same entries each time until they are dropped. */
export interface LazyChanges {
  readonly length: number;
  change(revision: number): Change;
  /** Length of the key, and bytes of the replaced record. */
  weight(revision: number): [number, number];
  /** Drops the changes up to this revision. */
  drop(revision: number): void;
}

/** Changes that are decoded between two yields to the event loop. */
const changesPerSlice = 5000;

/** The record of a key at an earlier revision. */
export interface PriorVersion {
  readonly key: string;
  readonly entry: Entry | undefined;
}

/**
 * The changes of every revision after `oldest` without gaps: the index of a change follows from its revision. Replaced
 * records and deletes stay live as long as a change references them.
 */
export class History {
  /** Undefined: dropped, or not decoded from `#stored` yet. */
  #changes: (Change | undefined)[];
  #start = 0;
  #oldest: number;
  readonly #stored: LazyChanges | undefined;
  /** The last result of {@link before}. */
  #prior: { readonly revision: number; readonly states: readonly PriorVersion[] } | undefined;

  /** `changes`: one for every revision after `oldest`. */
  constructor(oldest: number, changes: Change[] | LazyChanges) {
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
    this.#prior = undefined;
    this.#changes.push({ entry, previous });
  }

  /** At most `limit` changes after a revision ≥ `oldest`. */
  after(revision: number, limit: number): Change[] {
    const first = this.#start + (revision - this.#oldest);
    const end = Math.min(first + limit, this.#changes.length);
    const changes: Change[] = [];
    for (let i = first; i < end; i++) changes.push(this.#at(i));
    return changes;
  }

  /** Decodes all changes, yielding in between. */
  async materialize(): Promise<void> {
    for (let revision = this.#oldest; revision < this.#oldest + this.length; revision += changesPerSlice) {
      this.after(Math.max(revision, this.#oldest), changesPerSlice);
      await yieldToEventLoop();
    }
  }

  /** Calls `visit` for each change in order, with the length of its key and the bytes of the replaced record. */
  forEachSize(visit: (revision: number, keyLength: number, replaced: number) => void): void {
    for (let i = this.#start; i < this.#changes.length; i++) {
      const revision = this.#revisionAt(i);
      const change = this.#changes[i];
      if (change === undefined) visit(revision, ...(this.#stored as LazyChanges).weight(revision));
      else visit(revision, change.entry.key.length, change.previous?.bytes ?? 0);
    }
  }

  #revisionAt(index: number): number {
    return this.#oldest + (index - this.#start) + 1;
  }

  #at(index: number): Change {
    return (this.#changes[index] ??= (this.#stored as LazyChanges).change(this.#revisionAt(index)));
  }

  /**
   * The keys that changed after a revision, in order, with their record at it (undefined: none). The last result is cached
   * for lists that page through an older state.
   */
  before(revision: number): readonly PriorVersion[] {
    if (this.#prior?.revision !== revision) this.#prior = { revision, states: this.#statesAt(revision) };
    return this.#prior.states;
  }

  #statesAt(revision: number): readonly PriorVersion[] {
    const states = new Map<string, Entry | undefined>();
    const first = this.#start + (revision - this.#oldest);
    for (let i = this.#changes.length - 1; i >= first; i--) {
      const { entry, previous } = this.#at(i);
      states.set(entry.key, previous);
    }
    return Array.from(states, ([key, entry]) => ({ key, entry })).sort((a, b) => compareKeys(a.key, b.key));
  }

  /** Drops changes up to a revision, at most `limit` of them. */
  trim(revision: number, limit: number): void {
    this.#prior = undefined;
    const count = Math.min(revision - this.#oldest, limit);
    for (let i = 0; i < count; i++) {
      const { entry, previous } = this.#at(this.#start);
      if (previous !== undefined) markDead(previous);
      if (entry.kind === 'delete') markDead(entry);
      this.#changes[this.#start++] = undefined;
      this.#oldest++;
    }
    this.#stored?.drop(this.#oldest);
    if (this.#start > 1024 && this.#start * 2 > this.#changes.length) {
      this.#changes = this.#changes.slice(this.#start);
      this.#start = 0;
    }
  }

  /** Records that only the history references. */
  retainedEntries(): Entry[] {
    const held: Entry[] = [];
    for (let i = this.#start; i < this.#changes.length; i++) {
      const { entry, previous } = this.#at(i);
      if (previous !== undefined) held.push(previous);
      if (entry.kind === 'delete') held.push(entry);
    }
    return held;
  }
}

/** Marks a record that nothing references any more. */
export function markDead(entry: Entry): void {
  entry.dead = true;
  entry.segment.live -= entry.bytes;
}
