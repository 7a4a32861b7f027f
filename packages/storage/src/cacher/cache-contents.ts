import type { LazyState } from '../capabilities/lazy-read.ts';
import { CompactedError, FutureRevisionError } from '../errors.ts';
import type { StoredValue } from '../interface.ts';
import { OrderedTree, type OrderedView } from '../ordered-tree.ts';
import type { CacheSnapshot } from '../watch-cache-interface.ts';
import { CachedEntry } from './cached-entry.ts';
import type { EventWindow } from './event-window.ts';
import { LazyValues } from './lazy-values.ts';
import type { LoadedContent } from './loaded-content.ts';
import { PinnedViews } from './pinned-views.ts';
import { RangeSnapshot } from './range-snapshot.ts';
import { inScope } from './scope.ts';
import { notLoaded, type ValueSlabs } from './value-slabs.ts';

/** Entries in the lookup cache. */
const maxRecent = 4096;
/** Values examined per write during slab compaction: more than a write wastes at the usual density. */
const valuesPerCompactionStep = 16;

/**
 * The objects of the cache at its current revision, and at any revision of the event window.
 *
 * The current state is an {@link OrderedTree}; a snapshot of it freezes the tree, which costs nothing. {@link PinnedViews}
 * has snapshots of older revisions.
 *
 * Every request looks up the same few keys (its logical cluster, its namespace, the roles of its user). `#recent` finds
 * them by hash instead of a dozen comparisons of long strings (CREATE and GET of hack/bench/api.bench.ts); every change of
 * a key removes it.
 */
export class CacheContents {
  readonly #window: EventWindow;
  readonly #slabs: ValueSlabs;
  #tree = new OrderedTree<CachedEntry>();
  /** Lookup cache in front of the tree; cleared when it is full. */
  readonly #recent = new Map<string, CachedEntry>();
  readonly #views = new PinnedViews();
  #valueBytes = 0;
  /** Entries of the tree may have no value yet ({@link LazyValues}); entries outside of it always have one. */
  #hasLazyValues = false;

  constructor(window: EventWindow, slabs: ValueSlabs) {
    this.#window = window;
    this.#slabs = slabs;
  }

  get size(): number {
    return this.#tree.size;
  }

  /** Bytes of the values in memory; approximate while lazy values are loaded. */
  get valueBytes(): number {
    return Math.max(0, this.#valueBytes);
  }

  get slabBytes(): number {
    return this.#slabs.allocatedBytes;
  }

  get pins(): number {
    return this.#views.size;
  }

  get(key: string): CachedEntry | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const entry = this.#tree.get(key);
    if (entry !== undefined) {
      if (this.#recent.size >= maxRecent) this.#recent.clear();
      this.#recent.set(entry.key, entry);
    }
    return entry;
  }

  /** Creates an entry, which {@link put} or {@link replaceAll} adds to the contents. */
  createEntry({ key, value, revision }: StoredValue): CachedEntry {
    const entry = new CachedEntry(key, revision, value.length);
    this.#slabs.store(entry, value);
    return entry;
  }

  createLazyValues(state: LazyState): LazyValues {
    const onLoaded = (length: number): void => {
      this.#valueBytes += length;
    };
    this.#hasLazyValues = true;
    return new LazyValues({ state, slabs: this.#slabs, onLoaded });
  }

  async loadLazyValues(lazyValues: LazyValues, signal: AbortSignal): Promise<void> {
    await lazyValues.loadAll(() => this.#tree, signal);
    this.#hasLazyValues = false;
  }

  /** Returns the replaced entry, which the caller appends to the event window. */
  put(entry: CachedEntry): CachedEntry | undefined {
    if (this.#hasLazyValues) loadValue(this.#tree.get(entry.key));
    const previous = this.#tree.set(entry);
    if (previous !== undefined) this.#recent.delete(entry.key);
    this.#valueBytes += entry.length - (previous?.length ?? 0);
    this.#slabs.compactStep(valuesPerCompactionStep);
    return previous;
  }

  /** Returns the removed entry, which the caller appends to the event window. */
  remove(key: string): CachedEntry | undefined {
    if (this.#hasLazyValues) loadValue(this.#tree.get(key));
    const previous = this.#tree.delete(key);
    this.#recent.delete(key);
    this.#valueBytes -= previous?.length ?? 0;
    this.#slabs.compactStep(valuesPerCompactionStep);
    return previous;
  }

  /** Continues the compaction of the slabs, which writes drive otherwise. Returns false when nothing is left to compact. */
  compact(): boolean {
    return this.#slabs.compactStep(valuesPerCompactionStep);
  }

  /** Current entries from `from` to `to` (exclusive; undefined: the end), at most `limit`. */
  range(from: string, to: string | undefined, limit?: number): readonly CachedEntry[] {
    return this.#tree.scan(from, to, limit);
  }

  /** Releases entries that were created and are not added to the contents. */
  discard(entries: readonly CachedEntry[]): void {
    for (const entry of entries) this.#slabs.release(entry);
  }

  /** Replaces the contents by a loaded state. */
  replaceAll({ tree, valueBytes, dropped }: LoadedContent): void {
    this.#tree = tree;
    this.#recent.clear();
    this.#valueBytes = valueBytes;
    this.#views.clear();
    for (const entry of dropped) loadValue(entry);
    this.discard(dropped);
  }

  /** The scope at `revision`; `now` is the revision of the cache. Throws CompactedError, FutureRevisionError. */
  snapshot(scope: string, revision: number, now: number): CacheSnapshot {
    this.checkRevision(revision, now);
    return new RangeSnapshot(scope, revision, this.#viewAt(scope, revision, now));
  }

  /** Throws CompactedError for a revision before the window, FutureRevisionError after `now`. */
  checkRevision(revision: number, now: number): void {
    if (revision > now) throw new FutureRevisionError(revision, now);
    const oldest = this.#window.oldestRevision;
    if (revision < oldest) throw new CompactedError(revision, oldest);
  }

  /** The current state; it stays readable after {@link replaceAll}. */
  freeze(revision: number): (scope: string) => CacheSnapshot {
    const view = this.#tree.freeze();
    return (scope) => new RangeSnapshot(scope, revision, view);
  }

  /** Evicts the pins that are older than the event window. */
  dropOldPins(): void {
    this.#views.dropBefore(this.#window.oldestRevision);
  }

  #viewAt(scope: string, revision: number, now: number): OrderedView<CachedEntry> {
    return this.#views.viewAt(
      {
        scope,
        // A view of everything serves all scopes.
        currentScope: '',
        now,
        covers: (other) => other === '' || inScope(other, scope),
        freeze: () => this.#tree.freeze(),
        since: (after, upTo) => this.#window.since(scope, after, upTo),
      },
      revision,
    );
  }
}

/** Brings the value of an entry into memory. Throws StorageUnavailableError. */
function loadValue(entry: CachedEntry | undefined): void {
  if (entry?.offset === notLoaded) void entry.value;
}
