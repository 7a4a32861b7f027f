import { setTimeout as delay } from 'node:timers/promises';
import { CompactedError, isStorageError, StorageUnavailableError } from '../errors.ts';
import type { StorageEvent, WatchBatch, WatchOptions } from '../interface.ts';
import type { WatchFailureReporter } from '../watch-failure-reporter.ts';
import { ConditionVariable } from '../condition-variable.ts';
import type { EtcdClient } from './etcd-client.ts';
import type { EtcdKeys } from './etcd-keys.ts';
import type { WatchEvent } from './transport/etcd-messages.ts';
import { WatchStream } from './watch-stream.ts';

export interface EtcdWatchModules {
  readonly client: EtcdClient;
  readonly keys: EtcdKeys;
  /** Rejects with CompactedError when the history after the revision may be compacted. */
  readonly assertNotCompacted: (revision: number) => Promise<void>;
  readonly watchFailures: WatchFailureReporter;
}

/** Bytes queued for a slow reader; over this limit the stream is cancelled and reopened when the queue is empty. */
const queuedBytes = 16 << 20;
/** Delay before a stream is reopened, doubled with each consecutive failure. */
const firstPauseMs = 20;
const longestPauseMs = 2000;
const syncedAfterMs = 500;

interface Message {
  readonly batch: WatchBatch;
  readonly bytes: number;
  /** etcd read these events from its history: they must be checked against a concurrent compaction. */
  readonly fromHistory: boolean;
}

/**
 * A watch that survives the loss of its gRPC streams. Each lost stream is reported.
 *
 *   resume        `received` is the mod revision of the last event that arrived; the next stream starts after it. The
 *                 revision of a response header must not be used: it is ahead of the events while etcd catches up. Events
 *                 up to `received` that a stream repeats are dropped, so every event is delivered once.
 *   slow reader   events are queued up to `queuedBytes`; then the stream is cancelled, and reopened when the queue is empty
 *   compaction    etcd 3.4 omits a delete that is the compacted revision from a watch that starts there, without an error.
 *                 So a message from history is only delivered after etcd has shown that the state before it is not
 *                 compacted.
 */
export class EtcdWatch {
  readonly #modules: EtcdWatchModules;
  readonly #prefix: string;
  readonly #covering: boolean;
  readonly #signal: AbortSignal;
  readonly #wake = new ConditionVariable();
  #queue: Message[] = [];
  #bytes = 0;
  #received: number;
  #compacted: number | undefined;
  /** No message has arrived since the stream was opened. */
  #opened = false;
  #delivered: number;
  /** The stream has ended; `overflow`: because the reader is slow. */
  #ended: 'failed' | 'overflow' | undefined;

  constructor(prefix: string, { after, signal }: WatchOptions, modules: EtcdWatchModules) {
    this.#modules = modules;
    this.#prefix = prefix;
    this.#covering = modules.keys.coversHidden(prefix);
    this.#signal = AbortSignal.any([signal, modules.client.closed]);
    this.#received = after;
    this.#delivered = after;
  }

  /** Everything up to this revision has arrived. */
  get received(): number {
    return this.#received;
  }

  async *batches(user: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    let stream = this.#open();
    let pause = firstPauseMs;
    try {
      while (!this.#signal.aborted) {
        const message = this.#take();
        if (message !== undefined) {
          if (message.fromHistory) await this.#modules.assertNotCompacted(this.#delivered);
          this.#delivered = message.batch.revision;
          pause = firstPauseMs;
          yield message.batch;
        } else if (this.#compacted !== undefined) {
          throw new CompactedError(this.#delivered, this.#compacted);
        } else if (this.#ended === undefined) {
          await this.#wake.wait(this.#signal);
        } else {
          if (this.#ended === 'failed') {
            await this.#pause(pause);
            pause = Math.min(pause * 2, longestPauseMs);
          }
          stream = this.#open();
        }
      }
    } finally {
      stream.cancel();
      this.#modules.watchFailures.recovered(this);
    }
    if (!user.aborted) throw new StorageUnavailableError('the store is closed');
  }

  #open(): WatchStream {
    this.#ended = undefined;
    this.#opened = true;
    const request = { ...this.#modules.keys.range(this.#prefix), startRevision: this.#received + 1 };
    const stream: WatchStream = new WatchStream(this.#modules.client, request, {
      created: () => {
        this.#modules.watchFailures.recovered(this);
        void this.#checkStart();
      },
      events: (events, header) => {
        this.#push(events, header);
        if (this.#bytes <= queuedBytes) return;
        stream.cancel();
        this.#end('overflow');
      },
      compacted: (oldest) => {
        this.#compacted = oldest;
        this.#wake.notifyAll();
      },
      closed: (reason) => {
        if (!this.#signal.aborted) this.#modules.watchFailures.failed(this, reason);
        this.#end('failed');
      },
    });
    return stream;
  }

  /** The compaction check for a watch without messages, whose missing event may be the latest one of the store. */
  async #checkStart(): Promise<void> {
    const start = this.#received;
    try {
      await this.#modules.assertNotCompacted(start);
      // By then etcd has synced the watch with its history, which it does every 100 ms.
      await this.#pause(syncedAfterMs);
      if (this.#received === start && !this.#signal.aborted) await this.#modules.assertNotCompacted(start);
    } catch (error) {
      if (!isStorageError(error, 'Compacted') || this.#received !== start) return;
      this.#compacted = (error as CompactedError).oldest;
      this.#wake.notifyAll();
    }
  }

  #end(how: 'failed' | 'overflow'): void {
    this.#ended = how;
    this.#wake.notifyAll();
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#signal, ref: false }).catch(() => undefined);
  }

  #push(events: readonly WatchEvent[], header: number): void {
    const fresh: StorageEvent[] = [];
    let last = this.#received;
    let bytes = 0;
    for (const event of events) {
      const revision = event.kv.mod_revision;
      if (revision <= this.#received) continue;
      last = revision;
      const decoded = this.#decode(event, revision);
      if (this.#covering && this.#modules.keys.isHidden(decoded.key)) continue;
      fresh.push(decoded);
      bytes += (decoded.value?.length ?? 0) + decoded.key.length + 100;
    }
    if (last === this.#received) return;
    this.#received = last;
    this.#bytes += bytes;
    // The first message of a stream may be history whatever its header says, if no writes followed.
    this.#queue.push({ batch: { events: fresh, revision: last }, bytes, fromHistory: header > last || this.#opened });
    this.#opened = false;
    this.#wake.notifyAll();
  }

  #take(): Message | undefined {
    const message = this.#queue.shift();
    if (message !== undefined) this.#bytes -= message.bytes;
    return message;
  }

  #decode({ type, kv, prev_kv }: WatchEvent, revision: number): StorageEvent {
    const key = this.#modules.keys.decode(kv.key);
    if (type === 'Delete') return { type: 'delete', key, value: prev_kv?.value, revision, created: false };
    return { type: 'put', key, value: kv.value, revision, created: kv.create_revision === kv.mod_revision };
  }
}
