import { OrderedTree } from '../cacher/ordered-tree.ts';
import type { Expiry } from './expiry-queue.ts';
import { bury, type Change, History } from './history.ts';
import type { Entry } from './record.ts';
import type { Segment } from './segment.ts';
import { sortByKey } from './sort-by-key.ts';
import { State } from './state.ts';

/** Makes the state of a store of what is read off its files. */
export interface RecordTaker {
  /** Files whose records were taken. */
  readonly segments: Segment[];
  /** The last that was taken. */
  readonly revision: number;
  add(entry: Entry, keyBytes: number): void;
  /** All revisions up to here are in, though the last ones may have left nothing. */
  reach(revision: number): void;
  /** History up to a revision is forgotten. */
  forget(revision: number): void;
  build(): State;
}

/**
 * Makes the {@link State} of a store that is being opened: takes its records as the files have them, sorts them once by
 * key, and reads off each run of equal keys what is current, what the history still wants, and what is dead. Inserting one
 * by one into an ordered tree would take several times as long.
 */
export class StateBuilder implements RecordTaker {
  readonly segments: Segment[] = [];
  readonly #entries: Entry[] = [];
  #ascii = true;
  #revision = 1;
  #oldest = 1;

  get revision(): number {
    return this.#revision;
  }

  /** Of all records that are added, each revision once; those after the oldest without a gap. */
  add(entry: Entry, keyBytes: number): void {
    this.#entries.push(entry);
    if (keyBytes !== entry.key.length) this.#ascii = false;
    if (entry.revision > this.#revision) this.#revision = entry.revision;
  }

  /** All revisions up to here are in, though the last ones may have left nothing. */
  reach(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }

  /** History up to a revision is forgotten. */
  forget(revision: number): void {
    this.#oldest = Math.max(this.#oldest, Math.min(revision, this.#revision));
  }

  build(): State {
    const entries = this.#entries;
    sortByKey(entries, { ascii: this.#ascii });
    const changes: Change[] = Array.from({ length: this.#revision - this.#oldest });
    const current: Entry[] = [];
    for (let i = 0; i < entries.length;) {
      const { key } = entries[i] as Entry;
      let next = i + 1;
      while (next < entries.length && (entries[next] as Entry).key === key) next++;
      if (next === i + 1) this.#take(entries[i] as Entry, undefined, changes, current);
      else {
        const versions = entries.slice(i, next).sort((a, b) => a.revision - b.revision);
        for (const [j, entry] of versions.entries()) this.#take(entry, versions[j - 1], changes, current);
      }
      i = next;
    }
    const state = new State({
      index: OrderedTree.fromSorted(current, !this.#ascii),
      history: new History(this.#oldest, changes),
      revision: this.#revision,
      expiring: expiringOf(current),
    });
    state.segments = this.segments;
    return state;
  }

  /** A record, after the one of the same key before it. Replaced records and removals live as long as their change. */
  #take(entry: Entry, previous: Entry | undefined, changes: Change[], current: Entry[]): void {
    const remembered = entry.revision > this.#oldest;
    if (remembered) {
      changes[entry.revision - this.#oldest - 1] = {
        entry,
        previous: previous?.kind === 'delete' ? undefined : previous,
      };
    }
    if (previous !== undefined && previous.kind !== 'delete') {
      current.pop();
      if (!remembered) bury(previous);
    }
    entry.segment.live += entry.bytes;
    if (entry.kind !== 'delete') current.push(entry);
    else if (!remembered) bury(entry);
  }
}

/** Those that go some time. */
export function expiringOf(entries: readonly Entry[]): Expiry[] {
  const expiring: Expiry[] = [];
  for (const { key, expiresAt } of entries) if (expiresAt !== undefined) expiring.push({ key, at: expiresAt });
  return expiring;
}
