import type { CacheEvent } from '@multiplane/storage';
import type { Exchange } from '../exchange.ts';
import type { Unread, UnreadAnswer } from '../unread-bytes.ts';
import type { Selection } from './selection.ts';
import type { HubMember, WatchHub } from './watch-hub.ts';
import type { WatchFrames } from './watch-frames.ts';

export interface WatchStreamOptions {
  /** Bytes that may wait for the client before it is cut off. */
  readonly maxQueuedBytes: number;
  /** Undefined: the client wants no bookmarks. */
  readonly bookmarkEveryMs: number | undefined;
  /** When the watch ends by itself. */
  readonly deadline: number;
  /** Events up to here are known to the client or not wanted. */
  readonly after: number;
  readonly startedAt: number;
}

export interface WatchStreamModules {
  readonly exchange: Exchange;
  readonly frames: WatchFrames;
  readonly selection: Selection | undefined;
  readonly hub: WatchHub;
  /** Everything up to here was dispatched. */
  readonly currentRevision: () => number;
}

/** So long a client may leave unread what is in memory for nobody else. */
export const maxUnreadMs = 60_000;
/** A last bookmark comes this long before the watch ends by itself (K3.5). */
const lastBookmarkMs = 2000;

/**
 * One running watch: turns events of the cache into lines and hands them to the client.
 *
 * Lines are queued and written once per turn of the event loop (see {@link WatchHub}). When the socket is full, lines
 * wait here, bounded in bytes; a client that stays behind is cut off, never waited for: it comes back with the revision
 * of the last line it read. Frames are shared buffers, so a queue of thousands of watches costs references only.
 */
export class WatchStream implements HubMember, UnreadAnswer {
  readonly #options: WatchStreamOptions;
  readonly #modules: WatchStreamModules;
  unread: Unread | undefined = undefined;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #marked = false;
  #blocked = false;
  #ending = false;
  /** When a client that does not take the rest is cut off. */
  #cutOffAt: number | undefined;
  #nextBookmark: number;
  #bookmarkAtEnd: boolean;
  #finish: (() => void) | undefined;
  /** Resolves when the watch is over, however it ended. */
  readonly done: Promise<void>;

  constructor(options: WatchStreamOptions, modules: WatchStreamModules) {
    this.#options = options;
    this.#modules = modules;
    const every = options.bookmarkEveryMs;
    this.#nextBookmark = every === undefined ? Number.POSITIVE_INFINITY : options.startedAt + every;
    this.#bookmarkAtEnd = every !== undefined;
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
    modules.hub.add(this);
  }

  get ended(): boolean {
    return this.#finish === undefined;
  }

  /** Takes an event on the dispatch path. What it means depends on whether the object was and is selected (K3.5). */
  readonly onEvent = (event: CacheEvent): void => {
    if (this.#finish === undefined || event.revision <= this.#options.after) return;
    const { selection, frames } = this.#modules;
    const was = event.previous !== undefined && (selection === undefined || selection(event.previous));
    const is = event.current !== undefined && (selection === undefined || selection(event.current));
    if (is) this.send(frames.event(was ? 'MODIFIED' : 'ADDED', event));
    else if (was) this.send(frames.event('DELETED', event));
  };

  /** Queues a line. */
  send(frame: Buffer): void {
    if (this.#finish === undefined || this.#ending) return;
    // One line always fits, however large: else an object near the limit could never be watched.
    if (this.#queuedBytes > 0 && this.#queuedBytes + frame.length > this.#options.maxQueuedBytes) {
      this.cutOff();
      return;
    }
    this.#queue.push(frame);
    this.#queuedBytes += frame.length;
    if (this.#blocked) {
      this.#modules.hub.unread.hold(this, frame.length);
    } else if (!this.#marked) {
      this.#marked = true;
      this.#modules.hub.mark(this);
    }
  }

  flush(): void {
    this.#marked = false;
    if (this.#finish === undefined || this.#blocked || this.#queue.length === 0) return;
    const chunk = this.#queue.length === 1 ? (this.#queue[0] as Buffer) : Buffer.concat(this.#queue, this.#queuedBytes);
    this.#queue = [];
    this.#queuedBytes = 0;
    const { exchange, hub } = this.#modules;
    if (exchange.write(chunk)) return;
    this.#blocked = true;
    void exchange.drained().then(() => {
      this.#blocked = false;
      hub.unread.release(this);
      if (!this.#marked) this.flush();
      if (this.#ending) this.#endWhenTaken();
    });
    hub.unread.hold(this, chunk.length);
  }

  tick(now: number): void {
    const { deadline, bookmarkEveryMs } = this.#options;
    if (this.#ending) {
      this.#cutOffAt ??= now + maxUnreadMs;
      if (now >= this.#cutOffAt) this.cutOff();
      return;
    }
    if (now >= deadline) {
      this.end();
      return;
    }
    const last = this.#bookmarkAtEnd && now >= deadline - lastBookmarkMs;
    if (now < this.#nextBookmark && !last) return;
    if (last) this.#bookmarkAtEnd = false;
    this.#nextBookmark = now + (bookmarkEveryMs as number);
    // Nothing is told behind a full socket: the client would only be further behind.
    if (!this.#blocked) this.send(this.#modules.frames.bookmark(this.#modules.currentRevision(), false));
  }

  /**
   * Ends the answer properly, after everything that is queued. An answer that has ended can be neither cut off nor counted:
   * so it has not before the client took it all, or had its time to.
   */
  end(last?: Buffer): void {
    if (this.#finish === undefined || this.#ending) return;
    if (last !== undefined) {
      this.#queue.push(last);
      this.#queuedBytes += last.length;
    }
    this.#ending = true;
    this.flush();
    this.#endWhenTaken();
  }

  #endWhenTaken(): void {
    if (this.#finish === undefined || this.#blocked) return;
    this.#modules.exchange.end();
    this.#close();
  }

  /** The client is gone. */
  abandon(): void {
    this.#close();
  }

  /** The client is too far behind. */
  cutOff(): void {
    this.#modules.exchange.destroy();
    this.#close();
  }

  #close(): void {
    const finish = this.#finish;
    if (finish === undefined) return;
    this.#finish = undefined;
    this.#queue = [];
    this.#modules.hub.unread.release(this);
    this.#modules.hub.remove(this);
    finish();
  }
}
