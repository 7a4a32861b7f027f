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
import { type Clock, slicesOfTurns } from '@multiplane/component-base';
import { type CacheEntry, CompactedError, type WatchCache, isStorageError } from '@multiplane/storage';
import type { Exchange } from '../exchange.ts';
import type { RequestContext } from '../request-context.ts';
import type { ObjectReader } from '../registry/object-reader.ts';
import { storageStatus } from '../registry/storage-status.ts';
import type { ObjectView } from '../registry/object-view.ts';
import { requireContent, waitForRevision } from '../registry/store-access.ts';
import type { UnreadAnswer } from '../unread-bytes.ts';
import { ConvertedEvents } from './converted-events.ts';
import type { Negotiated } from './negotiation.ts';
import type { ScanScope } from './scan-scope.ts';
import { includeObjectOf } from './table-writer.ts';
import { WatchFrames, errorFrame } from './watch-frames.ts';
import type { WatchHub } from './watch-hub.ts';
import { maxUnreadMs, WatchStream } from './watch-stream.ts';

export interface WatchModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly hub: WatchHub;
  readonly clock: Clock;
  /** A number from 0 to 1: spreads the ends of watches that name none. */
  readonly random: () => number;
}

export interface WatchRequest {
  readonly context: RequestContext;
  readonly definition: ResourceDefinition;
  readonly cluster: LogicalClusterName | '*';
  readonly negotiated: Negotiated;
  readonly options: ListOptions;
  readonly scope: ScanScope;
  /** What must be converted before it can be read, and how; undefined: nothing. */
  readonly view?: ObjectView | undefined;
  /** Calls back when the definition no longer serves the resource; undefined: that never happens. */
  readonly whenReplaced?: ((gone: () => void) => (() => void) | undefined) | undefined;
}

/** Bytes that may wait for one client. */
const maxQueuedBytes = 1024 * 1024;
/** Bytes of objects that may wait for a conversion webhook. */
const maxUnconvertedBytes = 8 * 1024 * 1024;
const bookmarkEveryMs = 60_000;
/** Watches without a timeout end after 30 to 60 minutes (K3.4), so that clients spread anew over the servers. */
const minTimeoutSeconds = 1800;
const initialBatch = 200;
/** A few large objects are written before they gather, a few slow ones let others have their turn. */
const initialChunkBytes = 256 * 1024;

/**
 * A watch, from its start to its end (K3.4, K3.5).
 *
 *  1. Options that are wrong are answered plainly; everything found out later is an ERROR line in a 200 stream.
 *  2. With initial events: the objects of a snapshot as ADDED lines, in key order, as fast as the client reads; then the
 *     bookmark that says so.
 *  3. A subscription that starts after the snapshot's revision, or after the revision the client named. Nothing is lost
 *     between the two: the cache keeps a window of events.
 *  4. Until the client goes, its time is over, the definition retires, the cache starts over or the server stops.
 */
export async function watchObjects(modules: WatchModules, request: WatchRequest): Promise<void> {
  const { cache, clock } = modules;
  const { context, definition, negotiated, options } = request;
  const { exchange } = context;
  const revision = startRevision(options);
  requireContent(cache);

  exchange.setHeader('content-type', negotiated.mediaType);
  // What is no line of text has no place in the frames of a WebSocket.
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
  let unsubscribe: (() => void) | undefined;
  let stream: WatchStream | undefined;
  let converted: ConvertedEvents | undefined;
  const ends: (() => void)[] = [];
  try {
    let after = revision;
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
      onEvent: converted?.onEvent ?? running.onEvent,
      onEnd: () => running.end(),
    });
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

/** Puts the conversion of objects before a watch that needs it. */
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

/** The revision that the client named, 0 for none. Not a number: an untyped 500, as upstream. */
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

/** Sends the state and returns its revision: the watch goes on after it. */
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
  let from: string | undefined;
  const slices = slicesOfTurns();
  let lines: Buffer[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    const chunk = lines.length === 1 ? lines[0] : lines.length > 1 ? Buffer.concat(lines, bytes) : undefined;
    // Before it waits: a client that does not read holds one copy, not two.
    lines = [];
    bytes = 0;
    if (chunk !== undefined && !exchange.write(chunk)) await untilRead(chunk.length, modules, exchange);
    if (slices.over) await slices.next();
    exchange.signal.throwIfAborted();
  };
  for (;;) {
    const entries = snapshot.entries(from, initialBatch);
    await request.view?.prepare(entries);
    try {
      for (const entry of entries) {
        if (scope.selectionInScope?.(entry) === false) continue;
        const frame = frames.initial(entry);
        lines.push(frame);
        bytes += frame.length;
        if (bytes > initialChunkBytes || slices.over) await flush();
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

/** Waits until the client has taken what was written: as long as it does not, the state that it is told is kept in memory. */
async function untilRead(bytes: number, { hub, clock }: WatchModules, exchange: Exchange): Promise<void> {
  const answer: UnreadAnswer = { unread: undefined, cutOff: () => exchange.destroy() };
  const timer = clock.after(maxUnreadMs, () => answer.cutOff());
  const drained = exchange.drained();
  hub.unread.hold(answer, bytes);
  try {
    await drained;
  } finally {
    timer.cancel();
    hub.unread.release(answer);
  }
}

/** What a client is told inside the stream; undefined for a failure that is nobody's business. */
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
