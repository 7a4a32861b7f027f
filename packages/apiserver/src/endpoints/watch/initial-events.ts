import { timeSlices } from '@multiplane/component-base';
import type { Exchange, PendingResponse } from '@multiplane/generic-server';
import type { CacheEntry } from '@multiplane/storage';
import { waitForRevision } from '../../registry/store/cache-freshness.ts';
import type { Selection } from '../../registry/store/selection.ts';
import type { WatchFrames } from './watch-frames.ts';
import type { WatchModules, WatchRequest } from './watch-request.ts';
import { maxUnreadMs } from './watch-stream.ts';

/** Objects that are taken from the snapshot at a time. */
const batchEntries = 200;
/** Bytes of frames that are collected before they are written. */
const chunkBytes = 256 * 1024;

/**
 * Sends the objects of a snapshot as ADDED events and the bookmark that ends them, and returns the snapshot's revision, after
 * which the watch continues. Runs in time slices, and as fast as the client reads.
 *
 * Thousands of clients that reconnect read the same objects. Runs of frames are kept as the blocks of lists are, so the second
 * watch that reads a run encodes it for all that follow.
 */
export async function sendInitialEvents(
  modules: WatchModules,
  request: WatchRequest,
  frames: WatchFrames,
  revision: number,
): Promise<number> {
  const { cache, reader } = modules;
  const { context, definition, options, scope, view } = request;
  if (options.resourceVersion === '') await cache.freshRevision();
  else if (revision > 0) await waitForRevision(cache, revision);
  const snapshot = scope.snapshot(cache);
  const selection =
    snapshot.isNarrowed === true && scope.indexed !== undefined ? scope.indexed.selection : scope.selectionInScope;
  const slices = timeSlices(context.info.cluster);
  const output = new FrameOutput(modules, context.exchange);
  const pause = async (): Promise<void> => {
    await output.flush();
    if (slices.isExceeded) await slices.yield();
    context.exchange.signal.throwIfAborted();
  };
  const select = async (batch: readonly CacheEntry[], isSelected: Selection): Promise<readonly CacheEntry[]> => {
    const selected: CacheEntry[] = [];
    for (const entry of batch) {
      if (isSelected(entry)) selected.push(entry);
      if (slices.isExceeded) await pause();
    }
    return selected;
  };
  const blocks = frames.copiesObjects && view === undefined ? reader.eventBlocks : undefined;
  const encodeRun = (run: readonly CacheEntry[]): Buffer | undefined => frames.initialRun(run);
  let from: string | undefined;
  for (;;) {
    const batch = snapshot.entries(from, batchEntries);
    await view?.prepare(batch);
    try {
      const entries = selection === undefined ? batch : await select(batch, selection);
      /** Up to here events are encoded one by one. */
      let single = 0;
      for (let at = 0; at < entries.length;) {
        if (at >= single && blocks !== undefined) {
          const { bytes, count } = blocks.next(definition, entries, at, encodeRun);
          if (bytes !== undefined) {
            at += count;
            output.push(bytes);
            if (output.isFull || slices.isExceeded) await pause();
            continue;
          }
          single = at + count;
        }
        const made = frames.initial(entries[at++] as CacheEntry, context);
        output.push(Buffer.isBuffer(made) ? made : await made);
        if (output.isFull || slices.isExceeded) await pause();
      }
    } finally {
      view?.release(batch);
    }
    if (batch.length < batchEntries) break;
    await pause();
    from = `${(batch.at(-1) as CacheEntry).key}\u0000`;
  }
  if (options.allowWatchBookmarks) output.push(frames.bookmark(snapshot.revision, true));
  await pause();
  return snapshot.revision;
}

/** Frames that are written together. */
class FrameOutput {
  readonly #modules: WatchModules;
  readonly #exchange: Exchange;
  #frames: Buffer[] = [];
  #bytes = 0;

  constructor(modules: WatchModules, exchange: Exchange) {
    this.#modules = modules;
    this.#exchange = exchange;
  }

  get isFull(): boolean {
    return this.#bytes > chunkBytes;
  }

  push(frame: Buffer): void {
    this.#frames.push(frame);
    this.#bytes += frame.length;
  }

  /** Resolves when the client has read enough. */
  async flush(): Promise<void> {
    const frames = this.#frames;
    if (frames.length === 0) return;
    const chunk = frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames, this.#bytes);
    // Cleared before waiting, so that a client that does not read occupies one copy, not two.
    this.#frames = [];
    this.#bytes = 0;
    if (!this.#exchange.write(chunk)) await this.#waitUntilRead(chunk.length);
  }

  /**
   * Waits until the socket has drained. The bytes count towards the limit of all watches, and a client that does not read them
   * in time is disconnected, because its snapshot is in memory.
   */
  async #waitUntilRead(bytes: number): Promise<void> {
    const { hub, clock } = this.#modules;
    const answer: PendingResponse = { pending: undefined, terminate: () => this.#exchange.destroy() };
    const timer = clock.after(maxUnreadMs, () => answer.terminate());
    const drained = this.#exchange.drained();
    hub.unread.add(answer, bytes);
    try {
      await drained;
    } finally {
      timer.cancel();
      hub.unread.release(answer);
    }
  }
}
