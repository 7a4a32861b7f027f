import {
  type ListOptions,
  type LogicalClusterName,
  ResourceVersionError,
  type StatusError,
  isStatusError,
  parseResourceVersion,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { type Clock, timeSlices } from '@multiplane/component-base';
import type { Exchange, Negotiated, RequestContext, PendingResponse } from '@multiplane/generic-server';
import { type CacheEntry, CompactedError, type WatchCache, isStorageError } from '@multiplane/storage';
import type { ObjectReader } from '../../registry/store/object-reader.ts';
import { storageStatus } from '../../registry/store/storage-status.ts';
import type { ObjectView } from '../../registry/store/object-view.ts';
import { requireLoadedCache, waitForRevision } from '../../registry/store/cache-freshness.ts';
import { ConvertedEvents } from './converted-events.ts';
import type { ScanScope } from '../../registry/store/scan-scope.ts';
import { isLarge, whileTimeLasts } from '../../time-slices.ts';
import { includeObjectOf } from '../response/table-writer.ts';
import { WatchFrames, errorFrame } from './watch-frames.ts';
import type { WatchHub } from './watch-hub.ts';
import { maxUnreadMs, WatchStream } from './watch-stream.ts';

export interface WatchModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly hub: WatchHub;
  readonly clock: Clock;
  /** A number from 0 to 1, which spreads the timeouts of watches that set none. */
  readonly random: () => number;
}

export interface WatchRequest {
  readonly context: RequestContext;
  readonly definition: ResourceDefinition;
  readonly cluster: LogicalClusterName | '*';
  readonly negotiated: Negotiated;
  readonly options: ListOptions;
  readonly scope: ScanScope;
  /** Converts objects before they are read; undefined: no webhook converts this kind. */
  readonly view?: ObjectView | undefined;
  /** Registers a callback for when the definition no longer serves the resource; undefined: that never happens. */
  readonly whenReplaced?: ((onReplaced: () => void) => (() => void) | undefined) | undefined;
}

/** Bytes that may be queued for one client. */
const maxQueuedBytes = 1024 * 1024;
/** Bytes of events that may wait for a conversion webhook. */
const maxUnconvertedBytes = 8 * 1024 * 1024;
const bookmarkEveryMs = 60_000;
/** Watches without a timeout end after 30 to 60 minutes, as in Kubernetes, so that clients rebalance over the servers. */
const minTimeoutSeconds = 1800;
const initialBatch = 200;
/** Bytes of initial events that are collected before they are written. */
const initialChunkBytes = 256 * 1024;

/**
 * Serves a watch:
 *
 *  1. Invalid options are an error response; later errors are an ERROR event in a stream with status 200.
 *  2. With initial events: the objects of a snapshot as ADDED events, in key order, as fast as the client reads, then the
 *     bookmark that marks their end.
 *  3. A subscription to the cache, which starts after the snapshot's revision or the client's `resourceVersion`. No event
 *     in between is lost, because the cache keeps a window of past events.
 *  4. The watch ends when the client disconnects, the timeout expires, the definition changes, the cache is reloaded or the
 *     server stops.
 */
export async function watchObjects(modules: WatchModules, request: WatchRequest): Promise<void> {
  const { cache, clock } = modules;
  const { context, definition, negotiated, options } = request;
  const { exchange } = context;
  const revision = startRevision(options);
  requireLoadedCache(cache);

  exchange.setHeader('content-type', negotiated.mediaType);
  // WebSocket frames carry lines of JSON only.
  if (negotiated.encoding === 'json') exchange.upgradeToWebSocket?.();
  exchange.start(200);

  const frames = new WatchFrames(
    {
      definition,
      encoding: negotiated.encoding,
      transform: negotiated.transform,
      include: includeObjectOf(context.info.query),
    },
    { reader: request.view ?? modules.reader, now: () => new Date(clock.now()) },
  );
  if (options.sendInitialEvents === true && !frames.canEncode) {
    exchange.end();
    return;
  }
  let unsubscribe: (() => void) | undefined;
  let stream: WatchStream | undefined;
  let converted: ConvertedEvents | undefined;
  const ends: (() => void)[] = [];
  try {
    let after = revision;
    const { indexed } = request.scope;
    if (indexed?.index.isBuilt === false) await indexed.index.built;
    if (options.sendInitialEvents === true) {
      after = await sendInitialEvents(modules, request, frames, revision);
    } else if (options.resourceVersion === '') {
      after = await cache.freshRevision();
    } else if (revision === 0) {
      after = cache.revision;
    }
    if (exchange.signal.aborted) return;
    const now = clock.now();
    stream = new WatchStream(
      {
        maxQueuedBytes,
        bookmarkEveryMs: options.allowWatchBookmarks ? bookmarkEveryMs : undefined,
        deadline: now + timeoutMs(modules, options),
        after,
        startedAt: now,
      },
      {
        exchange,
        frames,
        selection: request.scope.selectionInScope,
        hub: modules.hub,
        currentRevision: () => converted?.revision ?? cache.revision,
      },
    );
    const running = stream;
    converted = convertedEvents(request, running, cache);
    unsubscribe = cache.subscribe({
      scope: request.scope.scope,
      after,
      where: indexed?.where,
      onEvent: converted?.onEvent ?? running.onEvent,
      onEnd: () => running.end(),
    });
    context.watchInitialized?.();
    onAbort(exchange.signal, () => running.abandon(), ends);
    onAbort(context.signal, () => running.end(), ends);
    if (definition.retired !== undefined) onAbort(definition.retired, () => running.end(), ends);
    const release = request.whenReplaced?.(() => running.end());
    if (release !== undefined) ends.push(release);
    await running.done;
  } catch (error) {
    const status = watchStatus(error, revision);
    if (status === undefined || exchange.signal.aborted) throw error;
    const frame = errorFrame(status, negotiated.encoding);
    if (stream === undefined) {
      exchange.write(frame);
      exchange.end();
    } else {
      stream.end(frame);
      await stream.done;
    }
  } finally {
    unsubscribe?.();
    converted?.end();
    for (const end of ends) end();
  }
}

/** Converts the objects of events before the stream, for kinds with a conversion webhook. */
function convertedEvents(
  { view, scope, negotiated }: WatchRequest,
  stream: WatchStream,
  cache: WatchCache,
): ConvertedEvents | undefined {
  if (view === undefined) return undefined;
  return new ConvertedEvents(
    { maxWaitingBytes: maxUnconvertedBytes, selectsObjects: scope.selectsObjects },
    {
      view,
      deliver: stream.onEvent,
      currentRevision: () => cache.revision,
      fail: (error) => {
        const status = watchStatus(error, cache.revision);
        stream.end(status === undefined ? undefined : errorFrame(status, negotiated.encoding));
      },
    },
  );
}

/** The revision in `resourceVersion`, 0 if absent. Throws an untyped 500, as Kubernetes does, if it is not a number. */
function startRevision(options: ListOptions): number {
  try {
    return parseResourceVersion(options.resourceVersion);
  } catch (error) {
    if (error instanceof ResourceVersionError) throw statusErrors.untyped(error.message);
    throw error;
  }
}

function timeoutMs({ random }: WatchModules, options: ListOptions): number {
  const seconds = options.timeoutSeconds ?? 0;
  return (seconds > 0 ? seconds : minTimeoutSeconds * (1 + random())) * 1000;
}

/** Sends the objects of a snapshot and returns its revision, after which the watch continues. */
async function sendInitialEvents(
  modules: WatchModules,
  request: WatchRequest,
  frames: WatchFrames,
  revision: number,
): Promise<number> {
  const { cache } = modules;
  const { context, options, scope } = request;
  const { exchange } = context;
  if (options.resourceVersion === '') await cache.freshRevision();
  else if (revision > 0) await waitForRevision(cache, revision);
  const snapshot = scope.snapshot(cache);
  const selection =
    snapshot.isNarrowed === true && scope.indexed !== undefined ? scope.indexed.selection : scope.selectionInScope;
  let from: string | undefined;
  const slices = timeSlices(context.info.cluster);
  let lines: Buffer[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    const chunk = lines.length === 1 ? lines[0] : lines.length > 1 ? Buffer.concat(lines, bytes) : undefined;
    // Cleared before waiting, so that a client that does not read occupies one copy, not two.
    lines = [];
    bytes = 0;
    if (chunk !== undefined && !exchange.write(chunk)) await waitUntilRead(chunk.length, modules, exchange);
    if (slices.isExceeded) await slices.yield();
    exchange.signal.throwIfAborted();
  };
  for (;;) {
    const entries = snapshot.entries(from, initialBatch);
    await request.view?.prepare(entries);
    try {
      for (const entry of entries) {
        if (selection?.(entry) === false) continue;
        const loaded = frames.parses
          ? modules.reader.load(entry, context)
          : modules.reader.check(request.definition, entry, context);
        if (loaded !== undefined) {
          await loaded;
          // Watches that waited for the same parsed object resume together, each with a long frame.
          if (slices.isExceeded) await slices.yield();
        }
        const isSliced = frames.parses && isLarge(entry.value.length);
        const frame = isSliced
          ? await whileTimeLasts(frames.initialIncrementally(entry), context)
          : frames.initial(entry);
        lines.push(frame);
        bytes += frame.length;
        if (bytes > initialChunkBytes || slices.isExceeded) await flush();
      }
    } finally {
      request.view?.release(entries);
    }
    await flush();
    if (entries.length < initialBatch) break;
    from = `${(entries.at(-1) as CacheEntry).key}\u0000`;
  }
  if (options.allowWatchBookmarks) exchange.write(frames.bookmark(snapshot.revision, true));
  return snapshot.revision;
}

/**
 * Waits until the socket has drained. The bytes count towards the limit of all watches, and a client that does not read them
 * in time is disconnected, because its snapshot is in memory.
 */
async function waitUntilRead(bytes: number, { hub, clock }: WatchModules, exchange: Exchange): Promise<void> {
  const answer: PendingResponse = { pending: undefined, terminate: () => exchange.destroy() };
  const timer = clock.after(maxUnreadMs, () => answer.terminate());
  const drained = exchange.drained();
  hub.unread.add(answer, bytes);
  try {
    await drained;
  } finally {
    timer.cancel();
    hub.unread.release(answer);
  }
}

/** The Status of an ERROR event; undefined for an internal error, which is not sent to the client. */
function watchStatus(error: unknown, revision: number): StatusError | undefined {
  if (isStorageError(error, 'Compacted')) {
    const oldest = error instanceof CompactedError ? error.oldest : 0;
    return statusErrors.expired(`too old resource version: ${revision} (${oldest - 1})`);
  }
  if (isStatusError(error)) return error;
  return isStorageError(error) ? storageStatus(error) : undefined;
}

function onAbort(signal: AbortSignal, callback: () => void, ends: (() => void)[]): void {
  if (signal.aborted) {
    callback();
    return;
  }
  signal.addEventListener('abort', callback, { once: true });
  ends.push(() => signal.removeEventListener('abort', callback));
}
