import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DeferredState } from '../interface.ts';
import { CachedEntry } from './cached-entry.ts';
import type { OrderedTree } from './ordered-tree.ts';
import { noSlab, notRead, type Slab, type ValueHolder, type ValueSlabs } from './value-slabs.ts';

/** Entries looked at in one turn of the event loop. */
const entriesPerTurn = 2000;

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
  /** Where the values of entries stand, by their `index`. */
  #places: (object | undefined)[] = [];

  constructor(modules: UnreadValuesModules) {
    this.#modules = modules;
  }

  tree(): OrderedTree<CachedEntry> {
    return this.#modules.state.tree((key, revision, length, place) => {
      const entry = new CachedEntry(key, revision, length);
      entry.slab = this;
      entry.offset = notRead;
      entry.index = this.#places.push(place) - 1;
      return entry;
    });
  }

  /** Throws StorageUnavailableError when it cannot be read. */
  fetch(entry: CachedEntry): void {
    this.#store(entry, this.#modules.state.read(this.#places[entry.index] as object));
  }

  /** Reads all that are in a tree. Throws StorageUnavailableError when one cannot be read, or the signal aborts. */
  async fill(tree: () => OrderedTree<CachedEntry>, signal: AbortSignal): Promise<void> {
    const entries: CachedEntry[] = [];
    const places: object[] = [];
    for (let from = ''; ;) {
      const some = tree().scan(from, undefined, entriesPerTurn);
      for (const entry of some) {
        if (entry.offset !== notRead) continue;
        entries.push(entry);
        places.push(this.#places[entry.index] as object);
      }
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
