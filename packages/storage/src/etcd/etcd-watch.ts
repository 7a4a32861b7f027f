import type { IEvent } from 'etcd3';
import { setTimeout as delay } from 'node:timers/promises';
import { CompactedError, isStorageError, StorageUnavailableError } from '../errors.ts';
import type { StorageEvent, WatchBatch, WatchOptions } from '../interface.ts';
import type { Interruptions } from '../interruptions.ts';
import { Signal } from '../signal.ts';
import type { EtcdClient } from './etcd-client.ts';
import type { EtcdKeys } from './etcd-keys.ts';
import { WatchStream } from './watch-stream.ts';

export interface EtcdWatchModules {
  readonly client: EtcdClient;
  readonly keys: EtcdKeys;
  /** Rejects with CompactedError when history after the revision may be gone. */
  readonly assertKept: (revision: number) => Promise<void>;
  readonly interruptions: Interruptions;
}

/** What may wait for a slow reader; beyond it the stream is given up and taken up again when the reader has caught up. */
const queuedBytes = 16 << 20;
/** The pause before a stream is opened again, doubled up to the second with each failure in a row. */
const firstPauseMs = 20;
const longestPauseMs = 2000;
const syncedAfterMs = 500;

interface Message {
  readonly batch: WatchBatch;
  readonly bytes: number;
  /** etcd read these events from its history, so they must be checked against a compaction meanwhile. */
  readonly fromHistory: boolean;
}

/**
 * A watch that survives its streams; each that is lost is told.
 *
 * `received` is the modification revision of the last event that arrived, and the next stream begins at the one after it:
 * never at a header's revision, which runs ahead of the events while etcd catches up. What a stream brings up to
 * `received` again is dropped, so every event comes once, whatever the streams do. Events wait in a queue for the reader.
 *
 * When a removal is the compacted revision, etcd 3.4 leaves it out of a watch that begins there, without an error. So a
 * message that came from history counts only after etcd has shown that the state before it was still kept.
 */
export class EtcdWatch {
  readonly #modules: EtcdWatchModules;
  readonly #prefix: string;
  readonly #covering: boolean;
  readonly #signal: AbortSignal;
  readonly #wake = new Signal();
  #queue: Message[] = [];
  #bytes = 0;
  #received: number;
  #compacted: number | undefined;
  /** No message has come since the stream was opened. */
  #opened = false;
  #delivered: number;
  /** The stream is gone; `overflow`: because the reader is slow. */
  #ended: 'failed' | 'overflow' | undefined;

  constructor(prefix: string, { after, signal }: WatchOptions, modules: EtcdWatchModules) {
    this.#modules = modules;
    this.#prefix = prefix;
    this.#covering = modules.keys.coversHidden(prefix);
    this.#signal = AbortSignal.any([signal, modules.client.closed]);
    this.#received = after;
    this.#delivered = after;
  }

  /** Everything up to here has arrived. */
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
          if (message.fromHistory) await this.#modules.assertKept(this.#delivered);
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
      this.#modules.interruptions.over(this);
    }
    if (!user.aborted) throw new StorageUnavailableError('the store is closed');
  }

  #open(): WatchStream {
    this.#ended = undefined;
    this.#opened = true;
    const request = { ...this.#modules.keys.range(this.#prefix), startRevision: this.#received + 1 };
    const stream: WatchStream = new WatchStream(this.#modules.client, request, {
      created: () => {
        this.#modules.interruptions.over(this);
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
        this.#wake.notify();
      },
      closed: (reason) => {
        if (!this.#signal.aborted) this.#modules.interruptions.happened(this, reason);
        this.#end('failed');
      },
    });
    return stream;
  }

  /** The same for a watch that gets no message because what it lacks was the last there is. */
  async #checkStart(): Promise<void> {
    const start = this.#received;
    try {
      await this.#modules.assertKept(start);
      // By then etcd has looked through its history, which it does every 100 ms.
      await this.#pause(syncedAfterMs);
      if (this.#received === start && !this.#signal.aborted) await this.#modules.assertKept(start);
    } catch (error) {
      if (!isStorageError(error, 'Compacted') || this.#received !== start) return;
      this.#compacted = (error as CompactedError).oldest;
      this.#wake.notify();
    }
  }

  #end(how: 'failed' | 'overflow'): void {
    this.#ended = how;
    this.#wake.notify();
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#signal, ref: false }).catch(() => undefined);
  }

  #push(events: readonly IEvent[], header: number): void {
    const fresh: StorageEvent[] = [];
    let last = this.#received;
    let bytes = 0;
    for (const event of events) {
      const revision = Number(event.kv.mod_revision);
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
    // The first message of a stream may be history whatever its header says: nothing need have been written since.
    this.#queue.push({ batch: { events: fresh, revision: last }, bytes, fromHistory: header > last || this.#opened });
    this.#opened = false;
    this.#wake.notify();
  }

  #take(): Message | undefined {
    const message = this.#queue.shift();
    if (message !== undefined) this.#bytes -= message.bytes;
    return message;
  }

  #decode({ type, kv, prev_kv }: IEvent, revision: number): StorageEvent {
    const key = this.#modules.keys.decode(kv.key);
    if (type === 'Delete') return { type: 'delete', key, value: prev_kv?.value, revision, created: false };
    return { type: 'put', key, value: kv.value, revision, created: kv.create_revision === kv.mod_revision };
  }
}
