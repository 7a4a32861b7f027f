import { errorText } from '@multiplane/apimachinery';
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
  Storage,
  StorageEvent,
  StoredValue,
  WatchBatch,
  WatchOptions,
  WriteOptions,
} from '../interface.ts';
import { compareKeys, lowerBound } from '../key-order.ts';
import type { Interruptions } from '../interruptions.ts';
import type { StreamClient } from './stream-client.ts';
import type { StreamFloor } from './stream-floor.ts';
import { StreamFollower } from './stream-follower.ts';
import { eventOf, recordOf, valueOf } from './stream-records.ts';
import type { StreamSubjects } from './stream-subjects.ts';
import type { StreamWriter } from './stream-writer.ts';
import type { TombstoneSweeper } from './tombstone-sweeper.ts';

export interface JetStreamStorageModules {
  readonly client: StreamClient;
  readonly subjects: StreamSubjects;
  readonly floor: StreamFloor;
  readonly writer: StreamWriter;
  readonly sweeper: TombstoneSweeper;
  readonly interruptions: Interruptions;
}

const healthTimeoutMs = 2000;
/** Readers in a row that bring nothing to somebody who waits for an answer; each has its own limit of time. */
const listAttempts = 3;
/** A stream that is made anew again and again while it is read is not there. */
const loadAttempts = 3;

/**
 * The store in one JetStream stream: any number of processes, revisions are the stream's sequences. Made by
 * `openJetStreamStorage`. It keeps no history: of each key there is the last change, so only the present can be listed, a
 * watch tells of each key that has changed its latest change, and keys do not expire.
 */
export class JetStreamStorage implements Storage {
  readonly #modules: JetStreamStorageModules;

  constructor(modules: JetStreamStorageModules) {
    this.#modules = modules;
  }

  async get(key: string): Promise<StoredValue | undefined> {
    const { client, floor, subjects, writer } = this.#modules;
    const subject = subjects.encode(key);
    const message = await floor.during(() => client.last(subject));
    if (message === undefined) return undefined;
    const { removed, born } = recordOf(message);
    if (removed) return undefined;
    writer.seen(message.sequence, born);
    return { key, value: valueOf(message), revision: message.sequence };
  }

  async list(prefix: string, { limit = 0, from = '', revision }: ListOptions = {}): Promise<ListResult> {
    if (revision !== undefined) await this.#assertPresent(revision);
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

  async *load(prefix: string, signal: AbortSignal, attempts?: number): AsyncGenerator<WatchBatch, void, undefined> {
    const { client, floor, subjects } = this.#modules;
    const { floor: settled } = await floor.read();
    const { state } = await client.info();
    const filter = subjects.filter(prefix);
    const target = (await client.last(filter))?.sequence ?? 0;
    const follower = new StreamFollower({ after: 0, settled, filter, target, attempts, signal }, this.#modules);
    for await (const { messages, sequence, complete } of follower.batches()) {
      yield { events: this.#events(prefix, messages), revision: Math.max(sequence, complete ? state.last_seq : 0) };
      if (complete) return;
    }
  }

  async create(key: string, value: Buffer, options?: WriteOptions): Promise<number> {
    assertLasting(key, options);
    return await this.#modules.writer.create(key, value);
  }

  async update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number> {
    assertLasting(key, options);
    return await this.#modules.writer.update(key, value, expected);
  }

  async delete(key: string, expected: number): Promise<number> {
    return await this.#modules.writer.delete(key, expected);
  }

  async *watch(prefix: string, { after, signal }: WatchOptions): AsyncGenerator<WatchBatch, void, undefined> {
    if (signal.aborted) return;
    const { client, subjects } = this.#modules;
    client.assertOpen();
    // A watch of the whole store sees what the stream says of itself too: so it gets at once as far as the stream is.
    const filter = prefix.indexOf('/', 1) === prefix.length - 1 ? subjects.all : subjects.filter(prefix);
    const follower = new StreamFollower({ after, settled: after, filter, signal }, this.#modules);
    for await (const { messages, sequence } of follower.batches()) {
      yield { events: this.#events(prefix, messages), revision: sequence };
    }
  }

  async currentRevision(): Promise<number> {
    const { client, floor } = this.#modules;
    return (await floor.during(() => client.info())).state.last_seq;
  }

  async compact(revision: number): Promise<void> {
    const current = await this.currentRevision();
    if (revision > current) throw new FutureRevisionError(revision, current);
    await this.#modules.floor.raise(revision);
  }

  /** Removes tombstones that are old enough; runs by itself unless the interval is 0. Returns how many it removed. */
  async sweep(): Promise<number> {
    return await this.#modules.sweeper.turn();
  }

  async check(): Promise<void> {
    const { client } = this.#modules;
    client.assertOpen();
    try {
      await client.info(healthTimeoutMs);
    } catch (error) {
      if (isStorageError(error)) throw error;
      throw new StorageUnavailableError(`NATS does not answer: ${errorText(error)}`, error);
    }
  }

  async close(): Promise<void> {
    this.#modules.sweeper.close();
    await this.#modules.client.close();
  }

  /** Hands the present state over in pieces, from the beginning again when the stream was made anew meanwhile. */
  async #load(
    prefix: string,
    signal: AbortSignal,
    take: (batch: WatchBatch) => void,
    again: () => void,
  ): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      try {
        let revision = 0;
        for await (const batch of this.load(prefix, signal, listAttempts)) {
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

  async #assertPresent(revision: number): Promise<void> {
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

/** Nothing that is replicated expires by itself. */
function assertLasting(key: string, options: WriteOptions | undefined): void {
  if (options?.ttlSeconds !== undefined) throw new StorageError('Unusable', 'keys in a stream do not expire', { key });
}
