import { setImmediate as nextTurn } from 'node:timers/promises';
import { CompactedError, StorageUnavailableError, ValueTooLargeError } from '../errors.ts';
import type {
  BulkState,
  DeferredState,
  ListOptions,
  ListResult,
  Storage,
  StorageEvent,
  StoredValue,
  WatchBatch,
  WatchOptions,
  WriteOptions,
} from '../interface.ts';
import { readBulk } from './bulk-reader.ts';
import { deferState } from './deferred-reader.ts';
import { EventFeed } from './event-feed.ts';
import { ExpiryTimer } from './expiry-timer.ts';
import type { FolderLock } from './folder-lock.ts';
import { heldBytes, HistoryTrimmer } from './history-trimmer.ts';
import { KeyKeeper } from './key-keeper.ts';
import { LogWriter } from './log-writer.ts';
import { Merger } from './merger.ts';
import { readRange } from './range-reader.ts';
import { headBytes, maxKeyBytes } from './record.ts';
import { RoomGuard } from './room-guard.ts';
import type { State } from './state.ts';
import { ValueReader } from './value-reader.ts';
import type { Operation } from './write-plan.ts';

export interface FileStorageSettings {
  readonly folder: string;
  readonly salt: number;
  readonly now: () => number;
  readonly historyMs: number;
  readonly historyBytes: number;
  readonly feedBytes: number;
  readonly maxValueBytes: number;
  readonly reserveBytes: number;
  readonly wholeBelowBytes: number;
  /** Bytes that were read behind what a file of keys knew; undefined: all of them. */
  readonly behind: number | undefined;
  /** Number of the last write in the files. */
  readonly write: number;
  /** What opening them found and mended. */
  readonly repaired: string | undefined;
}

export interface FileStorageModules {
  readonly lock: FolderLock;
  readonly state: State;
}

/** Events handed over in one batch at most: from memory, and from the files. */
const batchFromFeed = 1000;
const batchFromFiles = 250;
const nothing = Buffer.alloc(0);

/**
 * The embedded store: one process, one folder, durable. Keys and places of values are in memory ({@link State}), values
 * in files that are only appended to ({@link LogWriter}) and merged when much of them is garbage ({@link Merger}).
 * Watches follow {@link EventFeed} and, far behind, the history. Made by `openFileStorage`.
 */
export class FileStorage implements Storage {
  /** A sentence for the log when opening had to mend the files. */
  readonly repaired: string | undefined;
  readonly #settings: FileStorageSettings;
  readonly #lock: FolderLock;
  readonly #state: State;
  readonly #values: ValueReader;
  readonly #writer: LogWriter;
  readonly #merger: Merger;
  readonly #keys: KeyKeeper;
  readonly #trimmer: HistoryTrimmer;
  readonly #feed: EventFeed;
  readonly #expiry: ExpiryTimer;
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(settings: FileStorageSettings, { lock, state }: FileStorageModules) {
    const { folder, salt, write, now } = settings;
    this.repaired = settings.repaired;
    this.#settings = settings;
    this.#lock = lock;
    this.#state = state;
    this.#values = new ValueReader(salt, () => this.#keys.distrust());
    this.#feed = new EventFeed(state.revision, settings.feedBytes);
    const room = new RoomGuard(folder, settings.reserveBytes);
    const publish = (events: readonly StorageEvent[]): void => this.#publish(events);
    this.#writer = new LogWriter({ folder, salt, write, publish }, { state, room });
    const onMerged = (): void => this.#keys.moved();
    this.#merger = new Merger({ folder, salt, onMerged }, { state, writer: this.#writer, room });
    this.#keys = new KeyKeeper(settings, { state, writer: this.#writer, merger: this.#merger, room });
    this.#trimmer = new HistoryTrimmer(
      {
        now,
        keepMs: settings.historyMs,
        maxBytes: settings.historyBytes,
        onTrimmed: () => this.#feed.changed.notify(),
      },
      { state, writer: this.#writer, merger: this.#merger },
    );
    this.#expiry = new ExpiryTimer({
      now,
      expire: async ({ at, key }) => void (await this.#write('expire', key, nothing, 0, at)),
    });
    for (const expiry of state.expiring) this.#expiry.expect(expiry);
  }

  get localRevision(): number {
    return this.#state.revision;
  }

  async get(key: string): Promise<StoredValue | undefined> {
    this.#assertOpen();
    const entry = this.#state.index.get(key);
    if (entry === undefined) return undefined;
    const recent = this.#feed.after(entry.revision - 1, 1)?.[0]?.value;
    return { key, value: recent ?? (await this.#values.value(entry)), revision: entry.revision };
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    this.#assertOpen();
    return await readRange(this.#state, this.#values, prefix, options);
  }

  async bulk(prefix: string, revision: number): Promise<BulkState> {
    this.#assertOpen();
    return readBulk(this.#state, this.#values, prefix, revision);
  }

  deferred(prefix: string): DeferredState | undefined {
    this.#assertOpen();
    return deferState(this.#state, this.#values, prefix);
  }

  create(key: string, value: Buffer, options?: WriteOptions): Promise<number> {
    return this.#write('create', key, value, 0, this.#expiresAt(options));
  }

  update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number> {
    return this.#write('update', key, value, expected, this.#expiresAt(options));
  }

  delete(key: string, expected: number): Promise<number> {
    return this.#write('delete', key, nothing, expected, undefined);
  }

  async *watch(prefix: string, options: WatchOptions): AsyncGenerator<WatchBatch, void, undefined> {
    const signal = AbortSignal.any([options.signal, this.#closed.signal]);
    const { history } = this.#state;
    let cursor = options.after;
    while (!signal.aborted) {
      if (cursor < history.oldest) throw new CompactedError(cursor, history.oldest);
      if (cursor >= this.#feed.revision) {
        await this.#feed.changed.wait(signal);
        continue;
      }
      const events = this.#feed.after(cursor, batchFromFeed) ?? (await this.#eventsFromFiles(cursor));
      cursor = (events.at(-1) as StorageEvent).revision;
      yield { events: events.filter((event) => event.key.startsWith(prefix)), revision: cursor };
      // A long way to catch up is gone in steps.
      if (cursor < this.#feed.revision) await nextTurn();
    }
    if (!options.signal.aborted) throw closedError();
  }

  async currentRevision(): Promise<number> {
    this.#assertOpen();
    return this.#state.revision;
  }

  async compact(revision: number): Promise<void> {
    this.#assertOpen();
    await this.#trimmer.compact(revision);
  }

  async check(): Promise<void> {
    this.#assertOpen();
    await this.#writer.check();
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    this.#closed.abort();
    await Promise.all([this.#expiry.close(), this.#keys.stop(), this.#merger.close(), this.#trimmer.close()]);
    await this.#writer.close();
    await this.#keys.finish();
    await Promise.all(this.#state.segments.map((segment) => segment.retire(false)));
    this.#lock.release();
  }

  /** One promise for a write: thousands wait for theirs at once. */
  #write(
    kind: Operation['kind'],
    key: string,
    value: Buffer,
    expected: number,
    at: number | undefined,
  ): Promise<number> {
    const written = new Promise<number>((resolve, reject) => {
      this.#assertOpen();
      if (key.length * 3 > maxKeyBytes && Buffer.byteLength(key) > maxKeyBytes) {
        throw new ValueTooLargeError(key, `the key is longer than ${maxKeyBytes} bytes`);
      }
      if (value.length > this.#settings.maxValueBytes) throw new ValueTooLargeError(key);
      this.#writer.submit({ kind, key, value, expected, at, resolve, reject });
    });
    if (at === undefined || kind === 'expire') return written;
    return written.then((revision) => {
      this.#expiry.expect({ at, key });
      return revision;
    });
  }

  #publish(events: readonly StorageEvent[]): void {
    // The value that was replaced is about as large as the new one.
    let bytes = 0;
    let records = 0;
    for (const { key, value, created } of events) {
      const valueBytes = value?.length ?? 0;
      bytes += heldBytes(key, created ? 0 : valueBytes);
      records += headBytes + key.length + valueBytes;
    }
    this.#feed.publish(events);
    this.#trimmer.wrote(bytes);
    this.#keys.wrote(records);
  }

  /** Events that are not in memory any more. The values of removals are not looked up: nobody needs them. */
  async #eventsFromFiles(after: number): Promise<StorageEvent[]> {
    const changes = this.#state.history.after(after, batchFromFiles);
    const puts = changes.filter(({ entry }) => entry.kind !== 'delete').map(({ entry }) => entry);
    const values = await this.#values.values(puts);
    let next = 0;
    return changes.map(({ entry: { key, kind, revision } }) =>
      kind === 'delete'
        ? { type: 'delete', key, value: undefined, revision, created: false }
        : { type: 'put', key, value: values[next++]?.value, revision, created: kind === 'create' },
    );
  }

  #expiresAt({ ttlSeconds }: WriteOptions = {}): number | undefined {
    return ttlSeconds === undefined ? undefined : this.#settings.now() + ttlSeconds * 1000;
  }

  #assertOpen(): void {
    if (this.#closed.signal.aborted) throw closedError();
  }
}

const closedError = (): StorageUnavailableError => new StorageUnavailableError('the store is closed');
