import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { StorageUnusableError } from '../errors.ts';
import type { AcknowledgedEnd } from './acknowledged-end.ts';
import { type DamagedRange, findDamagedRange, nextIntactRecord } from './damaged-range.ts';
import { baseName, type DirectoryContent, logName } from './data-directory.ts';
import { decodeFileHeader, type FileHeader, fileHeaderBytes, format, isHeaderPart } from './file-header.ts';
import { FullReplay, type LostRecord, type RecordReplay } from './full-replay.ts';
import { History } from './history.ts';
import { IncrementalReplay } from './incremental-replay.ts';
import { fingerprintOf, type KeyIndexSnapshot } from './key-index-snapshot.ts';
import { type QuarantinedRecord, quarantine } from './quarantine.ts';
import { RecordReader, type ScannedRecord } from './record-reader.ts';
import { Segment } from './segment.ts';
import { StoreState } from './store-state.ts';

export interface SegmentReplayOptions {
  readonly directory: string;
  /** The recorded end of the log; undefined when there is none. */
  readonly end: AcknowledgedEnd | undefined;
  /** Data that is gone, or whose key is unknown, is reported instead of refused. */
  readonly acceptDataLoss: boolean;
  /** Files are not changed. */
  readonly readOnly: boolean;
  /** Called with bytes as they are replayed. */
  readonly onProgress: (bytes: number) => void;
}

export interface Replayed {
  readonly state: StoreState;
  /** Undefined for a directory without a store. */
  readonly salt: number | undefined;
  /** Number of the last write. */
  readonly write: number;
  /** Number of the last segment that is known, even if it is missing. */
  readonly lastSegment: number;
  /** Set when the end of a log was truncated: a sentence for the log. */
  readonly repairReport: string | undefined;
  /** Bytes that were replayed after the key index snapshot; undefined: everything was replayed. */
  readonly replayedBytes: number | undefined;
  /** Damaged records whose key is known: they are left out, the rest is served. */
  readonly quarantined: readonly QuarantinedRecord[];
  /** Loss that `acceptDataLoss` accepted: a sentence each. */
  readonly losses: readonly string[];
}

/** Where an intact record of a log may follow. */
interface Limits {
  readonly from: number;
  readonly size: number;
  /** The end of the acknowledged bytes; undefined when it is not recorded. */
  readonly acknowledged: number | undefined;
  readonly last: boolean;
}

/** Replays segments in order; see recovery.ts for the rules. */
export class SegmentReplay {
  readonly #options: SegmentReplayOptions;
  readonly #opened: Segment[] = [];
  #replay: RecordReplay = new FullReplay();
  /** The last segment of the snapshot, whose end is replayed. */
  #lastRestored: Segment | undefined;
  #write = 0;
  #salt: number | undefined;
  #repairReport: string | undefined;
  #replayedBytes: number | undefined;
  readonly #losses: string[] = [];
  readonly #unnamed: (QuarantinedRecord & { readonly segment: Segment })[] = [];
  /** Revisions may be missing before the next record, because an unreadable range was accepted. */
  #mayMissRevisions = false;

  constructor(options: SegmentReplayOptions) {
    this.#options = options;
  }

  async result(): Promise<Replayed> {
    const { end, directory, readOnly } = this.#options;
    if (end !== undefined) this.#checkEnd(end);
    const state = this.#replay.build();
    const lost = this.#replay instanceof FullReplay ? this.#replay.lostRecords : [];
    for (const record of lost) {
      if (!record.trusted) this.#lose(record.segment.path, `the record at ${record.offset}, whose key is not readable`);
    }
    const damaged = [...lost.map((record) => ({ ...describe(record), segment: record.segment })), ...this.#unnamed];
    const quarantined: QuarantinedRecord[] = [];
    for (const { segment, ...record } of damaged) {
      if (!readOnly) await quarantine(directory, segment, record);
      quarantined.push(record);
    }
    return {
      state,
      salt: this.#salt,
      write: Math.max(this.#write, end?.write ?? 0),
      lastSegment: end?.segment ?? 0,
      repairReport: this.#repairReport,
      replayedBytes: this.#replayedBytes,
      quarantined,
      losses: this.#losses,
    };
  }

  /** Closes the segments after a failure. */
  async close(): Promise<void> {
    for (const segment of this.#opened) await segment.file.close();
  }

  /**
   * Restores the snapshot when the segments match it; returns the number of its last segment, where the replay starts.
   */
  async restore(keys: KeyIndexSnapshot, { base, logs }: DirectoryContent): Promise<number | undefined> {
    const names = logs.map((id) => ({ id, isBase: false }));
    if (base !== undefined) names.unshift({ id: base, isBase: true });
    const segments: Segment[] = [];
    for (const [i, { file, size, live }] of keys.files.entries()) {
      const { id, isBase } = names[i] ?? {};
      if (id === undefined || id !== file.id || isBase !== file.isBase) return undefined;
      const segment = await this.#open(id, join(this.#options.directory, isBase ? baseName(id) : logName(id)));
      const { size: present } = await segment.file.stat();
      const grows = i === keys.files.length - 1 || isBase;
      if (grows ? present < size : present !== size) return undefined;
      const header = await readFileHeader(segment.file);
      if (header?.salt !== keys.salt || header.id !== id || (isBase && header.size !== size)) return undefined;
      if ((await fingerprintOf(segment, size)) !== file.sum) return undefined;
      segment.size = size;
      segment.live = live;
      segments.push(segment);
    }
    const { index, changes, expiring } = keys.build(segments);
    const { oldest, revision } = keys;
    const state = new StoreState({ index, history: new History(oldest, changes), revision, expiring: [...expiring] });
    state.segments = segments;
    this.#replay = new IncrementalReplay(state);
    this.#lastRestored = segments.at(-1);
    this.#write = keys.write;
    this.#salt = keys.salt;
    this.#replayedBytes = 0;
    return this.#lastRestored?.id;
  }

  async readBase(id: number): Promise<void> {
    const path = join(this.#options.directory, baseName(id));
    const segment = await this.#open(id, path);
    const header = await readFileHeader(segment.file);
    const { size } = await segment.file.stat();
    if (header === undefined || header.kind !== 'base' || header.id !== id) throw damaged(path, 'its header');
    if (header.size > size) this.#lose(path, `${header.size - size} bytes at its end`);
    segment.size = Math.min(header.size, size);
    this.#salt = header.salt;
    let inHistory = 0;
    let isWhole = header.size <= size;
    const take = ({ entry, header: { keyBytes } }: ScannedRecord): void => {
      this.#replay.add(entry, keyBytes);
      if (entry.revision > header.oldest) inHistory++;
    };
    for (let at = fileHeaderBytes; ;) {
      at = await this.#scan(segment, at, segment.size, take);
      if (at === segment.size) break;
      isWhole = false;
      const stop = segment.size;
      const range = await findDamagedRange(segment, { offset: at, stop, size: stop, salt: header.salt });
      const records = range.records?.every((record) => record.header.revision <= header.revision)
        ? range.records
        : undefined;
      if (records === undefined) this.#loseRange(segment, range);
      for (const record of records ?? []) this.#replay.lose(segment, record, record.header.revision > header.oldest);
      at = range.end;
    }
    this.#replay.segments.push(segment);
    this.#replay.advanceTo(header.revision);
    // Without all its records the base does not describe the history.
    this.#replay.compactTo(isWhole ? header.oldest : header.revision);
    if (isWhole && inHistory !== header.revision - header.oldest) throw damaged(path, 'part of the history');
  }

  async readLog(id: number, last: boolean): Promise<void> {
    const path = join(this.#options.directory, logName(id));
    const restored = this.#lastRestored?.id === id ? this.#lastRestored : undefined;
    const segment = restored ?? (await this.#open(id, path));
    const { size } = await segment.file.stat();
    const header = await readFileHeader(segment.file);
    if (header === undefined && last && size <= fileHeaderBytes && (await hasUnfinishedHeader(segment.file, size))) {
      // It was being created; nothing had been written to it.
      this.#opened.pop();
      await segment.retire(!this.#options.readOnly);
      return;
    }
    if (header === undefined || header.kind !== 'log' || header.id !== id) throw damaged(path, 'its header');
    if (restored === undefined) this.#follow(path, header.revision);
    if (this.#salt !== undefined && header.salt !== this.#salt) throw damaged(path, 'the salt of this store');
    this.#salt = header.salt;
    const { end } = this.#options;
    const acknowledged = last && end?.segment === id ? end.offset : undefined;
    if (acknowledged !== undefined && acknowledged > size)
      this.#lose(path, `its end: it has ${size} bytes, ${acknowledged} were acknowledged`);
    const from = restored?.size ?? fileHeaderBytes;
    const at = await this.#replayLog(segment, { from, size, acknowledged, last });
    if (this.#replayedBytes !== undefined) this.#replayedBytes += at - from;
    segment.size = at;
    if (restored === undefined) this.#replay.segments.push(segment);
    if (at === size) return;
    if (!this.#options.readOnly) {
      await segment.file.truncate(at);
      await segment.file.sync();
    }
    this.#repairReport = `truncated ${path} by ${size - at} bytes: its last write was not finished`;
  }

  /** Replays the records of a log; returns its end, where an unfinished write may follow. */
  async #replayLog(segment: Segment, { from, size, acknowledged, last }: Limits): Promise<number> {
    const { path } = segment;
    let endOfWrite = from;
    for (let at = from; ;) {
      at = await this.#scan(segment, at, size, (found) => {
        this.#take(found, path);
        endOfWrite = found.entry.offset + found.header.remainingBytes;
      });
      if (at === size) return at;
      const salt = this.#salt ?? 0;
      if (last && (acknowledged === undefined || acknowledged > size || at >= acknowledged)) {
        // The damage is in the last write that was read, or at the start of the next one. An intact record of a later
        // write proves that the damaged one had been durable.
        const latest = at < endOfWrite ? this.#write : this.#write + 1;
        const from = { from: at + 1, size, salt };
        if ((await nextIntactRecord(segment, from, ({ write }) => write > latest)) === undefined) return at;
      }
      const stop = Math.min(acknowledged !== undefined && at < acknowledged ? acknowledged : size, size);
      const range = await findDamagedRange(segment, { offset: at, stop, size, salt });
      this.#leaveOut(segment, range);
      at = range.end;
      if (at === size || range.next === undefined) return at;
    }
  }

  /** Reads intact records from an offset; returns where they end. */
  async #scan(segment: Segment, from: number, end: number, take: (found: ScannedRecord) => void): Promise<number> {
    const records = new RecordReader(segment, this.#salt ?? 0, end, from);
    let reported = from;
    for (let found = await records.next(); found !== undefined; found = records.take() ?? (await records.next())) {
      take(found);
      if (records.at - reported < progressBytes) continue;
      this.#options.onProgress(records.at - reported);
      reported = records.at;
    }
    this.#options.onProgress(records.at - reported);
    return records.at;
  }

  /** Leaves out damaged records of a log. */
  #leaveOut(segment: Segment, range: DamagedRange): void {
    const { records, next } = range;
    const written = records?.filter(({ header }) => header.kind !== 'compact') ?? [];
    const first = this.#replay.revision + 1;
    const inOrder = written.every(({ header }, i) => header.revision === first + i);
    const joins = next === undefined || next.kind === 'compact' || next.revision === first + written.length;
    if (records === undefined || !inOrder || !joins) {
      this.#loseRange(segment, range);
      this.#mayMissRevisions = true;
      return;
    }
    for (const record of written) this.#replay.lose(segment, record, true);
    this.#replay.compactTo(this.#replay.revision);
  }

  /** The keys in a range are unknown: an older version of them may be the latest that is left. */
  #loseRange(segment: Segment, { offset, end }: DamagedRange): void {
    this.#lose(segment.path, `the records from ${offset} to ${end}, whose keys are not readable`);
    const unknown = { key: undefined, revision: undefined, superseded: false };
    this.#unnamed.push({ file: segment.path, offset, bytes: end - offset, ...unknown, segment });
  }

  /** A log continues at the revision after `revision`. */
  #follow(path: string, revision: number): void {
    const reached = this.#replay.revision;
    if (revision === reached) return;
    if (revision < reached) throw damaged(path, `the order: it follows revision ${revision}, not ${reached}`);
    if (!this.#mayMissRevisions)
      this.#lose(path, `the segments before it: it follows revision ${revision}, the replay ended at ${reached}`);
    this.#skipTo(revision);
  }

  #checkEnd({ salt, revision, segment }: AcknowledgedEnd): void {
    const { directory } = this.#options;
    const path = join(directory, logName(segment));
    if (this.#salt !== undefined && salt !== this.#salt) this.#lose(directory, 'the store whose end is recorded');
    else if (this.#replay.revision < revision) {
      this.#lose(path, `revisions ${this.#replay.revision + 1} to ${revision}, which were acknowledged`);
      // Revisions never go back: clients may have seen the lost ones.
      this.#skipTo(revision);
    }
  }

  #skipTo(revision: number): void {
    this.#replay.advanceTo(revision);
    this.#replay.compactTo(revision);
    this.#mayMissRevisions = false;
  }

  #lose(path: string, what: string): void {
    const error = damaged(path, what);
    if (!this.#options.acceptDataLoss) throw error;
    this.#losses.push(`${path}: missing ${what}`);
  }

  async #open(id: number, path: string): Promise<Segment> {
    const segment = await Segment.open(id, path, 0);
    this.#opened.push(segment);
    return segment;
  }

  #take({ header, entry }: ScannedRecord, path: string): void {
    this.#write = header.write;
    if (header.kind === 'compact') {
      this.#replay.compactTo(header.revision);
      return;
    }
    if (header.revision !== this.#replay.revision + 1) {
      if (!this.#mayMissRevisions || header.revision <= this.#replay.revision)
        throw damaged(path, `revision ${this.#replay.revision + 1}: ${header.revision} follows`);
      this.#skipTo(header.revision - 1);
    }
    this.#mayMissRevisions = false;
    this.#replay.add(entry, header.keyBytes);
  }
}

const progressBytes = 8 << 20;

function describe({ segment, offset, bytes, key, header, trusted, superseded }: LostRecord): QuarantinedRecord {
  const known = trusted ? key : undefined;
  return { file: segment.path, offset, bytes, key: known, revision: header.revision, superseded };
}

async function readFileHeader(file: FileHandle): Promise<FileHeader | undefined> {
  const bytes = Buffer.alloc(fileHeaderBytes);
  const { bytesRead } = await file.read(bytes, 0, fileHeaderBytes, 0);
  const header = decodeFileHeader(bytes.subarray(0, bytesRead));
  if (header !== undefined && 'format' in header) {
    throw new StorageUnusableError(
      `the data has format ${header.format}, this program supports ${format}: use the version of the program that wrote it`,
    );
  }
  return header;
}

/** Whether the file is what a crash leaves of a new one: a part of a header, or zeros. Anything else is not removed. */
async function hasUnfinishedHeader(file: FileHandle, size: number): Promise<boolean> {
  const { buffer } = await file.read(Buffer.alloc(size), 0, size, 0);
  return isHeaderPart(buffer) || buffer.every((byte) => byte === 0);
}

function damaged(path: string, what: string): StorageUnusableError {
  return new StorageUnusableError(
    `the data file ${path} is damaged or incomplete, missing ${what}: restore the directory from a backup, see what is ` +
      'left with "multiplane store check", or start with --accept-data-loss, which gives up what is missing',
  );
}
