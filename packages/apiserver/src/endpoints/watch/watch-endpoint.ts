import {
  type ListOptions,
  ResourceVersionError,
  type StatusError,
  isStatusError,
  parseResourceVersion,
  statusErrors,
} from '@multiplane/apimachinery';
import { timeSlices } from '@multiplane/component-base';
import { CompactedError, type WatchCache, isStorageError } from '@multiplane/storage';
import { storageStatus } from '../../registry/store/storage-status.ts';
import { requireLoadedCache } from '../../registry/store/cache-freshness.ts';
import { ConvertedEvents } from './converted-events.ts';
import { EventReplay } from './event-replay.ts';
import { includeObjectOf } from '../response/table-writer.ts';
import { sendInitialEvents } from './initial-events.ts';
import { WatchFrames, errorFrame } from './watch-frames.ts';
import type { WatchModules, WatchRequest } from './watch-request.ts';
import { WatchStream } from './watch-stream.ts';

/** Bytes that may be queued for one client. */
const maxQueuedBytes = 1024 * 1024;
/** Bytes of events that may arrive while a watch receives those that it has missed. */
const maxArrivedBytes = 8 * 1024 * 1024;
/** Bytes of events that may wait for a conversion webhook. */
const maxUnconvertedBytes = 8 * 1024 * 1024;
const bookmarkEveryMs = 60_000;
/** Watches without a timeout end after 30 to 60 minutes, as in Kubernetes, so that clients rebalance over the servers. */
const minTimeoutSeconds = 1800;

/**
 * Serves a watch:
 *
 *  1. Invalid options are an error response; later errors are an ERROR event in a stream with status 200.
 *  2. With initial events: the objects of a snapshot as ADDED events, in key order, as fast as the client reads, then the
 *     bookmark that marks their end.
 *  3. A subscription to the cache, which starts after the snapshot's revision or the client's `resourceVersion`. No event
 *     in between is lost, because the cache keeps a window of past events; they are sent as fast as the client reads, too.
 *  4. The watch ends when the client disconnects, the timeout expires, the definition changes, the cache is reloaded or the
 *     server stops.
 */
export async function watchObjects(modules: WatchModules, request: WatchRequest): Promise<void> {
  const { cache, clock } = modules;
  const { context, definition, negotiated, options } = request;
  const { exchange } = context;
  const revision = startRevision(options);
  requireLoadedCache(cache);
  // Before the response starts: the watch reports what its client writes once it has read the headers.
  let after = await firstRevision(cache, options, revision);

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
    {
      reader: request.view ?? modules.reader,
      now: () => new Date(clock.now()),
      inFlight: modules.hub.framesInFlight,
    },
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
    const { indexed } = request.scope;
    if (indexed?.index.isBuilt === false) await indexed.index.built;
    if (options.sendInitialEvents === true) after = await sendInitialEvents(modules, request, frames, revision);
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
        context,
        exchange,
        frames,
        selection: request.scope.selectionInScope,
        hub: modules.hub,
        currentRevision: () => (replay?.isLive ? (converted?.revision ?? cache.revision) : undefined),
      },
    );
    const running = stream;
    const conversions = convertedEvents(request, running, cache);
    converted = conversions;
    const replay = new EventReplay(
      { maxArrivedBytes },
      {
        clock,
        slices: timeSlices(context.info.cluster),
        deliver: conversions?.onEvent ?? running.onEvent,
        settled: () => conversions?.settled?.then(() => running.settled()) ?? running.settled(),
        isEnded: () => running.ended,
        terminate: () => running.terminate(),
      },
    );
    unsubscribe = cache.subscribe({
      scope: request.scope.scope,
      after,
      where: indexed?.where,
      onEvent: replay.onEvent,
      onEnd: () => running.end(),
    });
    const replayed = replay.run();
    context.watchInitialized?.();
    onAbort(exchange.signal, () => running.abandon(), ends);
    onAbort(context.signal, () => running.end(), ends);
    if (definition.retired !== undefined) onAbort(definition.retired, () => running.end(), ends);
    const release = request.whenReplaced?.(() => running.end());
    if (release !== undefined) ends.push(release);
    await Promise.all([replayed, running.done]);
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

/** The revision after which a watch without initial events reports changes. */
async function firstRevision(cache: WatchCache, options: ListOptions, requested: number): Promise<number> {
  if (options.sendInitialEvents === true || requested > 0) return requested;
  return options.resourceVersion === '' ? cache.freshRevision() : cache.revision;
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
