import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, untilAborted } from '@multiplane/component-base';
import { CompactedError, StorageUnavailableError, isStorageError } from '../errors.ts';
import type { Storage, StorageEvent, WatchBatch } from '../interface.ts';
import type { CacheSnapshot, SubscribeOptions } from '../watch-cache-interface.ts';
import { CacheContents } from './cache-contents.ts';
import type { CachedEvent } from './cached-event.ts';
import { type LoadedContent, loadContent } from './content-loader.ts';
import { EventWindow, type EventWindowOptions } from './event-window.ts';
import { RevisionWaiters } from './revision-waiters.ts';
import type { UnreadValues } from './unread-values.ts';
import { ValueSlabs } from './value-slabs.ts';
import { Subscription, SubscriptionIndex } from './subscription-index.ts';

export interface StoreFollowerOptions extends EventWindowOptions {
  readonly prefix: string;
  readonly pageSize: number;
  /** The first load begins so many revisions back, as far as the store has them. */
  readonly historyRevisions: number;
  /** Milliseconds before try number `attempt` (from 0) to follow the store again. */
  readonly retryDelayMs: (attempt: number) => number;
}

export interface StoreFollowerModules {
  readonly storage: Storage;
  readonly clock: Clock;
  /** Values that are still in the store's files when the content is there are read from then on; absent: at once. */
  readonly whenToFill?: Promise<unknown> | undefined;
  /** Told about everything that went wrong and was dealt with, with how many failures there were in a row; for logs. */
  readonly onError: (error: unknown, what: string, failures: number) => void;
}

/** Work on one batch gives way to others after this long. */
const sliceMs = 5;

/**
 * Keeps the contents equal to the store.
 *
 *   load      all pages of one revision R, beside the old content; swap; the window begins anew at R. The first time R
 *             lies a little back, so that following on fills the window: who comes with a revision or a continue token
 *             from before a restart is served. A store that can tell what has led to its present state fills the window
 *             at once; its values are read later, or when somebody asks (UnreadValues).
 *   follow    one watch of the whole prefix after R; each revision is taken as a unit, without giving way in between:
 *             1. apply its events to the contents and append them to the window
 *             2. `revision` becomes its revision
 *             3. hand its events to the subscriptions, in order
 *             4. trim the window
 *             so whoever looks sees a state of the store at `revision`, and has been told everything up to it (R4).
 *             Between two revisions of a long batch others get their turn.
 *   watch ends with Compacted: events were lost and nobody can say which. Load again; then end all subscriptions, since
 *             an uninterrupted story cannot be told to them: their clients list again, as after 410 from etcd.
 *   watch ends with Unavailable: nothing is lost as long as the store still has the history after `revision`. Ask it
 *             for its revision until it answers, then follow on. A store whose revision went back was restored from a
 *             backup: load again.
 *   anything else that is thrown is a bug or a broken store: reported; load again.
 *
 * `ready` is true from the moment when everything is in that the store had when it was asked, until the watch ends. In
 * between, reads of the old content may be stale, and consistent reads go to the store.
 */
export class StoreFollower {
  readonly contents: CacheContents;
  readonly window: EventWindow;
  readonly waiters: RevisionWaiters;
  readonly subscriptions: SubscriptionIndex;
  readonly #options: StoreFollowerOptions;
  readonly #modules: StoreFollowerModules;
  readonly #abort = new AbortController();
  /** Ends the present watch. */
  #watching = new AbortController();
  readonly #loaded = Promise.withResolvers<void>();
  readonly #filled = Promise.withResolvers<void>();
  #unread: UnreadValues | undefined;
  #filling: Promise<void> | undefined;
  #isFilled = false;
  readonly #stopped: Promise<void>;
  #ready = false;
  /** There is content that was up to date once. */
  #hasContent = false;
  #revision = 0;
  /** What must be reached to be ready. */
  #target = 0;
  #attempt = 0;

  constructor(options: StoreFollowerOptions, modules: StoreFollowerModules) {
    this.#options = options;
    this.#modules = modules;
    const slabs = new ValueSlabs();
    this.window = new EventWindow(options, (entry) => slabs.release(entry));
    this.contents = new CacheContents(this.window, slabs);
    this.waiters = new RevisionWaiters(modules.clock);
    this.subscriptions = new SubscriptionIndex((subscription, error) => this.#failed(subscription, error));
    // Nobody needs to wait for it.
    this.#loaded.promise.catch(() => undefined);
    this.#filled.promise.catch(() => undefined);
    this.#stopped = this.#run();
  }

  get loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  /** Resolves when all values are in memory. Rejects when one cannot be read: the store is damaged. */
  get filled(): Promise<void> {
    return this.#filled.promise;
  }

  get isFilled(): boolean {
    return this.#isFilled;
  }

  /** There is content, though perhaps an old one. */
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
    const replay = this.window.since(options.scope, options.after);
    const subscription = new Subscription(options, this.window.nextSequence);
    this.subscriptions.add(subscription);
    for (const event of replay) {
      if (!subscription.active) break;
      this.subscriptions.deliver(subscription, event);
    }
    return () => this.subscriptions.remove(subscription);
  }

  /** The content is not that of the store any more: load again. */
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
      this.#loaded.reject(error);
      this.#filled.reject(error);
      this.waiters.failAll(error);
      this.#endAll(error);
    }
    await this.#stopped;
    await this.#filling;
    await this.#unread?.release();
  }

  async #run(): Promise<void> {
    let resume = false;
    while (!this.closed) {
      try {
        await (resume ? this.#probe() : this.#load());
        if (this.closed) return;
        resume = true;
        this.#reached();
        await this.#follow();
      } catch (error) {
        this.#ready = false;
        if (this.closed) return;
        resume = resume && isStorageError(error, 'Unavailable');
        const what = resume ? 'the watch of the store was interrupted' : 'the watch cache starts over';
        this.#modules.onError(error, what, this.#attempt + 1);
        await this.#pause(this.#options.retryDelayMs(this.#attempt++));
      }
    }
  }

  /** Called whenever the revision may have changed and everything up to it was handed out. */
  #reached(): void {
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
    const content = this.#hasContent ? await this.#read() : await this.#readBackThen();
    if (content.revision < this.#revision) {
      const error = new Error(`the store went back from revision ${this.#revision} to ${content.revision}`);
      this.#modules.onError(error, 'clients see revisions again that they know', 1);
    }
    // Subscribers were told everything up to here; the state must be frozen before it goes.
    const before = this.#hasContent ? this.contents.freeze(this.#revision) : undefined;
    this.contents.replaceAll(content);
    this.#resetWindow(content);
    this.#revision = content.revision;
    if (this.#hasContent) this.#target = content.revision;
    this.#filling ??= this.#fill(content.unread);
    this.#reached();
    this.#endAll(new CompactedError(0, content.revision), before);
  }

  #resetWindow({ revision, resources, changes = [] }: LoadedContent): void {
    const second = Math.trunc(this.#modules.clock.monotonic() / 1000);
    this.window.reset(revision - changes.length, resources);
    for (const { current, previous, revision: at } of changes) this.window.append(current, previous, at, second);
    this.window.trim(second);
  }

  /**
   * Once: of the first content. Reading it goes on while the store is followed; should the cache start over meanwhile, all
   * that it keeps of this content was read for that.
   */
  async #fill(unread: UnreadValues | undefined): Promise<void> {
    this.#unread = unread;
    const { signal } = this.#abort;
    try {
      if (unread !== undefined) {
        await untilAborted(Promise.all([this.#loaded.promise, this.#modules.whenToFill]), signal);
        signal.throwIfAborted();
        await this.contents.fill(unread, signal);
      }
      this.#isFilled = true;
      this.#filled.resolve();
    } catch (error) {
      this.#filled.reject(error);
      if (!this.closed) this.#modules.onError(error, 'values of the store cannot be read', 1);
    }
  }

  #read(revision?: number): Promise<LoadedContent> {
    const { signal } = this.#abort;
    const mayDefer = this.#filling === undefined;
    return loadContent(this.#modules.storage, this.contents, { ...this.#options, revision, mayDefer, signal });
  }

  /** The first content: as it was a little while ago, or else as far back as there is history. */
  async #readBackThen(): Promise<LoadedContent> {
    const { storage } = this.#modules;
    const current = storage.localRevision ?? (await storage.currentRevision());
    this.#target = current;
    if (storage.load !== undefined) return await this.#read();
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

  async #follow(): Promise<void> {
    const { prefix } = this.#options;
    this.#watching = new AbortController();
    const { signal } = this.#watching;
    for await (const batch of this.#modules.storage.watch(prefix, { after: this.#revision, signal })) {
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
      if (next === events.length || clock.monotonic() - started < sliceMs) continue;
      this.#reached();
      await nextTurn();
      if (signal.aborted) return;
      started = clock.monotonic();
    }
    if (revision > this.#revision) this.#revision = revision;
    this.#reached();
  }

  /** Takes the events from `first` on that share its revision; returns the index of the first of another one. */
  #applyRevision(events: readonly StorageEvent[], first: number): number {
    const { revision } = events[first] as StorageEvent;
    const second = Math.trunc(this.#modules.clock.monotonic() / 1000);
    const changes: CachedEvent[] = [];
    let next = first;
    for (; next < events.length && events[next]?.revision === revision; next++) {
      // A store that repeats itself must not make us tell a thing twice (R5, R6).
      if (revision <= this.#revision) continue;
      this.#change(events[next] as StorageEvent, second, changes);
    }
    if (revision > this.#revision) this.#revision = revision;
    for (const change of changes) this.subscriptions.dispatch(change);
    const oldest = this.window.oldestRevision;
    this.window.trim(second);
    if (this.window.oldestRevision !== oldest) this.contents.dropOldPins();
    return next;
  }

  /** One change; two when the store has left out that another object of the same key was removed before. */
  #change({ type, key, value, revision, born }: StorageEvent, second: number, changes: CachedEvent[]): void {
    if (type === 'delete' || value === undefined) {
      this.#remove(key, revision, second, changes);
      return;
    }
    const known = born === undefined ? undefined : this.contents.get(key);
    if (known !== undefined && known.revision < (born as number)) this.#remove(key, revision, second, changes);
    const entry = this.contents.makeEntry({ key, value, revision });
    changes.push(this.window.append(entry, this.contents.put(entry), revision, second));
  }

  #remove(key: string, revision: number, second: number, changes: CachedEvent[]): void {
    const removed = this.contents.remove(key);
    if (removed !== undefined) changes.push(this.window.append(undefined, removed, revision, second));
  }

  #endAll(reason: Error, before?: (scope: string) => CacheSnapshot): void {
    for (const subscription of this.subscriptions.clear()) this.#end(subscription, reason, before);
  }

  #failed(subscription: Subscription, error: unknown): void {
    this.#modules.onError(error, `a subscriber of ${subscription.options.scope} failed and was ended`, 1);
    this.#end(subscription, new Error('the subscriber failed', { cause: error }));
  }

  #end({ options }: Subscription, reason: Error, before?: (scope: string) => CacheSnapshot): void {
    try {
      options.onEnd(reason, before?.(options.scope));
    } catch (error) {
      this.#modules.onError(error, `a subscriber of ${options.scope} failed at its end`, 1);
    }
  }
}

export function closedError(): StorageUnavailableError {
  return new StorageUnavailableError('the watch cache is closed');
}
