import { setImmediate as nextTurn } from 'node:timers/promises';
import { CompactedError, StorageUnavailableError, ValueTooLargeError } from '../errors.ts';
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
import { Committer } from './committer.ts';
import type { DataFile } from './data-file.ts';
import { EventFeed } from './event-feed.ts';
import { ExpiryTimer } from './expiry-timer.ts';
import type { FolderLock } from './folder-lock.ts';
import { readEvents } from './history-reader.ts';
import { HistoryTrimmer } from './history-trimmer.ts';
import { readRange } from './range-reader.ts';
import { RoomGuard } from './room-guard.ts';
import { empty, maxKeyBytes, readMeta, revisionOf } from './tables.ts';
import type { Operation } from './write-plan.ts';

export interface FileStorageSettings {
  readonly now: () => number;
  readonly historyMs: number;
  readonly historyBytes: number;
  readonly feedBytes: number;
  readonly maxValueBytes: number;
  readonly reserveBytes: number;
}

export interface FileStorageModules {
  readonly lock: FolderLock;
  readonly file: DataFile;
  /** What opening it found and mended. */
  readonly repaired: string | undefined;
}

/** Events handed over in one batch at most: from memory, and from the file. */
const batchFromFeed = 1000;
const batchFromLog = 250;

/**
 * The embedded store: one process, one folder, durable. Reads go to lmdb in this thread, for its pages are in memory;
 * writes are committed in groups by {@link Committer}; watches follow {@link EventFeed} and, far behind, the log in the
 * file. Made by `openFileStorage`.
 */
export class FileStorage implements Storage {
  /** A sentence for the log when opening had to mend the data file. */
  readonly repaired: string | undefined;
  readonly #file: DataFile;
  readonly #lock: FolderLock;
  readonly #settings: FileStorageSettings;
  readonly #committer: Committer;
  readonly #feed: EventFeed;
  readonly #expiry: ExpiryTimer;
  readonly #trimmer: HistoryTrimmer;
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(settings: FileStorageSettings, { lock, file, repaired }: FileStorageModules) {
    this.repaired = repaired;
    this.#settings = settings;
    this.#lock = lock;
    this.#file = file;
    const revision = readMeta(file.tables, 'revision') ?? 1;
    this.#feed = new EventFeed(revision, settings.feedBytes);
    const room = new RoomGuard(file.folder, settings.reserveBytes);
    this.#committer = new Committer({ file, room, revision, publish: (events) => this.#publish(events) });
    this.#trimmer = new HistoryTrimmer({
      file,
      committer: this.#committer,
      room,
      oldest: readMeta(file.tables, 'oldest') ?? 1,
      now: settings.now,
      keepMs: settings.historyMs,
      maxBytes: settings.historyBytes,
      onTrimmed: () => this.#feed.changed.notify(),
    });
    this.#expiry = new ExpiryTimer({
      now: settings.now,
      file,
      expire: async ({ at, key }) => void (await this.#write('expire', key, empty, 0, at)),
    });
    this.#expiry.begin();
    // It mends nothing that anybody can see; failing, it is tried again with the next trimming.
    this.#trimmer.resume().catch(() => undefined);
  }

  get localRevision(): number {
    return this.#committer.revision;
  }

  async get(key: string): Promise<StoredValue | undefined> {
    this.#assertOpen();
    if (!fitsKey(key)) return undefined;
    while (this.#file.swapping !== undefined) await this.#file.swapping;
    const entry = this.#file.tables.current.getEntry(key);
    return entry === undefined ? undefined : { key, value: entry.value, revision: revisionOf(entry.version) };
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    this.#assertOpen();
    for (const key of [prefix, options.from ?? '']) if (!fitsKey(key)) throw keyTooLong(key);
    return await this.#file.read((tables) => readRange(tables, prefix, options));
  }

  async create(key: string, value: Buffer, options?: WriteOptions): Promise<number> {
    return await this.#write('create', key, value, 0, this.#expiresAt(options));
  }

  async update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number> {
    return await this.#write('update', key, value, expected, this.#expiresAt(options));
  }

  async delete(key: string, expected: number): Promise<number> {
    return await this.#write('delete', key, empty, expected, undefined);
  }

  async *watch(prefix: string, options: WatchOptions): AsyncGenerator<WatchBatch, void, undefined> {
    const signal = AbortSignal.any([options.signal, this.#closed.signal]);
    let cursor = options.after;
    while (!signal.aborted) {
      if (cursor < this.#trimmer.oldest) throw new CompactedError(cursor, this.#trimmer.oldest);
      if (cursor >= this.#feed.revision) {
        await this.#feed.changed.wait(signal);
        continue;
      }
      const events = this.#feed.after(cursor, batchFromFeed) ?? (await this.#logged(cursor));
      const last = events.at(-1);
      // Compacted while the log was about to be read: the check above says so.
      if (last === undefined) continue;
      cursor = last.revision;
      yield { events: events.filter((event) => event.key.startsWith(prefix)), revision: cursor };
      // A long way to catch up is gone in steps.
      if (cursor < this.#feed.revision) await nextTurn();
    }
    if (!options.signal.aborted) throw closedError();
  }

  async currentRevision(): Promise<number> {
    this.#assertOpen();
    while (this.#file.swapping !== undefined) await this.#file.swapping;
    return readMeta(this.#file.tables, 'revision') ?? 1;
  }

  async compact(revision: number): Promise<void> {
    this.#assertOpen();
    await this.#trimmer.compact(revision);
  }

  async check(): Promise<void> {
    this.#assertOpen();
    await this.#committer.check();
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    this.#closed.abort();
    await Promise.all([this.#expiry.close(), this.#trimmer.close()]);
    await this.#committer.close();
    await this.#file.close();
    this.#lock.release();
  }

  async #write(
    kind: Operation['kind'],
    key: string,
    value: Buffer,
    expected: number,
    at: number | undefined,
  ): Promise<number> {
    this.#assertOpen();
    if (!fitsKey(key)) throw keyTooLong(key);
    if (value.length > this.#settings.maxValueBytes) throw new ValueTooLargeError(key);
    return await new Promise<number>((resolve, reject) => {
      this.#committer.submit({ kind, key, value, expected, at, resolve, reject });
      if (at !== undefined) this.#expiry.expect(at);
    });
  }

  #publish(events: readonly StorageEvent[]): void {
    // What the history keeps of each: an entry of the log, and the value that was replaced, about as large as the new one.
    let bytes = 0;
    for (const { key, value, created } of events) bytes += key.length + (created ? 0 : (value?.length ?? 0));
    this.#feed.publish(events);
    this.#trimmer.wrote(bytes);
  }

  /** Events that are only in the file. None when they have just been compacted. */
  async #logged(after: number): Promise<StorageEvent[]> {
    return await this.#file.read(async (tables) => {
      if (after < (readMeta(tables, 'oldest') ?? 1)) return [];
      return readEvents(tables, after, this.#feed.revision, batchFromLog);
    });
  }

  #expiresAt({ ttlSeconds }: WriteOptions = {}): number | undefined {
    return ttlSeconds === undefined ? undefined : this.#settings.now() + ttlSeconds * 1000;
  }

  #assertOpen(): void {
    if (this.#closed.signal.aborted) throw closedError();
  }
}

const closedError = (): StorageUnavailableError => new StorageUnavailableError('the store is closed');
const keyTooLong = (key: string): ValueTooLargeError =>
  new ValueTooLargeError(key, `the key is longer than ${maxKeyBytes} bytes`);

function fitsKey(key: string): boolean {
  return key.length * 3 <= maxKeyBytes || Buffer.byteLength(key) <= maxKeyBytes;
}
