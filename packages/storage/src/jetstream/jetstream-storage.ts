import { errorText } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import type { StreamingListStorage } from '../capabilities/streaming-list.ts';
import {
  CompactedError,
  FutureRevisionError,
  isStorageError,
  StorageError,
  StorageUnavailableError,
} from '../errors.ts';
import type {
  ListOptions,
  ListResult,
  StorageEvent,
  StoredValue,
  WatchBatch,
  WatchOptions,
  WriteOptions,
} from '../interface.ts';
import { cachePrefix } from '../cache-keys.ts';
import { compareKeys, lowerBound } from '../key-order.ts';
import type { WatchFailureReporter } from '../watch-failure-reporter.ts';
import type { CompactionWatermark } from './compaction-watermark.ts';
import { LostMessageDetector } from './lost-message-detector.ts';
import { RelistOnRequest } from './relist-on-request.ts';
import type { RelistRequests } from './relist-requests.ts';
import type { StreamClient } from './stream-client.ts';
import { type StreamAudit, StreamFollower } from './stream-follower.ts';
import { eventOf, recordOf, valueOf } from './stream-records.ts';
import { UnheldMessages } from './unheld-messages.ts';
import { WholeList } from './whole-list.ts';
import type { StreamSubjects } from './stream-subjects.ts';
import type { StreamWriter } from './stream-writer.ts';
import type { TombstoneSweeper } from './tombstone-sweeper.ts';

export interface JetStreamStorageModules {
  readonly client: StreamClient;
  readonly subjects: StreamSubjects;
  readonly watermark: CompactionWatermark;
  readonly writer: StreamWriter;
  readonly sweeper: TombstoneSweeper;
  readonly relistRequests: RelistRequests;
  readonly watchFailures: WatchFailureReporter;
  readonly clock: Clock;
  readonly random: () => number;
}

interface CompletedList {
  readonly revision: number;
  readonly unheld: UnheldMessages;
  /** A relist request was published after the list. */
  readonly hasRequested: boolean;
}

const healthTimeoutMs = 2000;
/** Consecutive consumers without a message before a list fails; each has its own timeout. */
const listAttempts = 3;
/** Attempts to list a stream that is recreated meanwhile. */
const loadAttempts = 3;

/**
 * The store in one JetStream stream: any number of processes; revisions are the sequences of the stream. Created by
 * `openJetStreamStorage`.
 *
 * The stream keeps the last message of each subject and no history: only the current state can be listed, a watch may
 * omit changes that a later change of the same key replaced, and keys do not expire.
 *
 *   write    {@link StreamWriter}: compare-and-set on the last sequence of a subject
 *   watch    {@link StreamFollower}: pull consumers that resume, checked against the watermark
 *   deletes  are tombstones until {@link TombstoneSweeper} removes them, which raises the {@link CompactionWatermark}
 *   losses   a reader of the whole stream counts its messages ({@link LostMessageDetector}) and requests the writers of
 *            keys to list again ({@link RelistOnRequest})
 */
export class JetStreamStorage implements StreamingListStorage {
  readonly #modules: JetStreamStorageModules;
  /** The last list of all cached objects, for the watch that continues it. */
  #listed: CompletedList | undefined;

  constructor(modules: JetStreamStorageModules) {
    this.#modules = modules;
  }

  async get(key: string): Promise<StoredValue | undefined> {
    const { client, watermark, subjects, writer } = this.#modules;
    const subject = subjects.encode(key);
    const message = await watermark.withStream(() => client.lastMessage(subject));
    if (message === undefined) return undefined;
    const { removed, createRevision } = recordOf(message);
    if (removed) return undefined;
    writer.noteCreateRevision(message.sequence, createRevision);
    return { key, value: valueOf(message), revision: message.sequence };
  }

  async list(prefix: string, { limit = 0, from = '', revision }: ListOptions = {}): Promise<ListResult> {
    if (revision !== undefined) await this.#assertCurrentRevision(revision);
    const items = new Map<string, StoredValue>();
    const state = await this.#load(
      prefix,
      new AbortController().signal,
      ({ events }) => {
        for (const { key, value, type, revision: at } of events) {
          items.delete(key);
          if (type === 'put') items.set(key, { key, value: value as Buffer, revision: at });
        }
      },
      () => items.clear(),
    );
    if (revision !== undefined && state !== revision) throw new CompactedError(revision, state);
    const sorted = [...items.values()].sort((a, b) => compareKeys(a.key, b.key));
    const start = compareKeys(from, prefix) > 0 ? lowerBound(sorted, from, (item) => item.key) : 0;
    const end = limit === 0 ? sorted.length : Math.min(sorted.length, start + limit);
    return { items: sorted.slice(start, end), revision: state, remaining: sorted.length - end };
  }

  /** Before a list of all cached objects ends, it publishes what it found to their writers: it may lack lost ones. */
  async *streamList(prefix: string, signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    if (prefix !== cachePrefix) {
      yield* this.#streamList(prefix, signal);
      return;
    }
    const list = new WholeList(this.#modules);
    let previous: WatchBatch | undefined;
    for await (const batch of this.#streamList(prefix, signal, { list })) {
      if (previous !== undefined) yield previous;
      previous = batch;
    }
    if (previous === undefined) return;
    const { revision } = previous;
    this.#listed = { revision, unheld: list.unheld, hasRequested: await this.#publish(list) };
    yield previous;
  }

  async *#streamList(
    prefix: string,
    signal: AbortSignal,
    { attempts, list }: { readonly attempts?: number; readonly list?: WholeList } = {},
  ): AsyncGenerator<WatchBatch, void, undefined> {
    const { client, watermark, subjects } = this.#modules;
    const { compacted: acceptedDeletes } = await watermark.read();
    const { state } = await client.info();
    list?.begin(state.last_seq);
    const filter = subjects.filter(prefix);
    const target = (await client.lastMessage(filter))?.sequence ?? 0;
    const follower = new StreamFollower({ after: 0, acceptedDeletes, filter, target, attempts, signal }, this.#modules);
    for await (const { messages, sequence, complete } of follower.batches()) {
      list?.observe(messages);
      yield { events: this.#events(prefix, messages), revision: Math.max(sequence, complete ? state.last_seq : 0) };
      if (complete) return;
    }
  }

  async create(key: string, value: Buffer, options?: WriteOptions): Promise<number> {
    assertNoTtl(key, options);
    return await this.#modules.writer.create(key, value);
  }

  async update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number> {
    assertNoTtl(key, options);
    return await this.#modules.writer.update(key, value, expected);
  }

  async delete(key: string, expected: number): Promise<number> {
    return await this.#modules.writer.delete(key, expected);
  }

  async *watch(prefix: string, options: WatchOptions): AsyncGenerator<WatchBatch, void, undefined> {
    const { after, signal } = options;
    if (signal.aborted) return;
    const { client, subjects } = this.#modules;
    client.assertOpen();
    // A watch of the whole store includes the watermark messages, so that it reaches the last sequence of the stream.
    const filter = prefix.indexOf('/', 1) === prefix.length - 1 ? subjects.all : subjects.filter(prefix);
    const listed = prefix === cachePrefix ? this.#takeListed(after) : undefined;
    const audit = this.#auditOf(filter, options, listed);
    const follower = new StreamFollower({ after, acceptedDeletes: after, filter, audit, signal }, this.#modules);
    for await (const { messages, sequence } of follower.batches()) {
      listed?.unheld.observe(messages);
      yield { events: this.#events(prefix, messages), revision: sequence };
    }
  }

  async currentRevision(): Promise<number> {
    const { client, watermark } = this.#modules;
    return (await watermark.withStream(() => client.info())).state.last_seq;
  }

  async compact(revision: number): Promise<void> {
    const current = await this.currentRevision();
    if (revision > current) throw new FutureRevisionError(revision, current);
    await this.#modules.watermark.raise(revision);
  }

  /** Removes expired tombstones and returns their number; runs periodically unless the interval is 0. */
  async sweep(): Promise<number> {
    return await this.#modules.sweeper.sweepOnce();
  }

  async check(): Promise<void> {
    const { client } = this.#modules;
    client.assertOpen();
    try {
      await client.info(healthTimeoutMs);
    } catch (error) {
      if (isStorageError(error)) throw error;
      throw new StorageUnavailableError(`NATS does not respond: ${errorText(error)}`, error);
    }
  }

  async close(): Promise<void> {
    this.#modules.sweeper.close();
    await this.#modules.client.close();
  }

  /** Reads the current state in batches; starts again when the stream was recreated meanwhile. */
  async #load(
    prefix: string,
    signal: AbortSignal,
    take: (batch: WatchBatch) => void,
    again: () => void,
  ): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      try {
        let revision = 0;
        for await (const batch of this.#streamList(prefix, signal, { attempts: listAttempts })) {
          take(batch);
          ({ revision } = batch);
        }
        return revision;
      } catch (error) {
        if (!isStorageError(error, 'Compacted') || attempt === loadAttempts) throw error;
        again();
      }
    }
  }

  /** Returns whether the relist request was published; otherwise the watch after the list publishes one. */
  async #publish(list: WholeList): Promise<boolean> {
    const { relistRequests, watchFailures } = this.#modules;
    try {
      await relistRequests.publish(list);
      return true;
    } catch (error) {
      watchFailures.failed(this, error);
      return false;
    } finally {
      watchFailures.recovered(this);
    }
  }

  /** Without the list that ended at the revision, the tombstones up to it are unknown. */
  #takeListed(revision: number): CompletedList {
    const listed = this.#listed;
    if (listed?.revision !== revision)
      return { revision, unheld: new UnheldMessages(this.#modules), hasRequested: false };
    // Another watch from the same revision observes the same messages.
    this.#listed = undefined;
    return listed;
  }

  #auditOf(
    filter: string,
    { after, heldKeys, restoresKeys = false }: WatchOptions,
    listed: CompletedList | undefined,
  ): StreamAudit | undefined {
    if (restoresKeys) return new RelistOnRequest({ after, filter }, { ...this.#modules, heldKeys });
    if (heldKeys === undefined || listed === undefined) return undefined;
    const { unheld, hasRequested } = listed;
    return new LostMessageDetector({ after, hasRequested }, { ...this.#modules, heldKeys, unheld });
  }

  async #assertCurrentRevision(revision: number): Promise<void> {
    const current = await this.currentRevision();
    if (revision > current) throw new FutureRevisionError(revision, current);
    if (revision < current) throw new CompactedError(revision, current);
  }

  #events(prefix: string, messages: readonly Parameters<typeof eventOf>[1][]): StorageEvent[] {
    const events: StorageEvent[] = [];
    for (const message of messages) {
      const key = this.#modules.subjects.decode(message.subject);
      if (key?.startsWith(prefix) === true) events.push(eventOf(key, message));
    }
    return events;
  }
}

/** Cached objects have no TTL. */
function assertNoTtl(key: string, options: WriteOptions | undefined): void {
  if (options?.ttlSeconds !== undefined)
    throw new StorageError('Unusable', 'keys in a JetStream stream cannot expire', { key });
}
