import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { BulkRead, BulkReadStorage } from '../capabilities/bulk-read.ts';
import type { LazyReadStorage, LazyState } from '../capabilities/lazy-read.ts';
import type { LocalRevisionStorage } from '../capabilities/local-revision.ts';
import { CompactedError, StorageUnavailableError, ValueTooLargeError } from '../errors.ts';
import type {
  ListOptions,
  ListResult,
  StorageEvent,
  StoredValue,
  WatchBatch,
  WatchOptions,
  WriteOptions,
} from '../interface.ts';
import { readBulk } from './bulk-reader.ts';
import { lazyStateOf } from './lazy-state.ts';
import type { EndRecorder } from './acknowledged-end.ts';
import { EventBuffer } from './event-buffer.ts';
import { ExpiryTimer } from './expiry-timer.ts';
import type { DirectoryLock } from './directory-lock.ts';
import { retainedBytes, HistoryTrimmer } from './history-trimmer.ts';
import { KeyIndexWriter } from './key-index-writer.ts';
import { LogWriter } from './log-writer.ts';
import type { QuarantinedRecord } from './quarantine.ts';
import { SegmentCompactor } from './segment-compactor.ts';
import { readRange } from './range-reader.ts';
import { recordHeaderBytes, maxKeyBytes } from './record.ts';
import { DiskSpaceGuard } from './disk-space-guard.ts';
import type { StoreState } from './store-state.ts';
import { ValueReader } from './value-reader.ts';
import type { Operation } from './write-batch.ts';

export interface FileStorageSettings {
  readonly directory: string;
  readonly salt: number;
  readonly now: () => number;
  readonly historyMs: number;
  readonly historyBytes: number;
  readonly eventBufferBytes: number;
  readonly maxValueBytes: number;
  readonly reserveBytes: number;
  readonly minIndexSnapshotBytes: number;
  /** Bytes that recovery replayed after the key index snapshot; undefined: it replayed everything. */
  readonly replayedBytes: number | undefined;
  /** Number of the last write in the segments. */
  readonly write: number;
  readonly recoveryReport: RecoveryReport;
}

/** What recovery found besides intact records. */
export interface RecoveryReport {
  /** Set when the unfinished last write was truncated; no acknowledged data is affected. */
  readonly truncated: string | undefined;
  /** Damaged records of this start: their keys are absent, unless superseded. */
  readonly quarantined: readonly QuarantinedRecord[];
  /** Records in the folder `quarantine`, those of earlier starts included. */
  readonly quarantinedTotal: number;
  /** Data loss that `acceptDataLoss` accepted; a sentence each. */
  readonly losses: readonly string[];
}

export interface FileStorageModules {
  readonly lock: DirectoryLock;
  readonly state: StoreState;
  readonly end: EndRecorder;
}

/** Maximum number of events in one batch: from memory, and from segments. */
const batchFromMemory = 1000;
const batchFromFiles = 250;
/** A watch that is this far behind, or twice, reads from segments. */
const ageIntervalMs = 10_000;
const nothing = Buffer.alloc(0);

/**
 * The embedded store: one process, one directory, durable (docs/adr/0006-embedded-append-only-log.md).
 *
 *   write     {@link LogWriter} decides, appends and syncs writes in groups; acknowledged writes are durable
 *   read      keys and the positions of values are in memory ({@link StoreState}), values in append-only segments
 *   watch     from {@link EventBuffer}, and from the history in the segments for watches that lag behind it
 *   history   {@link HistoryTrimmer} drops old changes; {@link SegmentCompactor} reclaims the disk space of dead records
 *   end       {@link EndRecorder} records how far the log was acknowledged, so that a shortened log is detected
 *   recovery  `openFileStorage` replays the segments, or only their tail after the snapshot of {@link KeyIndexWriter}
 */
export class FileStorage implements LocalRevisionStorage, BulkReadStorage, LazyReadStorage {
  readonly recoveryReport: RecoveryReport;
  readonly #settings: FileStorageSettings;
  readonly #lock: DirectoryLock;
  readonly #end: EndRecorder;
  readonly #state: StoreState;
  readonly #values: ValueReader;
  readonly #writer: LogWriter;
  readonly #compactor: SegmentCompactor;
  readonly #keyIndexWriter: KeyIndexWriter;
  readonly #trimmer: HistoryTrimmer;
  readonly #eventBuffer: EventBuffer;
  readonly #ageTimer: NodeJS.Timeout;
  readonly #expiry: ExpiryTimer;
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(settings: FileStorageSettings, { lock, state, end }: FileStorageModules) {
    const { directory, salt, write, now } = settings;
    this.recoveryReport = settings.recoveryReport;
    this.#settings = settings;
    this.#lock = lock;
    this.#end = end;
    this.#state = state;
    this.#values = new ValueReader(salt, () => this.#keyIndexWriter.reportDamage());
    this.#eventBuffer = new EventBuffer(state.revision, settings.eventBufferBytes);
    this.#ageTimer = setInterval(() => this.#eventBuffer.dropAged(), ageIntervalMs).unref();
    const diskSpace = new DiskSpaceGuard(directory, settings.reserveBytes);
    const publish = (events: readonly StorageEvent[]): void => this.#publish(events);
    this.#writer = new LogWriter({ directory, salt, write, publish }, { state, diskSpace, end });
    const onCompacted = (): void => this.#keyIndexWriter.invalidate();
    this.#compactor = new SegmentCompactor(
      { directory, salt, onCompacted },
      { state, writer: this.#writer, diskSpace },
    );
    this.#keyIndexWriter = new KeyIndexWriter(settings, {
      state,
      writer: this.#writer,
      compactor: this.#compactor,
      diskSpace,
    });
    this.#trimmer = new HistoryTrimmer(
      {
        now,
        keepMs: settings.historyMs,
        maxBytes: settings.historyBytes,
        onTrimmed: () => this.#eventBuffer.changed.notifyAll(),
      },
      { state, writer: this.#writer, compactor: this.#compactor },
    );
    this.#expiry = new ExpiryTimer({
      now,
      expire: async ({ at, key }) => void (await this.#write('expire', key, nothing, 0, at)),
    });
    for (const expiry of state.expiring) this.#expiry.schedule(expiry);
  }

  get localRevision(): number {
    return this.#state.revision;
  }

  async get(key: string): Promise<StoredValue | undefined> {
    this.#assertOpen();
    const entry = this.#state.index.get(key);
    if (entry === undefined) return undefined;
    const recent = this.#eventBuffer.after(entry.revision - 1, 1)?.[0]?.value;
    return { key, value: recent ?? (await this.#values.value(entry)), revision: entry.revision };
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    this.#assertOpen();
    return await readRange(this.#state, this.#values, prefix, options);
  }

  async readBulk(prefix: string, revision: number): Promise<BulkRead> {
    this.#assertOpen();
    return readBulk(this.#state, this.#values, prefix, revision);
  }

  openLazyState(prefix: string): LazyState | undefined {
    this.#assertOpen();
    return lazyStateOf(this.#state, this.#values, prefix);
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
      if (cursor >= this.#eventBuffer.revision) {
        await this.#eventBuffer.changed.wait(signal);
        continue;
      }
      const events = this.#eventBuffer.after(cursor, batchFromMemory) ?? (await this.#eventsFromFiles(cursor));
      cursor = (events.at(-1) as StorageEvent).revision;
      yield { events: events.filter((event) => event.key.startsWith(prefix)), revision: cursor };
      // Yields during a long catch-up.
      if (cursor < this.#eventBuffer.revision) await yieldToEventLoop();
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

  /** Drops the history and rewrites the live records without gaps; returns the bytes on disk before and after. */
  async defragment(): Promise<{ readonly before: number; readonly after: number }> {
    this.#assertOpen();
    const before = this.#state.size().total;
    await this.#trimmer.compact(this.#state.revision);
    await this.#compactor.compactAll();
    return { before, after: this.#state.size().total };
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
    clearInterval(this.#ageTimer);
    await Promise.all([
      this.#expiry.close(),
      this.#keyIndexWriter.stop(),
      this.#compactor.close(),
      this.#trimmer.close(),
    ]);
    await this.#writer.close();
    await this.#keyIndexWriter.finish();
    await this.#end.close();
    await Promise.all(this.#state.segments.map((segment) => segment.retire(false)));
    this.#lock.release();
  }

  /** Not async: creates one promise per write instead of several; thousands of writes may be pending. */
  #write(
    kind: Operation['kind'],
    key: string,
    value: Buffer,
    expected: number,
    expiresAt: number | undefined,
  ): Promise<number> {
    const written = new Promise<number>((resolve, reject) => {
      this.#assertOpen();
      if (key.length * 3 > maxKeyBytes && Buffer.byteLength(key) > maxKeyBytes) {
        throw new ValueTooLargeError(key, `the key is longer than ${maxKeyBytes} bytes`);
      }
      if (value.length > this.#settings.maxValueBytes) throw new ValueTooLargeError(key);
      this.#writer.submit({ kind, key, value, expected, expiresAt, resolve, reject });
    });
    if (expiresAt === undefined || kind === 'expire') return written;
    return written.then((revision) => {
      this.#expiry.schedule({ at: expiresAt, key });
      return revision;
    });
  }

  #publish(events: readonly StorageEvent[]): void {
    // Assumes that the replaced value has the size of the new one.
    let bytes = 0;
    let records = 0;
    for (const { key, value, created } of events) {
      const valueBytes = value?.length ?? 0;
      bytes += retainedBytes(key, created ? 0 : valueBytes);
      records += recordHeaderBytes + key.length + valueBytes;
    }
    this.#eventBuffer.publish(events);
    this.#trimmer.wrote(bytes);
    this.#keyIndexWriter.wrote(records);
  }

  /** Events that are no longer in memory, without the last values of deleted keys. */
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
