import {
  mergedEntries,
  type CacheEntry,
  type CacheEvent,
  type CacheSnapshot,
  type WatchCache,
} from '@multiplane/storage';

/**
 * What the subscribers of a cache missed while it loaded again, as events in the order of their revisions. Deletions, whose own
 * revisions are lost, come last, at the revision of the new state.
 *
 * Subscribers of one scope miss the same changes, and all of them ask in the same turn of the event loop: the states are
 * compared once per scope.
 */
export class MissedChanges {
  readonly #source: WatchCache;
  readonly #known = new Map<string, readonly CacheEvent[] | undefined>();

  constructor(modules: { readonly source: WatchCache }) {
    this.#source = modules.source;
  }

  /**
   * Undefined if the new state does not continue the old one: its revisions were assigned a second time, by a cache that was
   * lost and filled again. A watch cannot go on then.
   */
  since(before: CacheSnapshot, scope: string): readonly CacheEvent[] | undefined {
    if (this.#known.size === 0) queueMicrotask(() => this.#known.clear());
    if (!this.#known.has(scope)) this.#known.set(scope, differences(before, this.#source.snapshot(scope)));
    return this.#known.get(scope);
  }
}

function differences(before: CacheSnapshot, now: CacheSnapshot): readonly CacheEvent[] | undefined {
  if (now.revision < before.revision) return undefined;
  const puts: CacheEvent[] = [];
  const deletes: CacheEvent[] = [];
  for (const [previous, current] of mergedEntries(before, now)) {
    if (current === undefined) {
      deletes.push({ current, previous, revision: now.revision, memo: new Map() });
    } else if (previous === undefined || !isSame(previous, current)) {
      if (current.revision <= before.revision) return undefined;
      puts.push({ current, previous, revision: current.revision, memo: new Map() });
    }
  }
  // A deletion has a revision of its own.
  if (deletes.length > 0 && now.revision === before.revision) return undefined;
  puts.sort((a, b) => a.revision - b.revision);
  return [...puts, ...deletes];
}

const isSame = (a: CacheEntry, b: CacheEntry): boolean => a.revision === b.revision && a.value.equals(b.value);
