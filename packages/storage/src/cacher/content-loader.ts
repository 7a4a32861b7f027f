import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type BulkRead, supportsBulkRead } from '../capabilities/bulk-read.ts';
import { type LazyState, supportsLazyRead } from '../capabilities/lazy-read.ts';
import { localRevisionOf } from '../capabilities/local-revision.ts';
import { supportsStreamingList } from '../capabilities/streaming-list.ts';
import { StorageUnavailableError } from '../errors.ts';
import type { Storage, StoredValue, WatchBatch } from '../interface.ts';
import { OrderedTree } from '../ordered-tree.ts';
import type { CacheContents } from './cache-contents.ts';
import type { CachedEntry } from './cached-entry.ts';
import type { LoadedContent } from './loaded-content.ts';
import { resourcePrefixOf, scopeEnd } from './scope.ts';

/** Target size of a page: objects may have 1.5 MB each, and a page is held in memory as a whole. */
const pageBytes = 8 * 1024 * 1024;
/** Entries compared between two yields to the event loop. */
const entriesPerSlice = 5000;
/** Keys of the first page, whose object sizes are unknown. */
const firstPageKeys = 100;

export interface LoadOptions {
  readonly prefix: string;
  /** Maximum number of objects in a page; fewer where they are large. */
  readonly pageSize: number;
  /** The state to load; absent: the latest. */
  readonly revision: number | undefined;
  /** Values may stay in the files of the store for now. */
  readonly allowLazyValues: boolean;
  readonly signal: AbortSignal;
}

/**
 * Reads everything below the prefix beside the current contents, which stay readable, in the cheapest way that the store
 * offers: lazily, in bulk, as a streaming list, or page by page. An object whose revision and bytes did not change keeps
 * its entry, and with it the attachments of readers. Throws what the store throws; after CompactedError the caller starts
 * again.
 */
export async function loadContent(
  storage: Storage,
  contents: CacheContents,
  options: LoadOptions,
): Promise<LoadedContent> {
  const { prefix, revision = localRevisionOf(storage), signal } = options;
  const lazyState = options.allowLazyValues && supportsLazyRead(storage) ? storage.openLazyState(prefix) : undefined;
  if (lazyState !== undefined) return await loadLazily(lazyState, contents, options.revision);
  if (supportsBulkRead(storage) && revision !== undefined)
    return loadBulk(storage.readBulk(prefix, revision), contents, { revision, signal });
  return supportsStreamingList(storage) && options.revision === undefined
    ? loadEvents(storage.streamList(prefix, signal), contents, options)
    : loadPages(storage, contents, options);
}

/**
 * Loads keys without values. The result is the latest state together with the changes after the requested revision, so
 * that these need not be reverted and applied again.
 */
async function loadLazily(
  state: LazyState,
  contents: CacheContents,
  after: number | undefined,
): Promise<LoadedContent> {
  const { revision } = state;
  const lazyValues = contents.createLazyValues(state);
  try {
    const tree = lazyValues.tree();
    const changes = after === undefined ? [] : lazyValues.changes(tree, after);
    const resources = countKeys(tree);
    for (const { key, current, previous } of changes) {
      const resource = resourcePrefixOf(key) ?? key;
      const added = (current === undefined ? 0 : 1) - (previous === undefined ? 0 : 1);
      resources.set(resource, (resources.get(resource) ?? 0) - added);
    }
    // Loading a value adds its length; those of replaced versions do not count.
    return { revision, tree, valueBytes: -lazyValues.replacedBytes, resources, dropped: [], lazyValues, changes };
  } catch (error) {
    await lazyValues.release();
    throw error;
  }
}

/** Keys of each resource; skips from one resource prefix to the next, so that no key in between is decoded. */
function countKeys(tree: OrderedTree<CachedEntry>): Map<string, number> {
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

/** Values arrive in the order of the files, keys are sorted: the tree is built once from its sorted entries. */
async function loadBulk(
  bulk: Promise<BulkRead>,
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
      for (const { index, value, revision: at } of batch) {
        entries[index] = entryFor(contents, { key: keys[index] as string, value, revision: at });
        valueBytes += value.length;
      }
      await yieldToEventLoop();
    }
    const tree = OrderedTree.fromSorted(entries, wide);
    return { revision, tree, valueBytes, resources, dropped: await entriesMissingIn(tree, contents) };
  } catch (error) {
    contents.discard(entries.filter((entry) => entry !== undefined && contents.get(entry.key) !== entry));
    throw error;
  }
}

/** The entry of the contents for this value, or a new one. */
function entryFor(contents: CacheContents, item: StoredValue): CachedEntry {
  const known = contents.size === 0 ? undefined : contents.get(item.key);
  // Compares the bytes too: a store restored from a backup assigns revisions again.
  return known?.revision === item.revision && known.value.equals(item.value) ? known : contents.createEntry(item);
}

/** Applies a streaming list; keys arrive in any order and may occur again or be deleted. */
async function loadEvents(
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
  const remove = (entry: CachedEntry | undefined): void => {
    if (entry === undefined) return;
    count(entry, -1);
    if (contents.get(entry.key) !== entry) contents.discard([entry]);
  };
  try {
    for await (const batch of batches) {
      if (signal.aborted) break;
      for (const { key, value, revision: at } of batch.events) {
        if (value === undefined) {
          remove(tree.delete(key));
          continue;
        }
        const entry = entryFor(contents, { key, value, revision: at });
        count(entry, 1);
        remove(tree.set(entry));
      }
      ({ revision } = batch);
      await yieldToEventLoop();
    }
    if (signal.aborted) throw new StorageUnavailableError('the watch cache is closed');
    return { revision, tree, valueBytes, resources, dropped: await entriesMissingIn(tree, contents) };
  } catch (error) {
    for (const entry of tree.scan('', undefined)) remove(entry);
    throw error;
  }
}

/** Entries of the contents that are deleted or replaced in the tree. */
async function entriesMissingIn(tree: OrderedTree<CachedEntry>, contents: CacheContents): Promise<CachedEntry[]> {
  const missing: CachedEntry[] = [];
  for (let from = ''; ;) {
    const slice = contents.range(from, undefined, entriesPerSlice);
    for (const known of slice) if (tree.get(known.key) !== known) missing.push(known);
    const last = slice.at(-1);
    if (last === undefined || slice.length < entriesPerSlice) return missing;
    from = `${last.key}\0`;
    await yieldToEventLoop();
  }
}

/** Lists page by page, all pages of one revision; adapts the page size to the size of the objects. */
async function loadPages(storage: Storage, contents: CacheContents, options: LoadOptions): Promise<LoadedContent> {
  const { prefix, pageSize, signal } = options;
  const tree = new OrderedTree<CachedEntry>();
  const resources = new Map<string, number>();
  const dropped: CachedEntry[] = [];
  let valueBytes = 0;
  let { revision } = options;
  let from = prefix;
  let limit = Math.min(pageSize, firstPageKeys);
  try {
    for (;;) {
      const page = await storage.list(prefix, { limit, from, revision, skipRemainingCount: true });
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
    for (const entry of tree.scan('', undefined)) if (contents.get(entry.key) !== entry) contents.discard([entry]);
    throw error;
  }
}
