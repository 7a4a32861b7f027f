import type { CacheIndex, CacheIndexDefinition } from '../cache-indexes.ts';
import { OrderedTree, type OrderedView } from '../ordered-tree.ts';
import type { CachedEntry } from './cached-entry.ts';
import type { CachedEvent } from './cached-event.ts';
import type { PinnedViews, Reversal } from './pinned-views.ts';
import { RangeSnapshot } from './range-snapshot.ts';
import { inScope, scopeEnd } from './scope.ts';
import type { Subscription, SubscriptionIndex } from './subscription-index.ts';

/** The objects, events and subscriptions of one value of an index. */
export class IndexedValue {
  readonly value: string;
  /** Shares the entries of the cache. */
  readonly tree = new OrderedTree<CachedEntry>();
  /** Number of the latest record in the window; −1: none. */
  latest = -1;
  subscriptions: SubscriptionIndex | undefined = undefined;

  constructor(value: string) {
    this.value = value;
  }
}

/** A change of an indexed object: the values that it had before and has after. */
export interface IndexedChange {
  readonly event: CachedEvent;
  readonly before: IndexedValue | undefined;
  readonly after: IndexedValue | undefined;
}

/** A change in the event window, chained with the older changes of the same values. */
interface ChangeRecord extends IndexedChange {
  /** Numbers of the previous records of `before` and of `after`; −1: none. */
  readonly olderBefore: number;
  readonly olderAfter: number;
}

export interface ValueIndexModules {
  /** States of older revisions, of all indexes. */
  readonly views: PinnedViews;
  /** Receives the errors of `valueOf`; the object then has no value. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * The index of one identity and name: the objects by value, and the events of the window by value.
 *
 *   trees     one per value, over the same entries as the cache: a pointer per object, no key. A snapshot freezes it.
 *   records   one per event of an indexed object, in order, evicted with the event. Each has the numbers of the previous
 *             records of its values, so that a resumed subscription and a snapshot of an older revision read the events of
 *             one value instead of those of the resource. An event that changes the value is in both chains.
 *   values    removed when they have no object, no event and no subscription
 */
export class ValueIndex implements CacheIndex {
  readonly definition: CacheIndexDefinition;
  readonly #modules: ValueIndexModules;
  #values = new Map<string, IndexedValue>();
  #records: (ChangeRecord | undefined)[] = [];
  #head = 0;
  /** Number of `#records[0]`. */
  #base = 0;
  #entries = 0;
  #isBuilt = false;
  #built = Promise.withResolvers<void>();

  constructor(definition: CacheIndexDefinition, modules: ValueIndexModules) {
    this.definition = definition;
    this.#modules = modules;
  }

  get isBuilt(): boolean {
    return this.#isBuilt;
  }

  get built(): Promise<void> {
    return this.#built.promise;
  }

  /** Objects with a value. */
  get entries(): number {
    return this.#entries;
  }

  get valueCount(): number {
    return this.#values.size;
  }

  /** Events of the window that changed such an object. */
  get events(): number {
    return this.#records.length - this.#head;
  }

  /** All objects and events of the window are indexed. */
  finish(): void {
    this.#isBuilt = true;
    this.#built.resolve();
  }

  /** The index is not used any more. */
  abandon(): void {
    this.#isBuilt = false;
    this.#built.resolve();
  }

  /** Starts over: the contents of the cache were replaced. There must be no subscriptions. */
  reset(): void {
    if (this.#isBuilt) this.#built = Promise.withResolvers<void>();
    this.#isBuilt = false;
    this.#values = new Map();
    this.#base += this.#records.length;
    this.#records = [];
    this.#head = 0;
    this.#entries = 0;
  }

  count(value: string, prefix: string): number | undefined {
    if (!this.#isBuilt) return undefined;
    const tree = this.#values.get(value)?.tree;
    if (tree === undefined) return 0;
    const end = scopeEnd(prefix);
    return (end === undefined ? tree.size : tree.rank(end)) - tree.rank(prefix);
  }

  values(): IterableIterator<string> {
    return this.#values.keys();
  }

  /** Adds an object of the cache. */
  insert(entry: CachedEntry): void {
    const value = this.#valueOf(entry);
    if (value !== undefined) this.#put(value, entry);
  }

  /** Updates the objects for an event. */
  change({ event, before, after }: IndexedChange): void {
    if (before !== undefined && before !== after && before.tree.delete(event.key) !== undefined) this.#entries--;
    if (after !== undefined && event.current !== undefined) this.#put(after, event.current);
    if (before !== after) this.#dropUnused(before);
  }

  /** The values of an event; undefined if it is none of an indexed object. */
  valuesOf(event: CachedEvent): IndexedChange | undefined {
    const before = event.previous && this.#valueOf(event.previous);
    const after = event.current && this.#valueOf(event.current);
    return before === undefined && after === undefined ? undefined : { event, before, after };
  }

  /** Appends the newest event of the window. */
  record({ event, before, after }: IndexedChange): void {
    const number = this.#base + this.#records.length;
    this.#records.push({ event, before, after, olderBefore: before?.latest ?? -1, olderAfter: after?.latest ?? -1 });
    if (before !== undefined) before.latest = number;
    if (after !== undefined) after.latest = number;
  }

  /** The oldest event of the window is evicted. */
  evict(event: CachedEvent): void {
    const record = this.#records[this.#head];
    if (record?.event !== event) return;
    const number = this.#base + this.#head;
    this.#records[this.#head++] = undefined;
    for (const value of [record.before, record.after]) {
      if (value?.latest !== number) continue;
      value.latest = -1;
      this.#dropUnused(value);
    }
    if (this.#head >= 1024 && this.#head * 2 >= this.#records.length) {
      this.#records = this.#records.slice(this.#head);
      this.#base += this.#head;
      this.#head = 0;
    }
  }

  /** The objects of a value below a scope, at a revision of the window; `now` is the revision of the cache. */
  snapshot(value: string, scope: string, revision: number, now: number): RangeSnapshot {
    return new RangeSnapshot(scope, revision, this.#viewAt(value, revision, now), true);
  }

  /** The events of a value in a scope with a revision > `after`, oldest first. */
  since(value: string, scope: string, after: number): CachedEvent[] {
    const found: CachedEvent[] = [];
    for (const { event } of this.#chain(this.#values.get(value), after))
      if (inScope(scope, event.key)) found.push(event);
    return found.toReversed();
  }

  /** Delivers the events of a value to a subscription from now on. */
  subscribe(value: string, subscription: Subscription, create: () => SubscriptionIndex): SubscriptionIndex {
    const subscriptions = (this.#known(value).subscriptions ??= create());
    subscriptions.add(subscription);
    return subscriptions;
  }

  /** A subscription of the value has ended. */
  unsubscribed(value: string): void {
    const known = this.#values.get(value);
    if (known?.subscriptions?.size !== 0) return;
    known.subscriptions = undefined;
    this.#dropUnused(known);
  }

  /** The subscriptions by value. */
  *subscriptions(): Generator<SubscriptionIndex, void, void> {
    for (const { subscriptions } of this.#values.values()) if (subscriptions !== undefined) yield subscriptions;
  }

  #viewAt(value: string, revision: number, now: number): OrderedView<CachedEntry> {
    const known = this.#values.get(value);
    const { identity, name } = this.definition;
    const scope = `${identity} ${name} ${value}`;
    return this.#modules.views.viewAt(
      {
        scope,
        currentScope: scope,
        now,
        covers: (other) => other === scope,
        freeze: () => known?.tree.freeze() ?? noObjects,
        since: (after, upTo) => this.#reversals(known, after, upTo),
      },
      revision,
    );
  }

  /** What leads back to an older state of a value: an object that came from another value was not there before. */
  #reversals(known: IndexedValue | undefined, after: number, upTo: number): Reversal[] {
    const found: Reversal[] = [];
    for (const { event, before } of this.#chain(known, after)) {
      if (event.revision > upTo) continue;
      found.push({ key: event.key, previous: before === known ? event.previous : undefined });
    }
    return found.toReversed();
  }

  /** The records of a value with a revision > `after`, newest first. */
  *#chain(known: IndexedValue | undefined, after: number): Generator<ChangeRecord, void, void> {
    for (let number = known?.latest ?? -1; ;) {
      const at = number - this.#base;
      const record = at >= this.#head ? this.#records[at] : undefined;
      if (record === undefined || record.event.revision <= after) return;
      yield record;
      number = record.before === known ? record.olderBefore : record.olderAfter;
    }
  }

  #valueOf(entry: CachedEntry): IndexedValue | undefined {
    try {
      const value = this.definition.valueOf(entry);
      return value === undefined ? undefined : this.#known(value);
    } catch (error) {
      this.#modules.onFailure(error);
      return undefined;
    }
  }

  #known(value: string): IndexedValue {
    let known = this.#values.get(value);
    if (known === undefined) this.#values.set(value, (known = new IndexedValue(value)));
    return known;
  }

  #put({ tree }: IndexedValue, entry: CachedEntry): void {
    if (tree.set(entry) === undefined) this.#entries++;
  }

  #dropUnused(known: IndexedValue | undefined): void {
    if (known?.tree.size !== 0 || known.latest >= 0 || known.subscriptions !== undefined) return;
    if (this.#values.get(known.value) === known) this.#values.delete(known.value);
  }
}

const noObjects = new OrderedTree<CachedEntry>().freeze();
