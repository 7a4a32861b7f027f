import { timeSlices } from '@multiplane/component-base';
import type { CacheIndexDefinition, CacheIndexes, ValueRequirement } from '../cache-indexes.ts';
import { compareKeys } from '../key-order.ts';
import type { CacheSnapshot, SubscribeOptions } from '../watch-cache-interface.ts';
import type { CacheContents } from './cache-contents.ts';
import type { CachedEvent } from './cached-event.ts';
import type { EventWindow } from './event-window.ts';
import { PinnedViews } from './pinned-views.ts';
import { identityOf, resourcePrefixOf, scopeEnd } from './scope.ts';
import { type Subscription, SubscriptionIndex } from './subscription-index.ts';
import { type IndexedChange, ValueIndex } from './value-index.ts';

/** Indexes of one identity: every event of the identity is compared with each of them. Further ones wait for a removal. */
const maxIndexesPerIdentity = 16;
/** Objects or events that are indexed between two looks at the clock. */
const batchSize = 100;

export interface ValueIndexesModules {
  readonly contents: CacheContents;
  readonly window: EventWindow;
  /** The subscriptions that no index serves. */
  readonly subscriptions: SubscriptionIndex;
  /** Resolves when the contents and all their values are in memory; rejects when they never will be. */
  readonly loaded: () => Promise<unknown>;
  readonly onFailure: (error: unknown, what: string) => void;
  readonly onSubscriberFailure: (subscription: Subscription, error: unknown) => void;
}

/** An index and the progress of its construction. */
interface Slot {
  readonly index: ValueIndex;
  /** Keys before it are indexed; undefined: all. */
  indexedBefore: string | undefined;
  /** Events with smaller sequence numbers are recorded; Infinity: all, also those to come. */
  recordedBefore: number;
  isWanted: boolean;
  /** Identity of the pass that builds it; undefined: not started. */
  pass: object | undefined;
}

/**
 * The indexes of the watch cache: reads and watches of the objects with one value cost work for these alone.
 *
 *   find       by identity, which is a segment of each key, then by name; one map lookup for an event of another identity
 *   apply      the reflector passes each event after it changed the contents; objects and events of its values are updated
 *   dispatch   after all events of a revision: to the subscriptions of the value before and of the value after
 *   build      1. objects, in key order and time slices, from the live contents. An event of a key that was visited updates
 *                 the index at once; of other keys the pass will find the result.
 *              2. the events of the window, oldest first, until the pass has caught up with the newest
 *              3. the subscriptions that wait for this index move to it
 *              The cache is read without an index meanwhile.
 *   remove     takes effect in a microtask, since an informer may remove an index while events are dispatched: its
 *              subscriptions move back, and none gets an event twice or never
 *   reset      the contents were replaced: all indexes are built again
 */
export class ValueIndexes implements CacheIndexes {
  readonly #modules: ValueIndexesModules;
  /** In the order of their addition. */
  readonly #slots = new Map<string, Map<string, Slot>>();
  /** Changes of the revision that is applied. */
  #pending: IndexedChange[] = [];
  /** Of all indexes, so that their number is bounded. */
  readonly #views = new PinnedViews();
  #size = 0;
  #closed = false;

  constructor(modules: ValueIndexesModules) {
    this.#modules = modules;
  }

  get size(): number {
    return this.#size;
  }

  /** Counts over all indexes. */
  get statistics(): {
    readonly entries: number;
    readonly events: number;
    readonly values: number;
    readonly subscriptions: number;
  } {
    let [entries, events, values, subscriptions] = [0, 0, 0, 0];
    for (const { index } of this.#all()) {
      entries += index.entries;
      events += index.events;
      values += index.valueCount;
      for (const { size } of index.subscriptions()) subscriptions += size;
    }
    return { entries, events, values, subscriptions };
  }

  add(definition: CacheIndexDefinition): void {
    const { identity, name } = definition;
    let names = this.#slots.get(identity);
    if (names === undefined) this.#slots.set(identity, (names = new Map<string, Slot>()));
    const known = names.get(name);
    if (known !== undefined) {
      known.isWanted = true;
      return;
    }
    const index = new ValueIndex(definition, {
      views: this.#views,
      onFailure: (error) => this.#modules.onFailure(error, `failed to index an object by ${name}`),
    });
    const slot = { index, indexedBefore: '', recordedBefore: 0, isWanted: true, pass: undefined };
    names.set(name, slot);
    this.#size++;
    if (names.size <= maxIndexesPerIdentity) this.#start(slot);
  }

  remove(identity: string, name: string): void {
    const slot = this.#slots.get(identity)?.get(name);
    if (slot === undefined) return;
    slot.isWanted = false;
    queueMicrotask(() => {
      if (!slot.isWanted) this.#drop(slot);
    });
  }

  find(prefix: string, name: string): ValueIndex | undefined {
    if (this.#size === 0) return undefined;
    const identity = identityOf(prefix);
    return identity === undefined ? undefined : this.#slots.get(identity)?.get(name)?.index;
  }

  /** The objects of a requirement below a scope; undefined without a built index. */
  snapshot(scope: string, { name, value }: ValueRequirement, revision: number, now: number): CacheSnapshot | undefined {
    const index = this.find(scope, name);
    return index?.isBuilt === true ? index.snapshot(value, scope, revision, now) : undefined;
  }

  /** The events that a subscription of the requirement missed; undefined without a built index. */
  since(scope: string, { name, value }: ValueRequirement, after: number): CachedEvent[] | undefined {
    const index = this.find(scope, name);
    return index?.isBuilt === true ? index.since(value, scope, after) : undefined;
  }

  /** Adds a subscription with a requirement; false without a built index. */
  subscribe(subscription: Subscription): boolean {
    const { scope, where } = subscription.options;
    if (where === undefined) return false;
    const index = this.find(scope, where.name);
    if (index?.isBuilt !== true) return false;
    this.#attach(index, subscription);
    return true;
  }

  apply(event: CachedEvent): void {
    if (this.#size === 0) return;
    const identity = identityOf(event.key);
    const names = identity === undefined ? undefined : this.#slots.get(identity);
    if (names === undefined) return;
    for (const slot of names.values()) {
      const { index, indexedBefore, recordedBefore } = slot;
      if (indexedBefore !== undefined && compareKeys(event.key, indexedBefore) >= 0) continue;
      const change = index.valuesOf(event);
      if (change === undefined) continue;
      // The record first: it keeps a value that loses its last object.
      if (recordedBefore === Infinity) index.record(change);
      index.change(change);
      if (index.isBuilt) this.#pending.push(change);
    }
  }

  dispatch(): void {
    if (this.#pending.length === 0) return;
    const changes = this.#pending;
    this.#pending = [];
    for (const { event, before, after } of changes) {
      before?.subscriptions?.dispatch(event);
      if (after !== before) after?.subscriptions?.dispatch(event);
    }
  }

  evict(event: CachedEvent): void {
    if (this.#size === 0) return;
    const identity = identityOf(event.key);
    const names = identity === undefined ? undefined : this.#slots.get(identity);
    if (names !== undefined) for (const { index } of names.values()) index.evict(event);
  }

  dropOldPins(): void {
    this.#views.dropBefore(this.#modules.window.oldestRevision);
  }

  /** Removes and returns all subscriptions. */
  clear(): Subscription[] {
    const all = [...this.#all()].flatMap(({ index }) => this.#detach(index));
    for (const subscription of all) subscription.active = false;
    return all;
  }

  /** The contents and the window were replaced. Subscriptions move back; the reflector ends them. */
  reset(): void {
    this.#views.clear();
    for (const slot of this.#all()) {
      for (const subscription of this.#detach(slot.index)) this.#modules.subscriptions.add(subscription);
      slot.index.reset();
      if (slot.pass !== undefined) this.#start(slot);
    }
  }

  close(): void {
    this.#closed = true;
    for (const { index } of this.#all()) index.abandon();
  }

  *#all(): Generator<Slot, void, void> {
    for (const names of this.#slots.values()) yield* names.values();
  }

  #drop(slot: Slot): void {
    const { identity, name } = slot.index.definition;
    const names = this.#slots.get(identity);
    if (names?.get(name) !== slot) return;
    names.delete(name);
    this.#size--;
    slot.pass = undefined;
    slot.index.abandon();
    for (const subscription of this.#detach(slot.index)) this.#modules.subscriptions.add(subscription);
    if (names.size === 0) this.#slots.delete(identity);
    const [waiting] = [...names.values()].slice(maxIndexesPerIdentity - 1);
    if (waiting !== undefined) this.#start(waiting);
  }

  #attach(index: ValueIndex, subscription: Subscription): void {
    const { onSubscriberFailure } = this.#modules;
    const value = subscription.options.where?.value ?? '';
    index.subscribe(
      value,
      subscription,
      () => new SubscriptionIndex(onSubscriberFailure, () => index.unsubscribed(value)),
    );
  }

  #detach(index: ValueIndex): Subscription[] {
    return [...index.subscriptions()].flatMap((subscriptions) => subscriptions.take(() => true));
  }

  #start(slot: Slot): void {
    const pass = {};
    slot.pass = pass;
    slot.indexedBefore = '';
    slot.recordedBefore = 0;
    // The pass ends when the index is removed, or when the contents are replaced and another pass starts.
    const isCurrent = (): boolean => !this.#closed && slot.pass === pass;
    this.#build(slot, isCurrent).catch((error: unknown) => {
      if (!isCurrent()) return;
      slot.index.abandon();
      this.#modules.onFailure(error, 'failed to build an index of the watch cache');
    });
  }

  async #build(slot: Slot, isCurrent: () => boolean): Promise<void> {
    await this.#modules.loaded();
    const slices = timeSlices();
    const steps = [() => this.#indexBatch(slot), () => this.#recordBatch(slot)];
    for (const step of steps) {
      for (;;) {
        if (slices.isExceeded) await slices.yield();
        if (!isCurrent()) return;
        if (step()) break;
      }
    }
    const { index } = slot;
    index.finish();
    for (const subscription of this.#modules.subscriptions.take((options) => isFor(index, options)))
      this.#attach(index, subscription);
  }

  /** Indexes the next objects; true when none is left. */
  #indexBatch(slot: Slot): boolean {
    const { contents } = this.#modules;
    const from = slot.indexedBefore ?? '';
    const [first] = contents.range(from, undefined, 1);
    if (first === undefined) {
      slot.indexedBefore = undefined;
      return true;
    }
    const resource = resourcePrefixOf(first.key);
    if (resource === undefined) {
      slot.indexedBefore = `${first.key}\0`;
      return false;
    }
    const start = `${resource}${slot.index.definition.identity}/`;
    const batch = contents.range(compareKeys(from, start) > 0 ? from : start, scopeEnd(start), batchSize);
    for (const entry of batch) slot.index.insert(entry);
    const last = batch.length < batchSize ? undefined : batch.at(-1);
    slot.indexedBefore = last === undefined ? scopeEnd(resource) : `${last.key}\0`;
    return false;
  }

  /** Records the next events of the window; true when it has reached the newest. */
  #recordBatch(slot: Slot): boolean {
    const { window } = this.#modules;
    let sequence = Math.max(slot.recordedBefore, window.firstSequence);
    const end = Math.min(sequence + batchSize, window.nextSequence);
    for (; sequence < end; sequence++) {
      const event = window.at(sequence);
      if (event === undefined || identityOf(event.key) !== slot.index.definition.identity) continue;
      const change = slot.index.valuesOf(event);
      if (change !== undefined) slot.index.record(change);
    }
    const isComplete = sequence === window.nextSequence;
    slot.recordedBefore = isComplete ? Infinity : sequence;
    return isComplete;
  }
}

function isFor({ definition }: ValueIndex, { scope, where }: SubscribeOptions): boolean {
  return where?.name === definition.name && identityOf(scope) === definition.identity;
}
