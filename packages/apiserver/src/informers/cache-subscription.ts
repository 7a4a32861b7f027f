import { nextTurn, slicesOfTurns, spareTurns } from '@multiplane/component-base';
import {
  type CacheEntry,
  type CacheEvent,
  type CacheSnapshot,
  type WatchCache,
  compareKeys,
  isStorageError,
} from '@multiplane/storage';

export interface CacheFollower {
  /** `previous` is undefined for what is new or was there at the beginning (`wasThere`). */
  changed(current: CacheEntry, previous: CacheEntry | undefined, wasThere?: boolean): void;
  removed(previous: CacheEntry): void;
}

export interface CacheSubscriptionOptions {
  /** A prefix, or a whole key. */
  readonly scope: string;
}

/** More than this is told when the values are in memory: read one by one it would take several times as long. */
const many = 20_000;
/** Entries that are taken out of a snapshot at once. */
const batchSize = 100;

/**
 * Follows a part of the watch cache for as long as it is wanted.
 *
 * What is there at the beginning is told in the order of keys, in spare turns of the event loop. Changes are told at once
 * all the while: whoever wants something new right after a start does not wait for all that was there. The first change of
 * a key whose turn has not come is told behind what the key had, so that each key is told everything, once and in order;
 * changes of different keys are in order among themselves.
 *
 * When the cache starts over, what it has now is compared with what had been told, and the differences are told.
 */
export class CacheSubscription {
  readonly #scope: string;
  readonly #cache: WatchCache;
  readonly #follower: CacheFollower;
  #stopped = false;
  #closed = false;
  #unsubscribe: (() => void) | undefined;
  /** The key that was told last of those that were there. */
  #at = '';
  /** Keys behind {@link #at} that were told before their turn; undefined when all is told that was there. */
  #ahead: Set<string> | undefined;
  /** What was told of changes when the cache started over, before all was told that was there. */
  #interrupted: CacheSnapshot | undefined;
  /** Resolves when the state of the beginning was told. */
  readonly synced: Promise<void>;

  constructor(
    options: CacheSubscriptionOptions,
    modules: { readonly cache: WatchCache; readonly follower: CacheFollower },
  ) {
    this.#scope = options.scope;
    this.#cache = modules.cache;
    this.#follower = modules.follower;
    this.synced = this.#begin();
  }

  stop(): void {
    this.#stopped = true;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  /**
   * Tells when everything was told, unless this was stopped or its cache closed before; gives back what stops it. What a
   * subscription fails with is a fault of the program, and ends it.
   */
  whenSynced(tell: () => void): () => void {
    void this.synced.then(() => {
      if (!this.#stopped && !this.#closed) tell();
    });
    return () => this.stop();
  }

  /** The cache was closed: nothing is followed any more, and not everything may have been told. */
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
    else if (!this.#stopped) await this.#tellAll();
  }

  async #tellAll(): Promise<void> {
    // What comes from now on is new, however long it takes until there is a turn.
    const snapshot = this.#cache.snapshot(this.#scope);
    this.#ahead = new Set();
    this.#follow(snapshot.revision);
    // Of a server that starts all subscriptions begin at once.
    await spareTurns.next();
    if (await this.#isReadable(snapshot)) await this.#differences(undefined, snapshot);
    else this.#unsubscribe?.();
    this.#ahead = undefined;
    this.#closed ||= this.#cache.closed;
    if (this.#interrupted !== undefined && !this.#closed) await this.#tell(this.#interrupted);
    this.#interrupted = undefined;
  }

  /** False when the cache was closed before its values were in memory, or some of them cannot be read. */
  async #isReadable(snapshot: CacheSnapshot): Promise<boolean> {
    const { filled } = this.#cache;
    try {
      if (filled !== undefined && snapshot.countFrom('') > many) await filled;
    } catch (error) {
      if (!isStorageError(error, 'Unavailable')) throw error;
      this.#closed = true;
    }
    return !this.#closed && !this.#cache.closed;
  }

  /** Tells the differences between a state and now, then follows. */
  async #tell(before: CacheSnapshot): Promise<void> {
    let known = before;
    while (!this.#stopped) {
      const snapshot = this.#cache.snapshot(this.#scope);
      await this.#differences(known, snapshot);
      known = snapshot;
      try {
        if (!this.#stopped) this.#follow(snapshot.revision);
        return;
      } catch (error) {
        // The cache was closed meanwhile: there is nothing to follow any more.
        if (isStorageError(error, 'Unavailable')) {
          this.#closed = true;
          return;
        }
        // The window did not reach back that far: it took too long. Once more, from what is told already.
        if (!isStorageError(error, 'Compacted')) throw error;
        await nextTurn();
      }
    }
  }

  #follow(after: number): void {
    this.#unsubscribe = this.#cache.subscribe({
      scope: this.#scope,
      after,
      onEvent: (event: CacheEvent) => {
        if (this.#stopped) return;
        const { key } = (event.current ?? event.previous) as CacheEntry;
        if (this.#ahead !== undefined && !this.#ahead.has(key) && compareKeys(key, this.#at) > 0) {
          this.#ahead.add(key);
          if (event.previous !== undefined) this.#follower.changed(event.previous, undefined, true);
        }
        if (event.current === undefined) this.#follower.removed(event.previous as CacheEntry);
        else this.#follower.changed(event.current, event.previous);
      },
      onEnd: (_reason, before) => {
        this.#unsubscribe = undefined;
        // Without a state to compare with the cache is closed for good.
        if (this.#stopped || before === undefined) return;
        if (this.#ahead === undefined) void this.#tell(before);
        else this.#interrupted = before;
      },
    });
  }

  /** Walks both states in the order of keys, side by side. */
  async #differences(before: CacheSnapshot | undefined, now: CacheSnapshot): Promise<void> {
    const left = entriesOf(before);
    const right = entriesOf(now);
    let old = left.next();
    let current = right.next();
    const slices = before === undefined ? spareTurns.slices() : slicesOfTurns();
    while (!this.#stopped && !(old.done === true && current.done === true)) {
      const order = old.done === true ? 1 : current.done === true ? -1 : compareKeys(old.value.key, current.value.key);
      if (order < 0) {
        this.#follower.removed(old.value as CacheEntry);
        old = left.next();
      } else if (order > 0) {
        const entry = current.value as CacheEntry;
        this.#at = entry.key;
        if (this.#ahead?.delete(entry.key) !== true) this.#follower.changed(entry, undefined, before === undefined);
        current = right.next();
      } else {
        if ((old.value as CacheEntry).revision !== (current.value as CacheEntry).revision) {
          this.#follower.changed(current.value as CacheEntry, old.value);
        }
        old = left.next();
        current = right.next();
      }
      // A follower may look into each entry, and entries may be large.
      if (slices.over) {
        await slices.next();
        // Nobody wants to know the rest; a process that stops while it starts would not end before all is told.
        if (this.#cache.closed) return;
      }
    }
  }
}

function* entriesOf(snapshot: CacheSnapshot | undefined): Generator<CacheEntry, undefined, undefined> {
  let from: string | undefined;
  for (;;) {
    const entries = snapshot?.entries(from, batchSize) ?? [];
    yield* entries;
    if (entries.length < batchSize) return undefined;
    from = `${(entries.at(-1) as CacheEntry).key}\u0000`;
  }
}
