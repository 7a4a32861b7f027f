import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type Clock, type Timer, untilAborted } from '@multiplane/component-base';
import type { ValueRequirement } from '../cache-indexes.ts';
import { localRevisionOf } from '../capabilities/local-revision.ts';
import { supportsStreamingList } from '../capabilities/streaming-list.ts';
import { CompactedError, StorageUnavailableError, isStorageError } from '../errors.ts';
import type { Storage, StorageEvent, WatchBatch } from '../interface.ts';
import type { CacheSnapshot, SubscribeOptions } from '../watch-cache-interface.ts';
import { CacheContents } from './cache-contents.ts';
import type { CachedEntry } from './cached-entry.ts';
import type { CachedEvent } from './cached-event.ts';
import type { ContentObserver } from './content-observer.ts';
import { loadContent } from './content-loader.ts';
import { EventWindow, type EventWindowOptions, ratePeriodSeconds } from './event-window.ts';
import type { LoadedContent } from './loaded-content.ts';
import { RevisionWaiters } from './revision-waiters.ts';
import type { LazyValues } from './lazy-values.ts';
import { ValueIndexes } from './value-indexes.ts';
import { ValueSlabs } from './value-slabs.ts';
import { Subscription, SubscriptionIndex } from './subscription-index.ts';

export interface CacheReflectorOptions extends EventWindowOptions {
  readonly prefix: string;
  readonly pageSize: number;
  /** The first load is this many revisions back, as far as the store has the history. */
  readonly historyRevisions: number;
  /** Milliseconds before retry number `attempt` (from 0) of the watch of the store. */
  readonly retryDelayMs: (attempt: number) => number;
}

export interface CacheReflectorModules {
  readonly storage: Storage;
  readonly clock: Clock;
  /** Lazy values are loaded after this; absent: as soon as the cache is ready. */
  readonly loadValuesAfter?: Promise<unknown> | undefined;
  /** Follows the contents; absent: none. */
  readonly observer?: ContentObserver | undefined;
  /** Receives every handled failure with the number of consecutive failures; for logs. */
  readonly onError: (error: unknown, what: string, failures: number) => void;
}

/** The longest time that a batch is applied without yielding to the event loop. */
const timeSliceMs = 5;

/**
 * Keeps the contents of the cache equal to the store, as a client-go reflector does with its list and watch.
 *
 *   load     reads everything at one revision R beside the old contents, then replaces these; the event window restarts at
 *            R. For the first load R lies `historyRevisions` back, so that the watch fills the window and clients with a
 *            resourceVersion or continue token from before the restart can resume. A store with lazy reads fills the
 *            window from its history instead and loads the values later, or on access (LazyValues).
 *   watch    one watch of the whole prefix after R. Each revision is a unit, applied without yielding:
 *            1. apply its events to the contents, append them to the window, and update the indexes
 *            2. set `revision`
 *            3. dispatch its events to the subscriptions, in order
 *            4. trim the window
 *            so every reader sees the state of the store at `revision`, and every subscriber has received all events up to
 *            it. Between two revisions of a long batch the loop yields.
 *   errors   Compacted: the missed events cannot be reconstructed. Load again and end all subscriptions; their clients
 *            list again, as after 410 from etcd.
 *            Unavailable: nothing is lost while the store keeps the history after `revision`. Ask for its current
 *            revision until it responds, then resume the watch. A revision below `revision` means that the store was
 *            restored from a backup: load again.
 *            Anything else is a bug or a broken store: report it and load again.
 *
 * `ready` is true from the moment when the cache has everything that the store had at the request for its revision, until
 * the watch ends. In between, the old contents may be stale, and consistent reads go to the store.
 */
export class CacheReflector {
  readonly contents: CacheContents;
  readonly window: EventWindow;
  readonly waiters: RevisionWaiters;
  readonly subscriptions: SubscriptionIndex;
  readonly indexes: ValueIndexes;
  readonly #options: CacheReflectorOptions;
  readonly #modules: CacheReflectorModules;
  readonly #abort = new AbortController();
  /** Ends the current watch. */
  #watching = new AbortController();
  readonly #loaded = Promise.withResolvers<void>();
  readonly #valuesLoaded = Promise.withResolvers<void>();
  #lazyValues: LazyValues | undefined;
  #loadingValues: Promise<void> | undefined;
  #areValuesLoaded = false;
  readonly #stopped: Promise<void>;
  #ready = false;
  /** The contents were up to date once. */
  #hasContent = false;
  #revision = 0;
  /** The revision that makes the cache ready. */
  #target = 0;
  #attempt = 0;
  #shrinkTimer: Timer | undefined;

  constructor(options: CacheReflectorOptions, modules: CacheReflectorModules) {
    this.#options = options;
    this.#modules = modules;
    const slabs = new ValueSlabs();
    this.window = new EventWindow(options, (event) => {
      if (event.previous !== undefined) slabs.release(event.previous);
      this.indexes.evict(event);
    });
    this.contents = new CacheContents(this.window, slabs);
    this.waiters = new RevisionWaiters(modules.clock);
    const onSubscriberFailure = (subscription: Subscription, error: unknown): void =>
      this.#endFailed(subscription, error);
    this.subscriptions = new SubscriptionIndex(onSubscriberFailure);
    this.indexes = new ValueIndexes({
      contents: this.contents,
      window: this.window,
      subscriptions: this.subscriptions,
      loaded: () => Promise.all([this.loaded, this.valuesLoaded]),
      onFailure: (error, what) => this.#modules.onError(error, what, 1),
      onSubscriberFailure,
    });
    // Prevents unhandled rejections when no caller waits.
    this.#loaded.promise.catch(() => undefined);
    this.#valuesLoaded.promise.catch(() => undefined);
    this.#stopped = this.#run();
  }

  get loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  /** Resolves when all values are in memory; rejects when one cannot be read. */
  get valuesLoaded(): Promise<void> {
    return this.#valuesLoaded.promise;
  }

  get areValuesLoaded(): boolean {
    return this.#areValuesLoaded;
  }

  /** True after the first load; the contents may be stale. */
  get hasContent(): boolean {
    return this.#hasContent;
  }

  get ready(): boolean {
    return this.#ready;
  }

  get revision(): number {
    return this.#revision;
  }

  get closed(): boolean {
    return this.#abort.signal.aborted;
  }

  subscribe(options: SubscribeOptions): () => void {
    if (this.closed) throw closedError();
    if (!this.#hasContent) throw new StorageUnavailableError('the watch cache is not loaded yet');
    const replay = this.#missedEvents(options);
    const subscription = new Subscription(options, this.window.nextSequence);
    if (!this.indexes.subscribe(subscription)) this.subscriptions.add(subscription);
    for (const event of replay) {
      if (!subscription.active) break;
      subscription.home?.deliver(subscription, event);
    }
    return () => subscription.home?.remove(subscription);
  }

  #missedEvents({ scope, after, where }: SubscribeOptions): CachedEvent[] {
    const { oldestRevision } = this.window;
    if (after < oldestRevision) throw new CompactedError(after, oldestRevision);
    const indexed = where && this.indexes.since(scope, where, after);
    return indexed ?? this.window.since(scope, after);
  }

  /** A scope at a revision of the window. Throws CompactedError, FutureRevisionError. */
  snapshot(scope: string, revision: number, where?: ValueRequirement): CacheSnapshot {
    const now = this.#revision;
    this.contents.checkRevision(revision, now);
    const indexed = where && this.indexes.snapshot(scope, where, revision, now);
    return indexed ?? this.contents.snapshot(scope, revision, now);
  }

  /** Evicts snapshots that are older than the event window. */
  dropOldPins(): void {
    this.contents.dropOldPins();
    this.indexes.dropOldPins();
  }

  /** Loads again: the contents do not match the store any more. */
  restart(reason: Error): void {
    this.#ready = false;
    this.#watching.abort(reason);
  }

  /** Ends everything; resolves when the watch of the store has ended. */
  async close(): Promise<void> {
    if (!this.closed) {
      const error = closedError();
      this.#abort.abort(error);
      this.#watching.abort(error);
      this.#ready = false;
      this.#shrinkTimer?.cancel();
      this.indexes.close();
      this.#loaded.reject(error);
      this.#valuesLoaded.reject(error);
      this.waiters.failAll(error);
      this.#endAll(error);
    }
    await this.#stopped;
    await this.#loadingValues;
    await this.#lazyValues?.release();
  }

  #shrinkLater(): void {
    if (this.#shrinkTimer !== undefined || this.closed || !this.window.isLarge) return;
    this.#shrinkTimer = this.#modules.clock.after(ratePeriodSeconds * 1000, () => {
      this.#shrink()
        .catch((error: unknown) => this.#modules.onError(error, 'failed to shrink the event window', 1))
        .finally(() => {
          this.#shrinkTimer = undefined;
          this.#shrinkLater();
        });
    });
  }

  /** Releases the memory of events that are older than the current rate of writes allows, and compacts the slabs. */
  async #shrink(): Promise<void> {
    const { clock } = this.#modules;
    let started = clock.monotonic();
    const oldest = this.window.oldestRevision;
    const pause = async (): Promise<void> => {
      if (clock.monotonic() - started < timeSliceMs) return;
      await yieldToEventLoop();
      started = clock.monotonic();
    };
    for (const _ of this.window.shrink()) {
      await pause();
      if (this.closed) return;
    }
    if (this.window.oldestRevision === oldest) return;
    this.dropOldPins();
    while (this.contents.compact() && !this.closed) await pause();
  }

  async #run(): Promise<void> {
    let resume = false;
    while (!this.closed) {
      try {
        await (resume ? this.#probe() : this.#load());
        if (this.closed) return;
        resume = true;
        this.#onProgress();
        await this.#watch();
      } catch (error) {
        this.#ready = false;
        if (this.closed) return;
        resume = resume && isStorageError(error, 'Unavailable');
        const what = resume ? 'the watch of the store was interrupted' : 'the watch cache loads again';
        this.#modules.onError(error, what, this.#attempt + 1);
        await this.#pause(this.#options.retryDelayMs(this.#attempt++));
      }
    }
  }

  /** Called after `#revision` may have changed and its events were dispatched. */
  #onProgress(): void {
    if (this.#revision >= this.#target) {
      this.#ready = true;
      this.#hasContent = true;
      this.#loaded.resolve();
    }
    if (this.#hasContent) this.waiters.reached(this.#revision);
  }

  async #pause(ms: number): Promise<void> {
    await this.#modules.clock.sleep(ms, this.#abort.signal).catch(() => undefined);
  }

  async #probe(): Promise<void> {
    const current = await this.#modules.storage.currentRevision();
    if (current < this.#revision) throw new CompactedError(this.#revision, current);
    this.#target = current;
  }

  async #load(): Promise<void> {
    const content = this.#hasContent ? await this.#read() : await this.#readInitial();
    if (content.revision < this.#revision) {
      const error = new Error(`the revision of the store went back from ${this.#revision} to ${content.revision}`);
      this.#modules.onError(error, 'the store assigns revisions a second time', 1);
    }
    // All events up to this revision are dispatched. Freeze the snapshot for onEnd before the contents are replaced.
    const before = this.#hasContent ? this.contents.freeze(this.#revision) : undefined;
    this.contents.replaceAll(content);
    this.#resetWindow(content);
    this.indexes.reset();
    this.#modules.observer?.replaced((from, limit) => this.contents.range(from, undefined, limit));
    this.#revision = content.revision;
    if (this.#hasContent) this.#target = content.revision;
    this.#loadingValues ??= this.#loadValues(content.lazyValues);
    this.#onProgress();
    this.#endAll(new CompactedError(0, content.revision), before);
  }

  #resetWindow({ revision, resources, changes = [] }: LoadedContent): void {
    const second = Math.trunc(this.#modules.clock.monotonic() / 1000);
    this.window.reset(revision - changes.length, resources);
    for (const { current, previous, revision: at } of changes) this.window.append(current, previous, at, second);
    this.window.trim(second);
    this.#shrinkLater();
  }

  /**
   * Loads the lazy values of the first contents while the watch runs. If the cache loads again meanwhile, that load brings
   * the values of all entries that it keeps into memory.
   */
  async #loadValues(lazyValues: LazyValues | undefined): Promise<void> {
    this.#lazyValues = lazyValues;
    const { signal } = this.#abort;
    try {
      if (lazyValues !== undefined) {
        await untilAborted(Promise.all([this.#loaded.promise, this.#modules.loadValuesAfter]), signal);
        signal.throwIfAborted();
        await this.contents.loadLazyValues(lazyValues, signal);
      }
      this.#areValuesLoaded = true;
      this.#valuesLoaded.resolve();
    } catch (error) {
      this.#valuesLoaded.reject(error);
      if (!this.closed) this.#modules.onError(error, 'failed to load values from the store', 1);
    }
  }

  #read(revision?: number): Promise<LoadedContent> {
    const { signal } = this.#abort;
    const allowLazyValues = this.#loadingValues === undefined;
    return loadContent(this.#modules.storage, this.contents, { ...this.#options, revision, allowLazyValues, signal });
  }

  /** Reads the state `historyRevisions` back, or the oldest state that the store has. */
  async #readInitial(): Promise<LoadedContent> {
    const { storage } = this.#modules;
    const current = localRevisionOf(storage) ?? (await storage.currentRevision());
    this.#target = current;
    if (supportsStreamingList(storage)) return await this.#read();
    let from = current > 1 ? Math.max(1, current - this.#options.historyRevisions) : undefined;
    for (let tries = 0; tries < 2; tries++) {
      try {
        return await this.#read(from);
      } catch (error) {
        if (!(error instanceof CompactedError)) throw error;
        from = error.oldest;
      }
    }
    return await this.#read();
  }

  async #watch(): Promise<void> {
    const { prefix } = this.#options;
    this.#watching = new AbortController();
    const { signal } = this.#watching;
    const options = { after: this.#revision, signal, heldKeys: () => this.contents.size };
    for await (const batch of this.#modules.storage.watch(prefix, options)) {
      this.#attempt = 0;
      await this.#apply(batch, signal);
      if (signal.aborted) break;
    }
    signal.throwIfAborted();
    throw new StorageUnavailableError('the watch of the store ended');
  }

  async #apply({ events, revision }: WatchBatch, signal: AbortSignal): Promise<void> {
    const { clock } = this.#modules;
    let started = clock.monotonic();
    for (let next = 0; next < events.length;) {
      next = this.#applyRevision(events, next);
      if (next === events.length || clock.monotonic() - started < timeSliceMs) continue;
      this.#onProgress();
      await yieldToEventLoop();
      if (signal.aborted) return;
      started = clock.monotonic();
    }
    if (revision > this.#revision) this.#revision = revision;
    this.#onProgress();
  }

  /** Applies the events from index `first` that share its revision; returns the index of the next revision. */
  #applyRevision(events: readonly StorageEvent[], first: number): number {
    const { revision } = events[first] as StorageEvent;
    const second = Math.trunc(this.#modules.clock.monotonic() / 1000);
    const changes: CachedEvent[] = [];
    let next = first;
    for (; next < events.length && events[next]?.revision === revision; next++) {
      // Events that the store repeats after a reconnect must not be dispatched twice.
      if (revision <= this.#revision) continue;
      this.#applyEvent(events[next] as StorageEvent, second, changes);
    }
    if (revision > this.#revision) this.#revision = revision;
    for (const change of changes) this.subscriptions.dispatch(change);
    this.indexes.dispatch();
    const oldest = this.window.oldestRevision;
    this.window.trim(second);
    if (this.window.oldestRevision !== oldest) this.dropOldPins();
    this.#shrinkLater();
    return next;
  }

  /** Applies one event; first a delete when the store omitted the delete of an older object with the same key. */
  #applyEvent(
    { type, key, value, revision, createRevision }: StorageEvent,
    second: number,
    changes: CachedEvent[],
  ): void {
    if (type === 'delete' || value === undefined) {
      this.#remove(key, revision, second, changes);
      return;
    }
    const known = createRevision === undefined ? undefined : this.contents.get(key);
    if (known !== undefined && known.revision < (createRevision as number))
      this.#remove(key, revision, second, changes);
    const entry = this.contents.createEntry({ key, value, revision });
    this.#append(entry, this.contents.put(entry), revision, second, changes);
  }

  #remove(key: string, revision: number, second: number, changes: CachedEvent[]): void {
    const removed = this.contents.remove(key);
    if (removed !== undefined) this.#append(undefined, removed, revision, second, changes);
  }

  #append(
    current: CachedEntry | undefined,
    previous: CachedEntry | undefined,
    revision: number,
    second: number,
    changes: CachedEvent[],
  ): void {
    const event = this.window.append(current, previous, revision, second);
    this.indexes.apply(event);
    this.#modules.observer?.changed(current, previous, this.#hasContent);
    changes.push(event);
  }

  #endAll(reason: Error, before?: (scope: string) => CacheSnapshot): void {
    const all = [...this.subscriptions.clear(), ...this.indexes.clear()];
    for (const subscription of all) this.#end(subscription, reason, before);
  }

  #endFailed(subscription: Subscription, error: unknown): void {
    this.#modules.onError(error, `a subscriber of ${subscription.options.scope} failed and was removed`, 1);
    this.#end(subscription, new Error('the subscriber failed', { cause: error }));
  }

  #end({ options }: Subscription, reason: Error, before?: (scope: string) => CacheSnapshot): void {
    try {
      options.onEnd(reason, before?.(options.scope));
    } catch (error) {
      this.#modules.onError(error, `a subscriber of ${options.scope} failed in onEnd`, 1);
    }
  }
}

export function closedError(): StorageUnavailableError {
  return new StorageUnavailableError('the watch cache is closed');
}
