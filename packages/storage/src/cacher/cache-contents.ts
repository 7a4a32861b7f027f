import { CompactedError, FutureRevisionError } from '../errors.ts';
import type { DeferredState, StoredValue } from '../interface.ts';
import type { CacheSnapshot } from '../watch-cache-interface.ts';
import { CachedEntry } from './cached-entry.ts';
import type { CachedEvent } from './cached-event.ts';
import type { EventWindow } from './event-window.ts';
import type { LoadedContent } from './content-loader.ts';
import { OrderedTree, type OrderedView } from './ordered-tree.ts';
import { RangeSnapshot } from './range-snapshot.ts';
import { inScope } from './scope.ts';
import { UnreadValues } from './unread-values.ts';
import { notRead, type ValueSlabs } from './value-slabs.ts';

/** States of older revisions that are kept for the next page of a list. */
const maxPins = 64;
/** Keys that were looked up lately. */
const maxRecent = 4096;
/** Values looked at per write while memory is being tidied: more than a write can waste at the usual density. */
const tidyStep = 16;

interface Pin {
  readonly revision: number;
  /** What of the state is true: the whole at '', or only this scope (made by undoing events of it). */
  readonly scope: string;
  readonly view: OrderedView<CachedEntry>;
}

/**
 * The objects as they are now, and as they were at any revision of the window.
 *
 * The present is an {@link OrderedTree}. A snapshot of now freezes it, which is free. A snapshot of an older revision
 * starts from the nearest frozen state that is not older ("pin") and takes the events in between back;
 * lists that page find their pin and take nothing back. Pins are dropped least recently used first, and when the window
 * leaves them behind, so what they hold is bounded by what the window holds.
 *
 * Every request looks up the same few keys (its logical cluster, its namespace, the roles of its user), each by a dozen
 * comparisons of long texts. What was found lately is found by its hash, and is forgotten or replaced with every change.
 */
export class CacheContents {
  readonly #window: EventWindow;
  readonly #slabs: ValueSlabs;
  #tree = new OrderedTree<CachedEntry>();
  /** What the tree has for some keys; begins anew when it is full. */
  readonly #recent = new Map<string, CachedEntry>();
  /** In order of use, by revision and scope. */
  readonly #pins = new Map<string, Pin>();
  #valueBytes = 0;
  /** Some entries may have no value yet (UnreadValues); none that is not in the content. */
  #hasUnread = false;

  constructor(window: EventWindow, slabs: ValueSlabs) {
    this.#window = window;
    this.#slabs = slabs;
  }

  get size(): number {
    return this.#tree.size;
  }

  /** Of those that are in memory; about, as long as some are not. */
  get valueBytes(): number {
    return Math.max(0, this.#valueBytes);
  }

  get slabBytes(): number {
    return this.#slabs.allocatedBytes;
  }

  get pins(): number {
    return this.#pins.size;
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

  /** Makes an entry for a value; it becomes part of the content by {@link put} or {@link replaceAll}. */
  makeEntry({ key, value, revision }: StoredValue): CachedEntry {
    const entry = new CachedEntry(key, revision, value.length);
    this.#slabs.store(entry, value);
    return entry;
  }

  /** Entries of a state of the store that is not read yet. */
  defer(state: DeferredState): UnreadValues {
    const onRead = (length: number): void => {
      this.#valueBytes += length;
    };
    this.#hasUnread = true;
    return new UnreadValues({ state, slabs: this.#slabs, onRead });
  }

  /** Reads what was loaded without values. */
  async fill(unread: UnreadValues, signal: AbortSignal): Promise<void> {
    await unread.fill(() => this.#tree, signal);
    this.#hasUnread = false;
  }

  /** Returns what it replaced, which the caller puts into the window. */
  put(entry: CachedEntry): CachedEntry | undefined {
    if (this.#hasUnread) readNow(this.#tree.get(entry.key));
    const previous = this.#tree.set(entry);
    if (previous !== undefined) this.#recent.delete(entry.key);
    this.#valueBytes += entry.length - (previous?.length ?? 0);
    this.#slabs.tidy(tidyStep);
    return previous;
  }

  /** Returns what it removed, which the caller puts into the window. */
  remove(key: string): CachedEntry | undefined {
    if (this.#hasUnread) readNow(this.#tree.get(key));
    const previous = this.#tree.delete(key);
    this.#recent.delete(key);
    this.#valueBytes -= previous?.length ?? 0;
    this.#slabs.tidy(tidyStep);
    return previous;
  }

  /** Entries from `from` to `to` (exclusive; undefined: the end) as they are now, at most `limit` of them. */
  range(from: string, to: string | undefined, limit?: number): readonly CachedEntry[] {
    return this.#tree.scan(from, to, limit);
  }

  /** Entries that were made and will not become part of the content. */
  giveBack(entries: readonly CachedEntry[]): void {
    for (const entry of entries) this.#slabs.release(entry);
  }

  /** Becomes what was loaded. */
  replaceAll({ tree, valueBytes, dropped }: LoadedContent): void {
    this.#tree = tree;
    this.#recent.clear();
    this.#valueBytes = valueBytes;
    this.#pins.clear();
    for (const entry of dropped) readNow(entry);
    this.giveBack(dropped);
  }

  /** The scope at `revision`. Throws CompactedError, FutureRevisionError. */
  snapshot(scope: string, revision: number, now: number): CacheSnapshot {
    if (revision > now) throw new FutureRevisionError(revision, now);
    const oldest = this.#window.oldestRevision;
    if (revision < oldest) throw new CompactedError(revision, oldest);
    return new RangeSnapshot(scope, revision, this.#viewAt(scope, revision, now));
  }

  /** The present, for any scope, to be looked at after it was replaced. */
  freeze(revision: number): (scope: string) => CacheSnapshot {
    const view = this.#tree.freeze();
    return (scope) => new RangeSnapshot(scope, revision, view);
  }

  /** Drops the states that the window has left behind. */
  dropOldPins(): void {
    const oldest = this.#window.oldestRevision;
    for (const [id, pin] of this.#pins) if (pin.revision < oldest) this.#pins.delete(id);
  }

  #viewAt(scope: string, revision: number, now: number): OrderedView<CachedEntry> {
    let nearest: Pin | undefined;
    for (const pin of this.#pins.values()) {
      const usable = pin.revision >= revision && (pin.scope === '' || inScope(pin.scope, scope));
      if (usable && (nearest === undefined || pin.revision < nearest.revision)) nearest = pin;
    }
    if (nearest?.revision === revision) return this.#pin(nearest).view;
    if (revision === now) return this.#pin({ revision, scope: '', view: this.#tree.freeze() }).view;
    const base = nearest ?? { revision: now, view: this.#tree.freeze() };
    const undone = this.#window.since(scope, revision, base.revision);
    if (undone.length === 0 && nearest !== undefined) return this.#pin(nearest).view;
    return this.#pin({ revision, scope, view: undo(base.view, undone) }).view;
  }

  #pin(pin: Pin): Pin {
    const id = `${pin.revision} ${pin.scope}`;
    this.#pins.delete(id);
    this.#pins.set(id, pin);
    if (this.#pins.size > maxPins) {
      for (const oldest of this.#pins.keys()) {
        this.#pins.delete(oldest);
        break;
      }
    }
    return pin;
  }
}

/** Its value is in memory from now on. Throws StorageUnavailableError. */
function readNow(entry: CachedEntry | undefined): void {
  if (entry?.offset === notRead) void entry.value;
}

/** The state before the events, oldest first: of each key what its first event replaced. */
function undo(view: OrderedView<CachedEntry>, events: readonly CachedEvent[]): OrderedView<CachedEntry> {
  const tree = view.thaw();
  const done = new Set<string>();
  for (const { key, previous } of events) {
    if (done.has(key)) continue;
    done.add(key);
    if (previous === undefined) tree.delete(key);
    else tree.set(previous);
  }
  return tree.freeze();
}
