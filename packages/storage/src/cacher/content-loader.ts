import { setImmediate as nextTurn } from 'node:timers/promises';
import { StorageUnavailableError } from '../errors.ts';
import type { BulkState, DeferredState, Storage, StoredValue, WatchBatch } from '../interface.ts';
import type { CacheContents } from './cache-contents.ts';
import type { CachedEntry } from './cached-entry.ts';
import { OrderedTree } from './ordered-tree.ts';
import { resourcePrefixOf, scopeEnd } from './scope.ts';
import type { UnreadChange, UnreadValues } from './unread-values.ts';

/** What a page should weigh: objects may have 1.5 MB each, and a page is in memory as a whole. */
const pageBytes = 8 * 1024 * 1024;
/** Entries compared in one go. */
const sliceSize = 5000;
/** The first page is small, since nobody knows how big objects are. */
const firstPage = 100;

export interface LoadOptions {
  readonly prefix: string;
  /** Objects in a page at most; fewer where they are big. */
  readonly pageSize: number;
  /** Which state; absent: the latest. */
  readonly revision: number | undefined;
  /** Values may be left where they are for now. */
  readonly mayDefer: boolean;
  readonly signal: AbortSignal;
}

/** A whole state of the store, built beside the present one. */
export interface LoadedContent {
  readonly revision: number;
  readonly tree: OrderedTree<CachedEntry>;
  readonly valueBytes: number;
  /** Number of keys of each resource prefix; before the changes. */
  readonly resources: ReadonlyMap<string, number>;
  /** Entries of the old content that are gone or replaced. */
  readonly dropped: readonly CachedEntry[];
  /** What led to it after the revision that was asked for, when that is not its own. */
  readonly changes?: readonly UnreadChange[] | undefined;
  /** Its values, when they are still to be read. */
  readonly unread?: UnreadValues | undefined;
}

/** Reads everything below the prefix, in the way the store offers. */
export async function loadContent(
  storage: Storage,
  contents: CacheContents,
  options: LoadOptions,
): Promise<LoadedContent> {
  const { prefix, revision = storage.localRevision, signal } = options;
  const deferred = options.mayDefer ? storage.deferred?.(prefix) : undefined;
  if (deferred !== undefined) return await deferValues(deferred, contents, options.revision);
  if (storage.bulk !== undefined && revision !== undefined)
    return loadBulk(storage.bulk(prefix, revision), contents, { revision, signal });
  return storage.load === undefined || options.revision !== undefined
    ? loadPages(storage, contents, options)
    : loadChanges(storage.load(prefix, signal), contents, options);
}

/**
 * The keys alone: values are read when somebody asks, or later. Not the older state but the present one, with what has
 * happened since then: so nothing has to be undone and done again.
 */
async function deferValues(
  state: DeferredState,
  contents: CacheContents,
  after: number | undefined,
): Promise<LoadedContent> {
  const { revision } = state;
  const unread = contents.defer(state);
  try {
    const tree = unread.tree();
    const changes = after === undefined ? [] : unread.changes(tree, after);
    const resources = resourcesOf(tree);
    for (const { key, current, previous } of changes) {
      const resource = resourcePrefixOf(key) ?? key;
      const made = (current === undefined ? 0 : 1) - (previous === undefined ? 0 : 1);
      resources.set(resource, (resources.get(resource) ?? 0) - made);
    }
    // Values are counted when they are read.
    return { revision, tree, valueBytes: -unread.goneBytes, resources, dropped: [], unread, changes };
  } catch (error) {
    await unread.release();
    throw error;
  }
}

/** Numbers of keys, from resource to resource: what lies in between is not looked at. */
function resourcesOf(tree: OrderedTree<CachedEntry>): Map<string, number> {
  const resources = new Map<string, number>();
  for (let from = ''; ;) {
    const [first] = tree.scan(from, undefined, 1);
    if (first === undefined) return resources;
    const resource = resourcePrefixOf(first.key) ?? first.key;
    const next = scopeEnd(resource) as string;
    resources.set(resource, tree.rank(next) - tree.rank(first.key));
    from = next;
  }
}

/** The same from a store that hands out its values in the order of its files: the tree is made at once, of keys in order. */
async function loadBulk(
  bulk: Promise<BulkState>,
  contents: CacheContents,
  { revision, signal }: { readonly revision: number; readonly signal: AbortSignal },
): Promise<LoadedContent> {
  const { keys, wide, batches } = await bulk;
  const resources = new Map<string, number>();
  for (const key of keys) {
    const resource = resourcePrefixOf(key) ?? key;
    resources.set(resource, (resources.get(resource) ?? 0) + 1);
  }
  const entries: CachedEntry[] = Array.from({ length: keys.length });
  let valueBytes = 0;
  try {
    for await (const batch of batches) {
      if (signal.aborted) throw new StorageUnavailableError('the watch cache is closed');
      for (const { index, value, revision } of batch) {
        entries[index] = entryFor(contents, { key: keys[index] as string, value, revision });
        valueBytes += value.length;
      }
      // A batch is a thousand objects: others get their turn.
      await nextTurn();
    }
    const tree = OrderedTree.fromSorted(entries, wide);
    return { revision, tree, valueBytes, resources, dropped: await missingIn(tree, contents) };
  } catch (error) {
    contents.giveBack(entries.filter((entry) => entry !== undefined && contents.get(entry.key) !== entry));
    throw error;
  }
}

/** What the content has of this value already, or an entry made for it. */
function entryFor(contents: CacheContents, item: StoredValue): CachedEntry {
  const known = contents.size === 0 ? undefined : contents.get(item.key);
  // The bytes as well: a store that was restored from a backup gives revisions out again.
  return known?.revision === item.revision && known.value.equals(item.value) ? known : contents.makeEntry(item);
}

/**
 * The same from a store that tells its state as changes: in any order of keys, and a key may come again or go.
 */
async function loadChanges(
  batches: AsyncIterable<WatchBatch>,
  contents: CacheContents,
  { signal }: LoadOptions,
): Promise<LoadedContent> {
  const tree = new OrderedTree<CachedEntry>();
  const resources = new Map<string, number>();
  let valueBytes = 0;
  let revision = 0;
  const count = ({ key, length }: CachedEntry, by: 1 | -1): void => {
    const resource = resourcePrefixOf(key) ?? key;
    resources.set(resource, (resources.get(resource) ?? 0) + by);
    valueBytes += by * length;
  };
  const forget = (entry: CachedEntry | undefined): void => {
    if (entry === undefined) return;
    count(entry, -1);
    if (contents.get(entry.key) !== entry) contents.giveBack([entry]);
  };
  try {
    for await (const batch of batches) {
      if (signal.aborted) break;
      for (const { key, value, revision: at } of batch.events) {
        if (value === undefined) {
          forget(tree.delete(key));
          continue;
        }
        const entry = entryFor(contents, { key, value, revision: at });
        count(entry, 1);
        forget(tree.set(entry));
      }
      ({ revision } = batch);
      // A batch is thousands of objects: others get their turn.
      await nextTurn();
    }
    if (signal.aborted) throw new StorageUnavailableError('the watch cache is closed');
    return { revision, tree, valueBytes, resources, dropped: await missingIn(tree, contents) };
  } catch (error) {
    for (const entry of tree.scan('', undefined)) forget(entry);
    throw error;
  }
}

/** Entries of the content that are gone or replaced in the tree; looked for in slices. */
async function missingIn(tree: OrderedTree<CachedEntry>, contents: CacheContents): Promise<CachedEntry[]> {
  const missing: CachedEntry[] = [];
  for (let from = ''; ;) {
    const slice = contents.range(from, undefined, sliceSize);
    for (const known of slice) if (tree.get(known.key) !== known) missing.push(known);
    const last = slice.at(-1);
    if (last === undefined || slice.length < sliceSize) return missing;
    from = `${last.key}\0`;
    await nextTurn();
  }
}

/**
 * Reads everything below the prefix in pages, all of one revision, and merges it with what the cache has: an object
 * whose revision did not change keeps its entry, and with it what readers attached. The old content stays readable
 * meanwhile. Throws what the store throws (CompactedError when history was cut in the middle: begin again).
 */
async function loadPages(storage: Storage, contents: CacheContents, options: LoadOptions): Promise<LoadedContent> {
  const { prefix, pageSize, signal } = options;
  const tree = new OrderedTree<CachedEntry>();
  const resources = new Map<string, number>();
  const dropped: CachedEntry[] = [];
  let valueBytes = 0;
  let { revision } = options;
  let from = prefix;
  let limit = Math.min(pageSize, firstPage);
  try {
    for (;;) {
      const page = await storage.list(prefix, { limit, from, revision, uncounted: true });
      if (signal.aborted) throw new StorageUnavailableError('the watch cache is closed');
      revision = page.revision;
      const last = page.remaining > 0 ? page.items.at(-1) : undefined;
      const next = last && `${last.key}\0`;
      for (const item of page.items) {
        const resource = resourcePrefixOf(item.key) ?? item.key;
        resources.set(resource, (resources.get(resource) ?? 0) + 1);
        tree.set(entryFor(contents, item));
        valueBytes += item.value.length;
      }
      limit = Math.max(1, Math.min(pageSize, Math.trunc((pageBytes * tree.size) / (valueBytes + 1))));
      for (const known of contents.range(from, next)) if (tree.get(known.key) !== known) dropped.push(known);
      if (next === undefined) return { revision, tree, valueBytes, resources, dropped };
      from = next;
    }
  } catch (error) {
    for (const entry of tree.scan('', undefined)) if (contents.get(entry.key) !== entry) contents.giveBack([entry]);
    throw error;
  }
}
