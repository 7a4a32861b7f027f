import type { OrderedTree } from '../ordered-tree.ts';
import type { Expiry } from './expiry-queue.ts';
import type { History } from './history.ts';
import type { Entry } from './record.ts';
import type { Segment } from './segment.ts';

export interface StoreStateInit {
  readonly index: OrderedTree<Entry>;
  readonly history: History;
  readonly revision: number;
  /** Keys with an expiry time; some may have been changed since. */
  readonly expiring: Expiry[];
}

/** The durable state in memory: the keys and the positions of their values. Writes are applied after they are durable. */
export class StoreState {
  readonly index: OrderedTree<Entry>;
  readonly history: History;
  /** Keys that had an expiry time at recovery. */
  readonly expiring: Expiry[];
  /** In order of id; the last one is the active log. */
  segments: Segment[] = [];
  #revision: number;

  constructor(content: StoreStateInit) {
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

  /** Applies the record of the next revision. */
  apply(entry: Entry): void {
    const previous = entry.kind === 'delete' ? this.index.delete(entry.key) : this.index.set(entry);
    entry.segment.live += entry.bytes;
    this.#revision = entry.revision;
    this.history.push(entry, previous);
  }

  /** Bytes of all segments, and of the live records in them. */
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
