import type { OrderedTree } from '../cacher/ordered-tree.ts';
import type { Expiry } from './expiry-queue.ts';
import type { History } from './history.ts';
import type { Entry } from './record.ts';
import type { Segment } from './segment.ts';

export interface StateContent {
  readonly index: OrderedTree<Entry>;
  readonly history: History;
  readonly revision: number;
  /** Keys that go some time; some may have been overtaken. */
  readonly expiring: Expiry[];
}

/**
 * What is durable, in memory: which keys there are and where their values stand. Changes only after they are on disk.
 */
export class State {
  readonly index: OrderedTree<Entry>;
  readonly history: History;
  /** Keys that went some time when the store was opened. */
  readonly expiring: Expiry[];
  /** In order of id; the last one is written to. */
  segments: Segment[] = [];
  #revision: number;

  constructor(content: StateContent) {
    this.index = content.index;
    this.history = content.history;
    this.expiring = content.expiring;
    this.#revision = content.revision;
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
