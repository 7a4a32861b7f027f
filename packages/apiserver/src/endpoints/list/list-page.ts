import {
  type ListOptions,
  ResourceVersionError,
  StatusError,
  decodeContinueToken,
  encodeContinueToken,
  encodeContinueTokenFrom,
  parseResourceVersion,
  statusErrors,
} from '@multiplane/apimachinery';
import { type CacheEntry, type CacheSnapshot, type WatchCache, isStorageError } from '@multiplane/storage';
import { waitForRevision } from '../../registry/store/cache-freshness.ts';
import type { ObjectView } from '../../registry/store/object-view.ts';
import type { ScanScope } from '../../registry/store/scan-scope.ts';
import type { Selection } from '../../registry/store/selection.ts';

/** The state that a list reads, and the first key of its page. */
export interface ListStart {
  readonly snapshot: CacheSnapshot;
  /** Undefined: the first key. */
  readonly from: string | undefined;
  /** 0: no limit. */
  readonly limit: number;
  /** Selects the objects of the snapshot. */
  readonly selection: Selection | undefined;
  /** Whether there is another page depends on selected objects alone. */
  readonly hidesUnselected: boolean;
}

const tooOldText = 'The resourceVersion for the provided list is too old.';
const inconsistentText =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';
/** Revision in a continue token that continues at the most recent state. */
const inconsistentRevision = -1;

/**
 * The state that a list reads, by `resourceVersion`, `resourceVersionMatch` and `continue`, as Kubernetes defines them. Waits
 * for a revision that the cache has not reached. Throws 400, 410, 504.
 */
export async function startList(cache: WatchCache, scope: ScanScope, options: ListOptions): Promise<ListStart> {
  const { indexed } = scope;
  // Scanning all objects instead would take this request alone as long as building the index for all requests.
  if (indexed?.index.isBuilt === false) await indexed.index.built;
  const position = await startAt(cache, scope, options);
  const isNarrowed = position.snapshot.isNarrowed === true && indexed !== undefined;
  return {
    ...position,
    selection: isNarrowed ? indexed.selection : scope.selection,
    hidesUnselected: isNarrowed || scope.hidesUnselected,
  };
}

type ListPosition = Omit<ListStart, 'selection' | 'hidesUnselected'>;

async function startAt(cache: WatchCache, scope: ScanScope, options: ListOptions): Promise<ListPosition> {
  const { limit } = options;
  if (options.continue !== '') return continueList(cache, scope, options);
  const wanted = revisionOf(options.resourceVersion);
  if (options.resourceVersion === '') {
    await cache.freshRevision();
    return { snapshot: scope.snapshot(cache), from: undefined, limit };
  }
  // "0" returns the cached state as a whole: pages of it could not be continued consistently.
  if (wanted === 0) return { snapshot: scope.snapshot(cache), from: undefined, limit: 0 };
  await waitForRevision(cache, wanted);
  const exact = options.resourceVersionMatch === 'Exact' || (options.resourceVersionMatch === '' && limit > 0);
  return { snapshot: exact ? snapshotAt(cache, scope, wanted) : scope.snapshot(cache), from: undefined, limit };
}

async function continueList(
  cache: WatchCache,
  { prefix, indexed }: ScanScope,
  options: ListOptions,
): Promise<ListPosition> {
  const token = decodeContinueToken(options.continue, prefix);
  if (options.resourceVersion !== '' && options.resourceVersion !== '0') {
    throw statusErrors.badRequest('specifying resource version is not allowed when using continue');
  }
  const start = { from: token.from, limit: options.limit };
  if (token.revision === inconsistentRevision) {
    await cache.freshRevision();
    return { ...start, snapshot: cache.snapshot(prefix, undefined, indexed?.where) };
  }
  await waitForRevision(cache, token.revision);
  try {
    return { ...start, snapshot: cache.snapshot(prefix, token.revision, indexed?.where) };
  } catch (error) {
    if (!isStorageError(error, 'Compacted')) throw error;
    throw statusErrors.expired(inconsistentText, encodeContinueTokenFrom(token.from, prefix, inconsistentRevision));
  }
}

function snapshotAt(cache: WatchCache, { prefix, indexed }: ScanScope, revision: number): CacheSnapshot {
  try {
    return cache.snapshot(prefix, revision, indexed?.where);
  } catch (error) {
    if (isStorageError(error, 'Compacted')) throw statusErrors.expired(tooOldText);
    throw error;
  }
}

function revisionOf(text: string): number {
  try {
    return parseResourceVersion(text);
  } catch (error) {
    if (!(error instanceof ResourceVersionError)) throw error;
    throw new StatusError({
      code: 400,
      reason: 'BadRequest',
      message: `invalid resource version: ${error.message}`,
      cause: error,
    });
  }
}

/** Entries that are read from a snapshot at a time. */
const scanSize = 500;

export interface ListPage {
  /** The entries of the page, in order, in pieces of at most {@link scanSize}. */
  readonly pieces: Generator<readonly CacheEntry[], void, void>;
  readonly continue: string;
  readonly remaining: number | undefined;
}

/**
 * Selects the page of a list. With a limit the page is collected first, because the continue token precedes the items in the
 * response; without a limit entries are read while they are written.
 */
export async function cutPage(
  start: ListStart,
  prefix: string,
  pause: () => Promise<void>,
  view?: ObjectView,
): Promise<ListPage> {
  const { selection } = start;
  if (view !== undefined && selection !== undefined) return cutPreparedPage(start, prefix, selection, view);
  const { snapshot, limit } = start;
  if (limit === 0) return { pieces: everyPiece(start, selection), continue: '', remaining: undefined };

  // As in Kubernetes, the rest may be objects that are not selected: the client then requests an empty page.
  const selectsHere = selection !== undefined && !start.hidesUnselected;
  const page: CacheEntry[] = [];
  for (const piece of everyPiece(start, selectsHere ? undefined : selection)) {
    for (const entry of piece) {
      if (page.length === limit) {
        return {
          pieces: onePiece(page),
          continue: encodeContinueToken((page.at(-1) as CacheEntry).key, prefix, snapshot.revision),
          // With a selection Kubernetes does not count, also where an index could.
          remaining:
            selection === undefined && snapshot.isNarrowed !== true ? snapshot.countFrom(entry.key) : undefined,
        };
      }
      if (!selectsHere || selection(entry)) page.push(entry);
    }
    await pause();
  }
  return { pieces: onePiece(page), continue: '', remaining: undefined };
}

/**
 * {@link cutPage} for a selection of objects that a webhook must convert first: piece by piece, so that not much more is
 * converted than the page needs. Selected objects stay prepared in the view.
 */
async function cutPreparedPage(
  start: ListStart,
  prefix: string,
  selection: Selection,
  view: ObjectView,
): Promise<ListPage> {
  const { snapshot, limit } = start;
  const page: CacheEntry[] = [];
  for (const piece of everyPiece(start, undefined)) {
    await view.prepare(piece);
    for (const entry of piece) {
      const isFull = limit > 0 && page.length === limit;
      if ((!isFull || start.hidesUnselected) && !selection(entry)) {
        view.release([entry]);
      } else if (isFull) {
        const token = encodeContinueToken((page.at(-1) as CacheEntry).key, prefix, snapshot.revision);
        return { pieces: onePiece(page), continue: token, remaining: undefined };
      } else {
        page.push(entry);
      }
    }
  }
  return { pieces: onePiece(page), continue: '', remaining: undefined };
}

/** Stored bytes that are converted before the response of a list starts. */
const preparedBytes = 32 * 1024 * 1024;

/**
 * Converts the objects of a list before the response starts, so that a failure of the webhook can still be the response.
 * The rest of a larger list is converted while it is written; a failure then aborts the response.
 */
export async function preparedPage(page: ListPage, view: ObjectView): Promise<ListPage> {
  const ready: (readonly CacheEntry[])[] = [];
  let bytes = 0;
  for (;;) {
    const { value, done } = page.pieces.next();
    if (done === true) break;
    ready.push(value);
    bytes += value.reduce((sum, { value: stored }) => sum + stored.length, 0);
    if (bytes > preparedBytes) break;
  }
  await view.prepare(ready.flat());
  return { ...page, pieces: chained(ready, page.pieces) };
}

function* chained(
  first: readonly (readonly CacheEntry[])[],
  rest: Generator<readonly CacheEntry[], void, void>,
): Generator<readonly CacheEntry[], void, void> {
  yield* first;
  yield* rest;
}

function* onePiece(entries: readonly CacheEntry[]): Generator<readonly CacheEntry[], void, void> {
  yield entries;
}

function* everyPiece(start: ListStart, selection: Selection | undefined): Generator<readonly CacheEntry[], void, void> {
  let { from } = start;
  const size = start.limit === 0 || start.selection !== undefined ? scanSize : Math.min(scanSize, start.limit + 1);
  for (;;) {
    const entries = start.snapshot.entries(from, size);
    if (entries.length > 0) yield selection === undefined ? entries : entries.filter(selection);
    if (entries.length < size) return;
    from = `${(entries.at(-1) as CacheEntry).key}\u0000`;
  }
}
