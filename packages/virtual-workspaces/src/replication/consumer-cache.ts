import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import type {
  CacheEntry,
  CacheEvent,
  CacheSnapshot,
  StoredValue,
  SubscribeOptions,
  WatchCache,
} from '@multiplane/storage';
import { ConsumerEntry } from './consumer-entry.ts';
import type { ConsumerChange, Consumers } from './consumers.ts';
import { MissedChanges } from './missed-changes.ts';
import { ReadOnlyStorage } from './read-only-storage.ts';

export interface ConsumerCacheOptions {
  /** Prefix of the source's objects in {@link ConsumerCacheModules.source}: up to the provider's logical cluster. */
  readonly sourcePrefix: string;
  /** Prefix of the keys that consumers' requests use; the consumer's logical cluster comes next. */
  readonly prefix: string;
  readonly namespaced: boolean;
}

export interface ConsumerCacheModules {
  readonly source: WatchCache;
  readonly consumers: Consumers;
  readonly clock: Clock;
}

interface Place {
  readonly consumer: LogicalClusterName;
  /** `[<namespace>/]<name>`, or the beginning of it. */
  readonly rest: string;
}

interface LoggedChange extends ConsumerChange {
  readonly revision: number;
  readonly at: number;
}

/** How long changes of consumers are replayed to watches that resume. */
const replayMs = 300_000;
/** The same for a watch that resumes at the very revision of the change: it may have begun with a list after it. */
const sameRevisionReplayMs = 30_000;
const maxLogged = 10_000;

/**
 * The watch cache of one source as its consumers read it: every consumer has all objects of the source under its own
 * logical cluster. Nothing is stored per consumer; entries are made while they are read, so that the request pipeline of the
 * API server (lists, watches, tables, paging, selectors) works on it unchanged.
 *
 *   source   <sourcePrefix>[<namespace>/]<name>          one copy
 *   read as  <prefix><consumer>/[<namespace>/]<name>     for every consumer
 *
 * A consumer, or a namespace of one, that comes or goes changes what is visible without a change of the source: running
 * watches get ADDED or DELETED events with the present revision, watches that resume get those of the last minutes again
 * (at least once). docs/adr/0079. A consumer that has gone ends its own watches.
 *
 * When the source loads again (the cache server has restarted and forgot the history that the source follows), running
 * watches get what they missed and stay open: {@link MissedChanges}. Only if the revisions did not go on (the cache was lost
 * and is built anew) they end, and their clients list again.
 */
export class ConsumerCache extends ReadOnlyStorage implements WatchCache {
  readonly #options: ConsumerCacheOptions;
  readonly #source: WatchCache;
  readonly #consumers: Consumers;
  readonly #clock: Clock;
  readonly #listeners = new Set<(change: LoggedChange) => void>();
  readonly #missed: MissedChanges;
  #log: LoggedChange[] = [];
  readonly #unsubscribe: () => void;

  constructor(options: ConsumerCacheOptions, modules: ConsumerCacheModules) {
    super();
    this.#options = options;
    this.#source = modules.source;
    this.#consumers = modules.consumers;
    this.#clock = modules.clock;
    this.#missed = new MissedChanges({ source: modules.source });
    this.#unsubscribe = modules.consumers.subscribe((change) => this.#changed(change));
  }

  get ready(): Promise<void> {
    return this.#source.ready;
  }
  get closed(): boolean {
    return this.#source.closed;
  }
  get revision(): number {
    return this.#source.revision;
  }
  get oldestRevision(): number {
    return this.#source.oldestRevision;
  }
  get isFresh(): boolean {
    return this.#source.isFresh;
  }
  isReady(): boolean {
    return this.#source.isReady();
  }
  freshRevision(): Promise<number> {
    return this.#source.freshRevision();
  }
  waitFor(revision: number, timeoutMs: number): Promise<void> {
    return this.#source.waitFor(revision, timeoutMs);
  }
  counts(): ReadonlyMap<string, number> {
    return new Map();
  }

  peek(key: string): CacheEntry | undefined {
    const place = this.#place(key);
    if (place === undefined) return undefined;
    const base = this.#source.peek(`${this.#options.sourcePrefix}${place.rest}`);
    return base === undefined ? undefined : this.#entry(base, place.consumer);
  }

  snapshot(prefix: string, revision?: number): CacheSnapshot {
    const { consumers, rest } = this.#range(prefix);
    const source = this.#source.snapshot(`${this.#options.sourcePrefix}${rest}`, revision);
    return this.#snapshotOf(source, consumers);
  }

  listCurrent(prefix: string, from?: string, limit?: number): readonly CacheEntry[] {
    return this.snapshot(prefix).entries(from, limit ?? Number.POSITIVE_INFINITY);
  }

  subscribe(options: SubscribeOptions): () => void {
    const { scope, after, onEvent, onEnd } = options;
    const { consumers, rest } = this.#range(scope);
    const sourceScope = `${this.#options.sourcePrefix}${rest}`;
    const only = this.#place(scope)?.consumer;
    let end: () => void;
    const deliver = (event: CacheEvent): void => {
      for (const consumer of consumers()) {
        const consumed = this.#event(event, consumer);
        if (consumed !== undefined) onEvent(consumed);
      }
    };
    const follow = (from: number): (() => void) =>
      this.#source.subscribe({
        scope: sourceScope,
        after: from,
        onEvent: deliver,
        onEnd: (reason, before) => {
          const missed = before === undefined ? undefined : this.#missed.since(before, sourceScope);
          if (missed !== undefined) {
            for (const event of missed) deliver(event);
            end = follow(this.#source.revision);
            return;
          }
          this.#listeners.delete(listener);
          onEnd(reason, before === undefined ? undefined : this.#snapshotOf(before, consumers));
        },
      });
    const stop = (): void => {
      this.#listeners.delete(listener);
      end();
    };
    const listener = (change: LoggedChange): void => {
      const { consumer, namespace, isPresent } = change;
      const isConcerned = only === undefined || only === consumer;
      if (isConcerned && namespace === '' && only !== undefined) {
        if (isPresent) return;
        stop();
        onEnd(new Error('the consumer does not bind the resource any more'));
      } else if (isConcerned && (rest === '' || namespace === '' || rest.startsWith(`${namespace}/`))) {
        for (const event of this.#eventsOf(change, sourceScope)) onEvent(event);
      }
    };
    end = follow(after);
    this.#listeners.add(listener);
    const now = this.#clock.monotonic();
    for (const change of this.#log) {
      const age = now - change.at;
      const isMissed =
        change.revision > after ? age < replayMs : change.revision === after && age < sameRevisionReplayMs;
      // That the consumer itself went is over: this watch began after it.
      if (isMissed && (change.namespace !== '' || only === undefined)) listener(change);
    }
    return stop;
  }

  /** Nothing reads it any more. The source is its owner's to close. */
  override async close(): Promise<void> {
    this.#unsubscribe();
    this.#listeners.clear();
  }

  #changed(change: ConsumerChange): void {
    const now = this.#clock.monotonic();
    const logged = { ...change, revision: this.#source.revision, at: now };
    this.#log = [...this.#log.filter(({ at }) => now - at < replayMs).slice(-maxLogged), logged];
    for (const listener of this.#listeners) listener(logged);
  }

  /** The objects that a change of consumers shows or hides, as events of the present revision. */
  *#eventsOf({ consumer, namespace, isPresent }: LoggedChange, sourceScope: string): Generator<CacheEvent> {
    if (isPresent && namespace !== '' && !this.#consumers.hasNamespace(consumer, namespace)) return;
    const { sourcePrefix } = this.#options;
    const prefix = namespace === '' ? sourcePrefix : `${sourcePrefix}${namespace}/`;
    const { revision } = this.#source;
    for (const base of this.#source.listCurrent(prefix)) {
      const isInScope = sourceScope.endsWith('/') ? base.key.startsWith(sourceScope) : base.key === sourceScope;
      if (!isInScope || (namespace === '' && !this.#isVisible(base, consumer))) continue;
      const entry = new ConsumerEntry(this.#key(base, consumer), base, consumer);
      yield {
        current: isPresent ? entry : undefined,
        previous: isPresent ? undefined : entry,
        revision,
        isUnordered: true,
        memo: new Map(),
      };
    }
  }

  #event(event: CacheEvent, consumer: LogicalClusterName): CacheEvent | undefined {
    const { current, previous, revision } = event;
    const base = (current ?? previous) as CacheEntry;
    if (!this.#isVisible(base, consumer)) return undefined;
    const wrap = (entry: CacheEntry | undefined): CacheEntry | undefined =>
      entry === undefined ? undefined : new ConsumerEntry(this.#key(entry, consumer), entry, consumer);
    // Frames are not shared: in the memo of the source they would be kept for every consumer.
    return { current: wrap(current), previous: wrap(previous), revision, memo: new Map() };
  }

  #snapshotOf(source: CacheSnapshot, consumers: () => readonly LogicalClusterName[]): CacheSnapshot {
    const { sourcePrefix, prefix } = this.#options;
    const entries = (from: string | undefined, limit: number): readonly CacheEntry[] => {
      const start = from === undefined || from <= prefix ? undefined : this.#placeOfStart(from);
      const found: CacheEntry[] = [];
      for (const consumer of consumers()) {
        if (start !== undefined && consumer < start.consumer) continue;
        let next = start?.consumer === consumer && start.rest !== '' ? `${sourcePrefix}${start.rest}` : undefined;
        while (found.length < limit) {
          const wanted = limit - found.length;
          const page = source.entries(next, wanted);
          for (const base of page) {
            const entry = this.#entry(base, consumer);
            if (entry !== undefined) found.push(entry);
          }
          if (page.length < wanted) break;
          next = `${(page.at(-1) as CacheEntry).key}\u0000`;
        }
        if (found.length >= limit) break;
      }
      return found;
    };
    return {
      revision: source.revision,
      entries,
      countFrom: (from) => {
        const start = from <= prefix ? undefined : this.#placeOfStart(from);
        let count = 0;
        for (const consumer of consumers()) {
          if (start !== undefined && consumer < start.consumer) continue;
          const rest = start?.consumer === consumer ? start.rest : '';
          count += this.#countFrom(source, consumer, `${sourcePrefix}${rest}`);
        }
        return count;
      },
    };
  }

  /** Counts ranges, not entries: a list with a limit says how many objects remain. */
  #countFrom(source: CacheSnapshot, consumer: LogicalClusterName, from: string): number {
    if (!this.#options.namespaced) return source.countFrom(from);
    let count = 0;
    for (let start = from; ;) {
      const [first] = source.entries(start, 1);
      if (first === undefined) return count;
      const { sourcePrefix } = this.#options;
      // The first key behind those of the namespace: `0` follows `/`.
      const end = `${first.key.slice(0, first.key.indexOf('/', sourcePrefix.length))}0`;
      if (this.#isVisible(first, consumer)) count += source.countFrom(start) - source.countFrom(end);
      start = end;
    }
  }

  #entry(base: CacheEntry, consumer: LogicalClusterName): CacheEntry | undefined {
    return this.#isVisible(base, consumer) ? new ConsumerEntry(this.#key(base, consumer), base, consumer) : undefined;
  }

  #isVisible({ key }: CacheEntry, consumer: LogicalClusterName): boolean {
    if (!this.#options.namespaced) return true;
    const rest = key.slice(this.#options.sourcePrefix.length);
    return this.#consumers.hasNamespace(consumer, rest.slice(0, rest.indexOf('/')));
  }

  #key({ key }: CacheEntry, consumer: LogicalClusterName): string {
    const { prefix, sourcePrefix } = this.#options;
    return `${prefix}${consumer}/${key.slice(sourcePrefix.length)}`;
  }

  /** A prefix or key of consumers as the consumers and the part of the source that it means. */
  #range(scope: string): { readonly consumers: () => readonly LogicalClusterName[]; readonly rest: string } {
    const place = this.#place(scope);
    if (place === undefined) return { consumers: () => this.#consumers.list(), rest: '' };
    return { consumers: () => [place.consumer], rest: place.rest };
  }

  /** Undefined: over all consumers. */
  #place(key: string): Place | undefined {
    const rest = key.slice(this.#options.prefix.length);
    const slash = rest.indexOf('/');
    return slash < 0
      ? undefined
      : { consumer: rest.slice(0, slash) as LogicalClusterName, rest: rest.slice(slash + 1) };
  }

  #placeOfStart(from: string): Place {
    return this.#place(from) ?? { consumer: from.slice(this.#options.prefix.length) as LogicalClusterName, rest: '' };
  }

  override get(key: string): Promise<StoredValue | undefined> {
    return Promise.resolve(this.peek(key));
  }
  currentRevision(): Promise<number> {
    return this.#source.currentRevision();
  }
  override check(): Promise<void> {
    return this.#source.check();
  }
}
