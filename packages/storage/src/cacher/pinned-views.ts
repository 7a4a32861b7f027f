import type { OrderedView } from '../ordered-tree.ts';
import type { CachedEntry } from './cached-entry.ts';

/** Snapshots of older revisions that are kept for the next page of a list. */
const maxPins = 64;

interface Pin {
  readonly revision: number;
  readonly scope: string;
  readonly view: OrderedView<CachedEntry>;
}

/** What replaced an entry: the entry before the change, undefined if there was none. */
export interface Reversal {
  readonly key: string;
  readonly previous: CachedEntry | undefined;
}

/** A state that changes with each event, and the events that lead back from it. */
export interface ViewSource {
  /** The part of the state that is wanted: only its events are reverted. */
  readonly scope: string;
  /** The scope of a view of the current state, which nothing was reverted from. */
  readonly currentScope: string;
  /** The revision of the current state. */
  readonly now: number;
  /** True if a view of another scope contains this one. */
  covers(scope: string): boolean;
  freeze(): OrderedView<CachedEntry>;
  /** Changes of the scope with a revision in (after, upTo], oldest first. */
  since(after: number, upTo: number): readonly Reversal[];
}

/**
 * States of older revisions. One starts from the nearest pinned view that is not older and reverts the events in between.
 * Paged lists find their pin and revert nothing. Pins are evicted in LRU order and when the event window has moved past them,
 * so the memory that they retain is bounded by the window.
 */
export class PinnedViews {
  /** By revision and scope, least recently used first. */
  readonly #pins = new Map<string, Pin>();

  get size(): number {
    return this.#pins.size;
  }

  clear(): void {
    this.#pins.clear();
  }

  /** Evicts the pins before a revision: those older than the event window. */
  dropBefore(revision: number): void {
    for (const [id, pin] of this.#pins) if (pin.revision < revision) this.#pins.delete(id);
  }

  viewAt(source: ViewSource, revision: number): OrderedView<CachedEntry> {
    const { scope, currentScope, now } = source;
    let nearest: Pin | undefined;
    for (const pin of this.#pins.values()) {
      const usable = pin.revision >= revision && source.covers(pin.scope);
      if (usable && (nearest === undefined || pin.revision < nearest.revision)) nearest = pin;
    }
    if (nearest?.revision === revision) return this.#pin(nearest).view;
    if (revision === now) return this.#pin({ revision, scope: currentScope, view: source.freeze() }).view;
    const base = nearest ?? { revision: now, view: source.freeze() };
    const reverted = source.since(revision, base.revision);
    if (reverted.length === 0 && nearest !== undefined) return this.#pin(nearest).view;
    return this.#pin({ revision, scope, view: revert(base.view, reverted) }).view;
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

/** The state before the changes, which are sorted oldest first: of each key the entry that its first change replaced. */
function revert(view: OrderedView<CachedEntry>, changes: readonly Reversal[]): OrderedView<CachedEntry> {
  const tree = view.thaw();
  const done = new Set<string>();
  for (const { key, previous } of changes) {
    if (done.has(key)) continue;
    done.add(key);
    if (previous === undefined) tree.delete(key);
    else tree.set(previous);
  }
  return tree.freeze();
}
