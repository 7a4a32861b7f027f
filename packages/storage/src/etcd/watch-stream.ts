import type { IDuplexStream, IEvent, IWatchRequest, IWatchResponse } from 'etcd3';
import type { EtcdClient } from './etcd-client.ts';

/** What a stream tells its owner. Nothing is called after `closed`. */
export interface WatchStreamHandlers {
  /** etcd has accepted the watch. */
  readonly created: () => void;
  /** All events of one message of etcd, put together from its fragments, with the revision of the message's header. */
  readonly events: (events: readonly IEvent[], headerRevision: number) => void;
  /** etcd has dropped history that is needed; the oldest revision that is there. */
  readonly compacted: (oldest: number) => void;
  /** The stream has ended, for whatever reason. */
  readonly closed: (reason: unknown) => void;
}

export interface WatchStreamRequest {
  readonly key: Buffer;
  readonly range_end: Buffer;
  readonly startRevision: number;
}

/** After so long without a message the server is asked for one; when none comes, the stream counts as dead. */
const quietMs = 30_000;
const answerMs = 10_000;

/**
 * One watch on one gRPC stream, from the request to its end; no resuming. A message of progress is a sign of life and
 * nothing else: etcd 3.4 sends them ahead of events that it has not delivered (etcd#15220).
 */
export class WatchStream {
  readonly #handlers: WatchStreamHandlers;
  #stream: IDuplexStream<IWatchRequest, IWatchResponse> | undefined;
  #fragments: IEvent[] = [];
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(client: EtcdClient, request: WatchStreamRequest, handlers: WatchStreamHandlers) {
    this.#handlers = handlers;
    void this.#open(client, request);
  }

  /** Ends it; no handler is called any more. */
  cancel(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#stream?.cancel();
  }

  async #open(client: EtcdClient, { key, range_end, startRevision }: WatchStreamRequest): Promise<void> {
    try {
      const stream = await client.watch.watch();
      this.#stream = stream;
      stream.on('error', (error: unknown) => this.#close(error));
      stream.on('end', () => this.#close(new Error('etcd has ended the watch')));
      if (this.#closed) {
        stream.cancel();
        return;
      }
      stream.on('data', (response) => this.#take(response));
      stream.write({
        create_request: { key, range_end, start_revision: startRevision, prev_kv: true, fragment: true },
      });
      this.#expectAnswer();
    } catch (error) {
      this.#close(error);
    }
  }

  #take(response: IWatchResponse): void {
    if (this.#closed) return;
    this.#expectLife();
    const compacted = Number(response.compact_revision);
    if (compacted > 0) {
      this.cancel();
      this.#handlers.compacted(compacted);
      return;
    }
    if (response.canceled) {
      this.#close(new Error(`etcd has cancelled the watch: ${response.cancel_reason}`));
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
    this.#handlers.events(events, Number(response.header.revision));
  }

  /** Something has come: be quiet for a while, then ask. */
  #expectLife(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#stream?.write({ progress_request: {} });
      this.#expectAnswer();
    }, quietMs).unref();
  }

  #expectAnswer(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#close(new Error('the watch has gone quiet')), answerMs).unref();
  }

  #close(reason: unknown): void {
    if (this.#closed) return;
    this.cancel();
    this.#handlers.closed(reason);
  }
}
