import type { ClientHttp2Stream } from 'node:http2';
import type { EtcdClient } from './etcd-client.ts';
import {
  decodeWatch,
  encodeWatchCreate,
  encodeWatchProgress,
  watchPath,
  type WatchEvent,
  type WatchResponse,
} from './transport/etcd-messages.ts';
import { FrameReader, framed } from './transport/grpc-frames.ts';

/** Callbacks of a stream. None is called after `closed`. */
export interface WatchStreamHandlers {
  /** etcd has accepted the watch. */
  readonly created: () => void;
  /** All events of one etcd message, reassembled from its fragments, with the revision of its header. */
  readonly events: (events: readonly WatchEvent[], headerRevision: number) => void;
  /** etcd has compacted required history; the argument is the oldest readable revision. */
  readonly compacted: (oldest: number) => void;
  /** The stream has ended. */
  readonly closed: (reason: unknown) => void;
}

export interface WatchStreamRequest {
  readonly key: Buffer;
  readonly range_end: Buffer;
  readonly startRevision: number;
}

/** After this time without a message the server is asked for progress; without a response the stream counts as lost. */
const idleMs = 30_000;
const responseMs = 10_000;

/**
 * One watch on one gRPC stream, from its request to its end; EtcdWatch resumes. Progress notifications are only used as
 * heartbeats: etcd 3.4 sends them ahead of undelivered events (etcd-io/etcd#15220).
 */
export class WatchStream {
  readonly #handlers: WatchStreamHandlers;
  #stream: ClientHttp2Stream | undefined;
  /** The connection is checked for liveness as long as the stream is open. */
  #release: () => void = () => undefined;
  #fragments: readonly WatchEvent[] = [];
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(client: EtcdClient, request: WatchStreamRequest, handlers: WatchStreamHandlers) {
    this.#handlers = handlers;
    this.#open(client, request);
  }

  /** Ends the stream; no callback is called afterwards. */
  cancel(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#release();
    this.#stream?.destroy();
  }

  #open(client: EtcdClient, { key, range_end, startRevision }: WatchStreamRequest): void {
    try {
      const { stream, connection } = client.watches.open(watchPath);
      this.#stream = stream;
      connection.calls++;
      this.#release = () => {
        this.#release = () => undefined;
        connection.calls--;
      };
      const frames = new FrameReader((message) => this.#take(decodeWatch(message)));
      stream.on('data', (chunk: Buffer) => {
        connection.heardAt = performance.now();
        if (this.#closed) return;
        try {
          frames.push(chunk);
        } catch (error) {
          this.#close(error);
        }
      });
      stream.on('error', (error) => this.#close(error));
      stream.on('close', () => {
        this.#release();
        this.#close(new Error('etcd ended the watch'));
      });
      stream.write(framed(encodeWatchCreate({ key, range_end, start_revision: startRevision })));
      this.#expectResponse();
    } catch (error) {
      // The owner has not stored the stream yet.
      queueMicrotask(() => this.#close(error));
    }
  }

  #take(response: WatchResponse): void {
    if (this.#closed) return;
    this.#restartIdleTimer();
    const compacted = response.compact_revision;
    if (compacted > 0) {
      this.cancel();
      this.#handlers.compacted(compacted);
      return;
    }
    if (response.canceled) {
      this.#close(new Error(`etcd cancelled the watch: ${response.cancel_reason}`));
      return;
    }
    if (response.created) this.#handlers.created();
    if (response.events.length === 0 && this.#fragments.length === 0) return;
    const events = this.#fragments.length === 0 ? response.events : [...this.#fragments, ...response.events];
    if (response.fragment) {
      this.#fragments = events;
      return;
    }
    this.#fragments = [];
    this.#handlers.events(events, response.header.revision);
  }

  /** Restarts the idle timer, which requests progress. */
  #restartIdleTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#stream?.write(framed(encodeWatchProgress()));
      this.#expectResponse();
    }, idleMs).unref();
  }

  #expectResponse(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#close(new Error('the watch does not respond')), responseMs).unref();
  }

  #close(reason: unknown): void {
    if (this.#closed) return;
    this.cancel();
    this.#handlers.closed(reason);
  }
}
