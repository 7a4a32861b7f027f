import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DeferredState, DeferredValue } from '../interface.ts';
import { CachedEntry } from './cached-entry.ts';
import type { OrderedTree } from './ordered-tree.ts';
import { noSlab, notRead, type Slab, type ValueHolder, type ValueSlabs } from './value-slabs.ts';

/** Entries looked at in one turn of the event loop. */
const entriesPerTurn = 2000;

/** One revision, with its entries. */
export interface UnreadChange {
  readonly key: string;
  readonly revision: number;
  readonly current: CachedEntry | undefined;
  readonly previous: CachedEntry | undefined;
}

export interface UnreadValuesModules {
  readonly state: DeferredState;
  readonly slabs: ValueSlabs;
  /** A value is in memory now. */
  readonly onRead: (length: number) => void;
}

/**
 * The values of a content that was loaded without them. An entry that has none stands here as if in a slab; its value is
 * read when somebody asks for it, in the same turn, or by {@link fill}, which reads all of them in the order of the files.
 * Nobody can see a difference but in time.
 *
 * Whoever takes an entry out of the content asks for its value before: so when `fill` has gone through the content, no
 * entry anywhere is without its value.
 */
export class UnreadValues implements Slab {
  readonly bytes = noSlab.bytes;
  readonly holders: ValueHolder[] = [];
  readonly live = 0;
  readonly #modules: UnreadValuesModules;
  /** Entries that are not in the tree: what was replaced. */
  #others: CachedEntry[] = [];
  /** Where the values of entries stand, by their `index`. */
  #places: (object | undefined)[] = [];

  constructor(modules: UnreadValuesModules) {
    this.#modules = modules;
  }

  tree(): OrderedTree<CachedEntry> {
    return this.#modules.state.tree((value) => this.#entry(value));
  }

  /** What led to the tree after a revision: with its own entries, and others for what is not in it any more. */
  changes(tree: OrderedTree<CachedEntry>, after: number): UnreadChange[] {
    const changes = this.#modules.state.changes(after);
    const last = new Map(changes.map(({ key }, i) => [key, i]));
    const known = new Map<string, CachedEntry | undefined>();
    return changes.map(({ key, revision, current, previous }, i) => {
      const before = previous && (known.get(key) ?? this.#gone(previous));
      const now = current && (last.get(key) === i ? tree.get(key) : this.#gone(current));
      known.set(key, now);
      return { key, revision, current: now, previous: before };
    });
  }

  /** Bytes of the values that are not in the tree. */
  get goneBytes(): number {
    return this.#others.reduce((sum, { length }) => sum + length, 0);
  }

  #gone(value: DeferredValue): CachedEntry {
    const entry = this.#entry(value);
    this.#others.push(entry);
    return entry;
  }

  #entry({ key, revision, length, place }: DeferredValue): CachedEntry {
    const entry = new CachedEntry(key, revision, length);
    entry.slab = this;
    entry.offset = notRead;
    entry.index = this.#places.push(place) - 1;
    return entry;
  }

  /** Throws StorageUnavailableError when it cannot be read. */
  fetch(entry: CachedEntry): void {
    this.#store(entry, this.#modules.state.read(this.#places[entry.index] as object));
  }

  /** Reads all that are in a tree, and what has led to it. Throws StorageUnavailableError when one cannot be read, or the signal aborts. */
  async fill(tree: () => OrderedTree<CachedEntry>, signal: AbortSignal): Promise<void> {
    const entries: CachedEntry[] = [];
    const places: object[] = [];
    const add = (entry: CachedEntry): void => {
      if (entry.offset !== notRead) return;
      entries.push(entry);
      places.push(this.#places[entry.index] as object);
    };
    this.#others.forEach(add);
    for (let from = ''; ;) {
      const some = tree().scan(from, undefined, entriesPerTurn);
      some.forEach(add);
      const last = some.at(-1);
      if (last === undefined) break;
      from = `${last.key}\0`;
      await nextTurn();
      signal.throwIfAborted();
    }
    for await (const batch of this.#modules.state.batches(places)) {
      signal.throwIfAborted();
      for (const { index, value } of batch) {
        const entry = entries[index] as CachedEntry;
        // Somebody may have asked for it since.
        if (entry.offset === notRead) this.#store(entry, value);
      }
      // A batch is a thousand objects: others get their turn.
      await nextTurn();
      signal.throwIfAborted();
    }
    this.#places = [];
    this.#others = [];
    await this.release();
  }

  /** What is not read yet cannot be read any more. */
  async release(): Promise<void> {
    await this.#modules.state.release();
  }

  #store(entry: CachedEntry, value: Buffer): void {
    this.#places[entry.index] = undefined;
    this.#modules.slabs.store(entry, value);
    this.#modules.onRead(value.length);
  }
}
