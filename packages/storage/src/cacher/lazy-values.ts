import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { LazyState, LazyValue } from '../capabilities/lazy-read.ts';
import type { OrderedTree } from '../ordered-tree.ts';
import { CachedEntry } from './cached-entry.ts';
import { emptySlab, type LazySlab, notLoaded, type ValueHolder, type ValueSlabs } from './value-slabs.ts';

/** Entries processed between two yields to the event loop. */
const entriesPerSlice = 2000;

/** The change of one revision, with its entries. */
export interface LazyEntryChange {
  readonly key: string;
  readonly revision: number;
  readonly current: CachedEntry | undefined;
  readonly previous: CachedEntry | undefined;
}

export interface LazyValuesModules {
  readonly state: LazyState;
  readonly slabs: ValueSlabs;
  /** Called with the length of each value that is now in memory. */
  readonly onLoaded: (length: number) => void;
}

/**
 * The values of contents that were loaded without them (recovery of a large `file` store).
 *
 *   entry    references this object as its slab, at offset `notLoaded`; `index` is the position of its file handle
 *   load     the first access to a value reads it synchronously and moves the entry to a real slab
 *   loadAll  reads the remaining values in the order of the files
 *
 * Readers observe no difference except latency. The cache loads the value of an entry before it removes the entry from the
 * contents, so after loadAll no entry without a value remains anywhere.
 */
export class LazyValues implements LazySlab {
  readonly bytes = emptySlab.bytes;
  readonly holders: ValueHolder[] = [];
  readonly live = 0;
  readonly #modules: LazyValuesModules;
  /** Entries of replaced versions, which are not in the tree. */
  #replaced: CachedEntry[] = [];
  /** File handles by the `index` of an entry. */
  #handles: (object | undefined)[] = [];

  constructor(modules: LazyValuesModules) {
    this.#modules = modules;
  }

  tree(): OrderedTree<CachedEntry> {
    return this.#modules.state.tree((value) => this.#entry(value));
  }

  /** The changes after a revision; they share the entries of the tree where these are still current. */
  changes(tree: OrderedTree<CachedEntry>, after: number): LazyEntryChange[] {
    const changes = this.#modules.state.changes(after);
    const latest = new Map(changes.map(({ key }, i) => [key, i]));
    const known = new Map<string, CachedEntry | undefined>();
    return changes.map(({ key, revision, current, previous }, i) => {
      const before = previous && (known.get(key) ?? this.#replacedEntry(previous));
      const now = current && (latest.get(key) === i ? tree.get(key) : this.#replacedEntry(current));
      known.set(key, now);
      return { key, revision, current: now, previous: before };
    });
  }

  /** Bytes of the values that are not in the tree. */
  get replacedBytes(): number {
    return this.#replaced.reduce((sum, { length }) => sum + length, 0);
  }

  #replacedEntry(value: LazyValue): CachedEntry {
    const entry = this.#entry(value);
    this.#replaced.push(entry);
    return entry;
  }

  #entry({ key, revision, length, handle }: LazyValue): CachedEntry {
    const entry = new CachedEntry(key, revision, length);
    entry.slab = this;
    entry.offset = notLoaded;
    entry.index = this.#handles.push(handle) - 1;
    return entry;
  }

  /** Throws StorageUnavailableError when the value cannot be read. */
  load(holder: ValueHolder): void {
    this.#store(holder, this.#modules.state.readSync(this.#handles[holder.index] as object));
  }

  /** Loads all values of a tree and of {@link changes}. Throws StorageUnavailableError, or the reason of the signal. */
  async loadAll(tree: () => OrderedTree<CachedEntry>, signal: AbortSignal): Promise<void> {
    const entries: CachedEntry[] = [];
    const handles: object[] = [];
    const add = (entry: CachedEntry): void => {
      if (entry.offset !== notLoaded) return;
      entries.push(entry);
      handles.push(this.#handles[entry.index] as object);
    };
    this.#replaced.forEach(add);
    for (let from = ''; ;) {
      const slice = tree().scan(from, undefined, entriesPerSlice);
      slice.forEach(add);
      const last = slice.at(-1);
      if (last === undefined) break;
      from = `${last.key}\0`;
      await yieldToEventLoop();
      signal.throwIfAborted();
    }
    for await (const batch of this.#modules.state.readBatches(handles)) {
      signal.throwIfAborted();
      for (const { index, value } of batch) {
        const entry = entries[index] as CachedEntry;
        // A reader may have loaded it meanwhile.
        if (entry.offset === notLoaded) this.#store(entry, value);
      }
      await yieldToEventLoop();
      signal.throwIfAborted();
    }
    this.#handles = [];
    this.#replaced = [];
    await this.release();
  }

  /** Values that are not loaded become unreadable. */
  async release(): Promise<void> {
    await this.#modules.state.release();
  }

  #store(holder: ValueHolder, value: Buffer): void {
    this.#handles[holder.index] = undefined;
    this.#modules.slabs.store(holder, value);
    this.#modules.onLoaded(value.length);
  }
}
