import { yieldToEventLoop, timeSlices, lowPriorityQueue } from '@multiplane/component-base';
import {
  type CacheEntry,
  type CacheEvent,
  type CacheSnapshot,
  type WatchCache,
  compareKeys,
  isStorageError,
  mergedEntries,
} from '@multiplane/storage';

/** Receives the events of a subscription. */
export interface CacheEventHandler {
  /** `previous` is undefined for a new object and for one of the initial list (`isInInitialList`). */
  changed(current: CacheEntry, previous: CacheEntry | undefined, isInInitialList?: boolean): void;
  removed(previous: CacheEntry): void;
  /** Parses a large entry of the initial list in time slices before {@link changed}; undefined: nothing to wait for. */
  load?(entry: CacheEntry): Promise<void> | undefined;
}

export interface CacheSubscriptionOptions {
  /** A prefix, or a whole key. */
  readonly scope: string;
}

/** A longer initial list waits until all values are in memory: reading them one by one would take several times as long. */
const maxUnfilledEntries = 20_000;

/**
 * A list and watch of a part of the watch cache.
 *
 *  - The initial list is delivered in key order, at low priority. Changes are delivered immediately in the meantime, so
 *    that a new object right after a start does not wait for the initial list. Before the first change of a key that the
 *    list has not reached, the key's initial state is delivered, so the events of each key are complete and in order. Changes
 *    of different keys are in order, too.
 *  - When the cache is reloaded, its new state is compared with the delivered one, and the differences are delivered.
 */
export class CacheSubscription {
  readonly #scope: string;
  readonly #cache: WatchCache;
  readonly #handler: CacheEventHandler;
  #stopped = false;
  #closed = false;
  #unsubscribe: (() => void) | undefined;
  /** The last key of the initial list that was delivered. */
  #at = '';
  /** Keys after {@link #at} that were delivered already because they changed; undefined after the initial list. */
  #ahead: Set<string> | undefined;
  /** The delivered state when the cache was reloaded before the end of the initial list. */
  #interrupted: CacheSnapshot | undefined;
  /** Resolves when the initial list was delivered. */
  readonly synced: Promise<void>;

  constructor(
    options: CacheSubscriptionOptions,
    modules: { readonly cache: WatchCache; readonly handler: CacheEventHandler },
  ) {
    this.#scope = options.scope;
    this.#cache = modules.cache;
    this.#handler = modules.handler;
    this.synced = this.#begin();
  }

  stop(): void {
    this.#stopped = true;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  /**
   * Calls back after the initial list, unless this was stopped or the cache closed before; returns a function that stops the
   * subscription. An error of a subscription is a bug: it becomes an unhandled rejection.
   */
  whenSynced(onSynced: () => void): () => void {
    void this.synced.then(() => {
      if (!this.#stopped && !this.#closed) onSynced();
    });
    return () => this.stop();
  }

  /** The cache was closed: there are no more events, and the initial list may be incomplete. */
  get closed(): boolean {
    return this.#closed;
  }

  async #begin(): Promise<void> {
    try {
      await this.#cache.ready;
    } catch (error) {
      if (!isStorageError(error, 'Unavailable')) throw error;
      this.#closed = true;
      return;
    }
    if (this.#cache.closed) this.#closed = true;
    else if (!this.#stopped) await this.#deliverInitialList();
  }

  async #deliverInitialList(): Promise<void> {
    // Subscribed before the list is delivered: all later changes count as new.
    const snapshot = this.#cache.snapshot(this.#scope);
    this.#ahead = new Set();
    this.#subscribe(snapshot.revision);
    // At the start of a server all subscriptions begin in the same tick.
    await lowPriorityQueue.yield();
    if (await this.#isReadable(snapshot)) await this.#differences(undefined, snapshot);
    else this.#unsubscribe?.();
    this.#ahead = undefined;
    this.#closed ||= this.#cache.closed;
    if (this.#interrupted !== undefined && !this.#closed) await this.#resync(this.#interrupted);
    this.#interrupted = undefined;
  }

  /** Waits for the values of a long list; false if the cache was closed or some values cannot be read. */
  async #isReadable(snapshot: CacheSnapshot): Promise<boolean> {
    const { valuesLoaded } = this.#cache;
    try {
      if (valuesLoaded !== undefined && snapshot.countFrom('') > maxUnfilledEntries) await valuesLoaded;
    } catch (error) {
      if (!isStorageError(error, 'Unavailable')) throw error;
      this.#closed = true;
    }
    return !this.#closed && !this.#cache.closed;
  }

  /** Delivers the differences between a state and the current one, then subscribes. */
  async #resync(before: CacheSnapshot): Promise<void> {
    let known = before;
    while (!this.#stopped) {
      const snapshot = this.#cache.snapshot(this.#scope);
      await this.#differences(known, snapshot);
      known = snapshot;
      try {
        if (!this.#stopped) this.#subscribe(snapshot.revision);
        return;
      } catch (error) {
        // The cache was closed meanwhile.
        if (isStorageError(error, 'Unavailable')) {
          this.#closed = true;
          return;
        }
        // It took so long that the window no longer contains the snapshot's revision: repeat from the delivered state.
        if (!isStorageError(error, 'Compacted')) throw error;
        await yieldToEventLoop();
      }
    }
  }

  #subscribe(after: number): void {
    this.#unsubscribe = this.#cache.subscribe({
      scope: this.#scope,
      after,
      onEvent: (event: CacheEvent) => {
        if (this.#stopped) return;
        const { key } = (event.current ?? event.previous) as CacheEntry;
        if (this.#ahead !== undefined && !this.#ahead.has(key) && compareKeys(key, this.#at) > 0) {
          this.#ahead.add(key);
          if (event.previous !== undefined) this.#handler.changed(event.previous, undefined, true);
        }
        if (event.current === undefined) this.#handler.removed(event.previous as CacheEntry);
        else this.#handler.changed(event.current, event.previous);
      },
      onEnd: (_reason, before) => {
        this.#unsubscribe = undefined;
        // Without a previous state the cache is closed.
        if (this.#stopped || before === undefined) return;
        if (this.#ahead === undefined) void this.#resync(before);
        else this.#interrupted = before;
      },
    });
  }

  /** Merges both states in key order and delivers the differences. */
  async #differences(before: CacheSnapshot | undefined, now: CacheSnapshot): Promise<void> {
    const slices = before === undefined ? lowPriorityQueue.timeSlices() : timeSlices();
    for (const [old, current] of mergedEntries(before, now)) {
      if (this.#stopped) return;
      if (current === undefined) {
        this.#handler.removed(old as CacheEntry);
      } else if (old === undefined) {
        // A change meanwhile delivers the entry itself.
        const loading = this.#handler.load?.(current);
        if (loading !== undefined) {
          await loading;
          if (this.#stopped || this.#cache.closed) return;
        }
        this.#at = current.key;
        if (this.#ahead?.delete(current.key) !== true) this.#handler.changed(current, undefined, before === undefined);
      } else if (old.revision !== current.revision) {
        this.#handler.changed(current, old);
      }
      // A handler may parse each entry, and entries may be large.
      if (slices.isExceeded) {
        await slices.yield();
        // A process that is stopped while it starts must not deliver the rest of the list first.
        if (this.#cache.closed) return;
      }
    }
  }
}
