import { OrderedTree } from '../cacher/ordered-tree.ts';
import { History } from './history.ts';
import type { Entry } from './record.ts';
import type { Segment } from './segment.ts';

/**
 * What is durable, in memory: which keys there are and where their values stand. Changes only after they are on disk.
 */
export class State {
  readonly index = new OrderedTree<Entry>();
  readonly history: History;
  /** In order of id; the last one is written to. */
  segments: Segment[] = [];
  #revision: number;

  constructor(revision: number, oldest: number) {
    this.#revision = revision;
    this.history = new History(oldest);
  }

  get revision(): number {
    return this.#revision;
  }

  get active(): Segment {
    const last = this.segments.at(-1);
    if (last === undefined) throw new TypeError('a store has at least one segment');
    return last;
  }

  /** The next revision. */
  apply(entry: Entry): void {
    const previous = entry.kind === 'delete' ? this.index.delete(entry.key) : this.index.set(entry);
    entry.segment.live += entry.bytes;
    this.#revision = entry.revision;
    this.history.push(entry, previous);
  }

  /** A revision that is too old for the history; what it replaced is not wanted. */
  restore(entry: Entry): void {
    this.#revision = entry.revision;
    const previous = entry.kind === 'delete' ? this.index.delete(entry.key) : this.index.set(entry);
    if (previous !== undefined) {
      previous.dead = true;
      previous.segment.live -= previous.bytes;
    }
    if (entry.kind === 'delete') entry.dead = true;
    else entry.segment.live += entry.bytes;
  }

  /** All revisions up to here are in, though the last ones may have left nothing. */
  reach(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }

  /** Bytes of all files, and of the records in them that somebody may still want. */
  size(): { readonly total: number; readonly live: number } {
    let total = 0;
    let live = 0;
    for (const segment of this.segments) {
      total += segment.size;
      live += segment.live;
    }
    return { total, live };
  }
}
