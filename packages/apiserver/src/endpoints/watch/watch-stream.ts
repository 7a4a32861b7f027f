import type { Exchange, PendingBytes, PendingResponse } from '@multiplane/generic-server';
import type { CacheEvent } from '@multiplane/storage';
import type { Abortable } from '../../time-slices.ts';
import type { Selection } from '../../registry/store/selection.ts';
import type { HubMember, WatchHub } from './watch-hub.ts';
import type { WatchEventType, WatchFrames } from './watch-frames.ts';
import { FrameSequence } from './frame-sequence.ts';

export interface WatchStreamOptions {
  /** Bytes that may be queued before the client is disconnected. */
  readonly maxQueuedBytes: number;
  /** Undefined: no bookmarks. */
  readonly bookmarkEveryMs: number | undefined;
  /** The time of the timeout. */
  readonly deadline: number;
  /** Events up to this revision are not sent. */
  readonly after: number;
  readonly startedAt: number;
}

export interface WatchStreamModules {
  /** The request, for the work on its frames. */
  readonly context: Abortable;
  readonly exchange: Exchange;
  readonly frames: WatchFrames;
  readonly selection: Selection | undefined;
  readonly hub: WatchHub;
  /** The revision up to which all events were delivered; undefined: older ones are on their way. */
  readonly currentRevision: () => number | undefined;
}

/** Bytes of events that may wait for frames that are being encoded. */
const maxWaitingBytes = 8 * 1024 * 1024;
/** How long a client may leave frames unread that are in memory only for this client. */
export const maxUnreadMs = 60_000;
/** A last bookmark is sent this long before the timeout, as in Kubernetes; shorter watches have none. */
const lastBookmarkMs = 2000;

/**
 * A running watch: encodes events of the cache and sends them to the client.
 *
 * Frames are queued and written once per event-loop tick (see {@link WatchHub}). While the socket is full, frames stay queued up
 * to a limit in bytes; a client that exceeds it is disconnected, and resumes with the revision of the last event that it
 * read. Frames are shared by all watches, so the queues of thousands of watches only hold references.
 */
export class WatchStream implements HubMember, PendingResponse {
  readonly #options: WatchStreamOptions;
  readonly #modules: WatchStreamModules;
  pending: PendingBytes | undefined = undefined;
  /** Frames before they are queued. */
  readonly #sequence: FrameSequence;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #marked = false;
  #blocked = false;
  #ending = false;
  /** When a client that does not read the queued frames of an ended watch is disconnected. */
  #cutOffAt: number | undefined;
  #nextBookmark: number;
  #bookmarkAtEnd: boolean;
  /** Callers that wait for {@link settled}. */
  #settling: (() => void)[] = [];
  #finish: (() => void) | undefined;
  /** Resolves when the watch has ended, for any reason. */
  readonly done: Promise<void>;

  constructor(options: WatchStreamOptions, modules: WatchStreamModules) {
    this.#options = options;
    this.#modules = modules;
    const every = options.bookmarkEveryMs;
    this.#nextBookmark = every === undefined ? Number.POSITIVE_INFINITY : options.startedAt + every;
    this.#bookmarkAtEnd = every !== undefined && options.deadline - lastBookmarkMs > options.startedAt;
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
    // The client resumes with the last event that it read.
    this.#sequence = new FrameSequence(
      { maxWaitingBytes },
      { deliver: (frame) => this.send(frame), fail: () => this.terminate() },
    );
    modules.hub.add(this);
  }

  get ended(): boolean {
    return this.#finish === undefined;
  }

  /** Receives an event on the dispatch path. Its type depends on whether the object matched the selection before and does now. */
  readonly onEvent = (event: CacheEvent): void => {
    if (this.#finish === undefined) return;
    if (event.revision <= this.#options.after && event.isUnordered !== true) return;
    const { selection, frames } = this.#modules;
    const was = event.previous !== undefined && (selection === undefined || selection(event.previous));
    const is = event.current !== undefined && (selection === undefined || selection(event.current));
    if ((is || was) && !frames.canEncode) this.end();
    else if (is) this.#encode(was ? 'MODIFIED' : 'ADDED', event);
    else if (was) this.#encode('DELETED', event);
  };

  #encode(type: WatchEventType, event: CacheEvent): void {
    const { context, frames } = this.#modules;
    const bytes = (event.current ?? event.previous)?.value.length ?? 0;
    this.#sequence.push(frames.event(type, event, context), bytes);
  }

  /** Queues a frame. */
  send(frame: Buffer): void {
    if (this.#finish === undefined || this.#ending) return;
    // Of a burst within one tick, before the client could read any of it.
    if (this.#exceedsLimit(frame) && !this.#blocked) this.flush();
    if (this.#exceedsLimit(frame)) this.terminate();
    if (this.ended) return;
    this.#queue.push(frame);
    this.#queuedBytes += frame.length;
    if (this.#blocked) {
      this.#modules.hub.unread.add(this, frame.length);
    } else if (!this.#marked) {
      this.#marked = true;
      this.#modules.hub.mark(this);
    }
  }

  /** A single frame is always queued: otherwise an object near the limit could not be watched. */
  #exceedsLimit(frame: Buffer): boolean {
    return this.#queuedBytes > 0 && this.#queuedBytes + frame.length > this.#options.maxQueuedBytes;
  }

  /**
   * Writes what is queued. Undefined if all delivered events are written and the client has read enough; else resolves when they are, or
   * the watch has ended.
   */
  settled(): Promise<void> | undefined {
    this.flush();
    return this.#isSettled ? undefined : new Promise((resolve) => this.#settling.push(resolve));
  }

  get #isSettled(): boolean {
    return this.ended || (!this.#sequence.isWaiting && !this.#blocked && this.#queue.length === 0);
  }

  #resolveSettled(): void {
    if (this.#settling.length === 0 || !this.#isSettled) return;
    for (const resolve of this.#settling.splice(0)) resolve();
  }

  flush(): void {
    this.#marked = false;
    if (this.#finish === undefined || this.#blocked || this.#queue.length === 0) return;
    const chunk = this.#queue.length === 1 ? (this.#queue[0] as Buffer) : Buffer.concat(this.#queue, this.#queuedBytes);
    this.#queue = [];
    this.#queuedBytes = 0;
    const { exchange, hub } = this.#modules;
    if (exchange.write(chunk)) {
      this.#resolveSettled();
      return;
    }
    this.#blocked = true;
    void exchange.drained().then(() => {
      this.#blocked = false;
      hub.unread.release(this);
      if (!this.#marked) this.flush();
      this.#resolveSettled();
      if (this.#ending) this.#endWhenDrained();
    });
    hub.unread.add(this, chunk.length);
  }

  tick(now: number): void {
    const { deadline, bookmarkEveryMs } = this.#options;
    if (this.#ending) {
      this.#cutOffAt ??= now + maxUnreadMs;
      if (now >= this.#cutOffAt) this.terminate();
      return;
    }
    if (now >= deadline) {
      this.end();
      return;
    }
    const last = this.#bookmarkAtEnd && now >= deadline - lastBookmarkMs;
    if (now < this.#nextBookmark && !last) return;
    const revision = this.#modules.currentRevision();
    // A bookmark must not overtake events.
    if (this.#sequence.isWaiting || revision === undefined) return;
    if (last) this.#bookmarkAtEnd = false;
    this.#nextBookmark = now + (bookmarkEveryMs as number);
    if (!this.#modules.frames.canEncode) {
      this.end();
      return;
    }
    // No bookmark behind a full socket: it would only add to the queue.
    if (!this.#blocked) this.send(this.#modules.frames.bookmark(revision, false));
  }

  /**
   * Ends the response after all queued frames. An ended response can be neither disconnected nor counted, so it ends only once
   * the socket has drained; a client that does not read is disconnected after {@link maxUnreadMs}.
   */
  end(last?: Buffer): void {
    if (this.#finish === undefined || this.#ending) return;
    if (last !== undefined) {
      this.#queue.push(last);
      this.#queuedBytes += last.length;
    }
    this.#ending = true;
    this.flush();
    this.#endWhenDrained();
  }

  #endWhenDrained(): void {
    if (this.#finish === undefined || this.#blocked) return;
    this.#modules.exchange.end();
    this.#close();
  }

  /** The client has disconnected. */
  abandon(): void {
    this.#close();
  }

  /** Disconnects a client that reads too slowly. */
  terminate(): void {
    this.#modules.exchange.destroy();
    this.#close();
  }

  #close(): void {
    const finish = this.#finish;
    if (finish === undefined) return;
    this.#finish = undefined;
    this.#queue = [];
    this.#sequence.close();
    this.#modules.hub.unread.release(this);
    this.#modules.hub.remove(this);
    this.#resolveSettled();
    finish();
  }
}
