import { type FileHandle, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { StorageUnusableError } from '../errors.ts';
import { decodeFileHeader, type FileHeader, fileHeaderBytes, format } from './file-header.ts';
import {
  baseName,
  type DirectoryContent,
  keyIndexFileName,
  logName,
  readDataDirectory,
  sync,
} from './data-directory.ts';
import { type KeyIndexSnapshot, readKeyIndexSnapshot, fingerprintOf } from './key-index-snapshot.ts';
import { isIntact, recordLength, readRecordHeader } from './record.ts';
import { Segment } from './segment.ts';
import { History } from './history.ts';
import { StoreState } from './store-state.ts';
import { type RecordReplay, FullReplay } from './full-replay.ts';
import { IncrementalReplay } from './incremental-replay.ts';
import { RecordReader, type ScannedRecord } from './record-reader.ts';

export interface Recovered {
  readonly state: StoreState;
  /** Undefined for a directory without a store. */
  readonly salt: number | undefined;
  /** Number of the last write. */
  readonly write: number;
  /** Set when the end of a log was truncated: a sentence for the log. */
  readonly repairReport: string | undefined;
  /** Bytes that were replayed after the key index snapshot; undefined: everything was replayed. */
  readonly replayedBytes: number | undefined;
}

export interface RecoveryOptions {
  readonly directory: string;
  /** Smaller stores are replayed completely, even with a snapshot. */
  readonly minIndexSnapshotBytes: number;
}

/** Bytes that are searched at a time for records after damage. */
const chunkBytes = 4 << 20;

/**
 * Recovers the state from the data directory.
 *
 *   full replay         the base first, its records in revision order, then the logs. Every record is checked. Revisions in
 *                       the logs have no gaps, so a missing or shortened segment before the last one is detected.
 *   torn write          the last log may end within a write that was never acknowledged: that end is truncated
 *   damage              any other damage affects acknowledged data: the store is refused instead of served with a gap
 *   incremental replay  a large store has a key index snapshot. When every segment matches its fingerprint, only the
 *                       records after the snapshot are replayed, and older records are checked when they are read. When
 *                       anything does not match, everything is replayed, and the snapshot is removed before any write.
 */
export async function recover({ directory, minIndexSnapshotBytes }: RecoveryOptions): Promise<Recovered> {
  const content = await readDataDirectory(directory);
  const { base, logs, keys, stale } = content;
  for (const path of stale) await unlink(path);
  if (stale.length > 0) await sync(directory);
  const bytes = await bytesOf(directory, content);
  const resumed = keys && bytes >= minIndexSnapshotBytes ? await resume(directory, content) : undefined;
  if (resumed !== undefined) return resumed;
  const recovery = new Recovery(directory);
  try {
    if (base !== undefined) await recovery.readBase(base);
    for (const [i, id] of logs.entries()) await recovery.readLog(id, i === logs.length - 1);
    if (keys) {
      await unlink(join(directory, keyIndexFileName));
      await sync(directory);
    }
    return recovery.result();
  } catch (error) {
    await recovery.close();
    throw error;
  }
}

/** Restores the snapshot and replays the records after it; undefined when the snapshot is not valid. */
async function resume(directory: string, content: DirectoryContent): Promise<Recovered | undefined> {
  const keys = await readKeyIndexSnapshot(join(directory, keyIndexFileName));
  if (keys === undefined) return undefined;
  const { logs } = content;
  const recovery = new Recovery(directory);
  try {
    const from = await recovery.restore(keys, content);
    if (from !== undefined) {
      for (const [i, id] of logs.entries()) if (id >= from) await recovery.readLog(id, i === logs.length - 1);
      return recovery.result();
    }
  } catch {
    // The full replay reports the cause.
  }
  await recovery.close();
  return undefined;
}

async function bytesOf(directory: string, { base, logs }: DirectoryContent): Promise<number> {
  let bytes = 0;
  const names = logs.map(logName);
  if (base !== undefined) names.push(baseName(base));
  for (const name of names) bytes += (await stat(join(directory, name))).size;
  return bytes;
}

class Recovery {
  readonly #directory: string;
  readonly #opened: Segment[] = [];
  #replay: RecordReplay = new FullReplay();
  /** The last segment of the snapshot, whose end is replayed. */
  #lastRestored: Segment | undefined;
  #write = 0;
  #salt: number | undefined;
  #repairReport: string | undefined;
  #replayedBytes: number | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  result(): Recovered {
    const state = this.#replay.build();
    return {
      state,
      salt: this.#salt,
      write: this.#write,
      repairReport: this.#repairReport,
      replayedBytes: this.#replayedBytes,
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
      const segment = await this.#open(id, join(this.#directory, isBase ? baseName(id) : logName(id)));
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
    const path = join(this.#directory, baseName(id));
    const segment = await this.#open(id, path);
    const header = await readFileHeader(segment.file);
    const { size } = await segment.file.stat();
    if (header === undefined || header.kind !== 'base' || header.id !== id) throw damaged(path, 'its header');
    if (header.size > size) throw damaged(path, `${header.size - size} bytes at its end`);
    segment.size = header.size;
    this.#salt = header.salt;
    let inHistory = 0;
    const records = new RecordReader(segment, header.salt, header.size);
    for (let found = await records.next(); found !== undefined; found = records.take() ?? (await records.next())) {
      this.#replay.add(found.entry, found.header.keyBytes);
      if (found.entry.revision > header.oldest) inHistory++;
    }
    if (records.at !== header.size) throw damaged(path, `the record at ${records.at}`);
    this.#replay.segments.push(segment);
    this.#replay.advanceTo(header.revision);
    this.#replay.compactTo(header.oldest);
    if (inHistory !== header.revision - header.oldest) throw damaged(path, 'part of the history');
  }

  async readLog(id: number, last: boolean): Promise<void> {
    const path = join(this.#directory, logName(id));
    const restored = this.#lastRestored?.id === id ? this.#lastRestored : undefined;
    const segment = restored ?? (await this.#open(id, path));
    const header = await readFileHeader(segment.file);
    const { size } = await segment.file.stat();
    if (header === undefined && last && size <= fileHeaderBytes) {
      // It was being created; nothing had been written to it.
      this.#opened.pop();
      await segment.retire(true);
      return;
    }
    if (header === undefined || header.kind !== 'log' || header.id !== id) throw damaged(path, 'its header');
    if (restored === undefined && header.revision !== this.#replay.revision) {
      throw damaged(
        path,
        `the segments before it: it follows revision ${header.revision}, the replay ended at ${this.#replay.revision}`,
      );
    }
    if (this.#salt !== undefined && header.salt !== this.#salt) throw damaged(path, 'the salt of this store');
    this.#salt = header.salt;
    const records = new RecordReader(segment, header.salt, size, restored?.size);
    let endOfWrite = records.at;
    for (let found = await records.next(); found !== undefined; found = records.take() ?? (await records.next())) {
      this.#take(found, path);
      endOfWrite = records.at - found.entry.bytes + found.header.remainingBytes;
    }
    if (this.#replayedBytes !== undefined) this.#replayedBytes += records.at - (restored?.size ?? fileHeaderBytes);
    segment.size = records.at;
    if (restored === undefined) this.#replay.segments.push(segment);
    if (records.at === size) return;
    if (!last || (await this.#isFollowed(segment, records.at, size, endOfWrite))) {
      throw damaged(path, `the record at ${records.at}`);
    }
    await segment.file.truncate(records.at);
    await segment.file.sync();
    this.#repairReport = `truncated ${path} by ${size - records.at} bytes: its last write was not finished`;
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
      throw damaged(path, `revision ${this.#replay.revision + 1}: ${header.revision} follows`);
    }
    this.#replay.add(entry, header.keyBytes);
  }

  /** True when an intact record of a later write follows the damage, so that the damaged write had been durable. */
  async #isFollowed(segment: Segment, from: number, size: number, endOfWrite: number): Promise<boolean> {
    // The damage is in the last write that was read, or at the start of the next one.
    const latest = from < endOfWrite ? this.#write : this.#write + 1;
    for (let at = from; at < size; at += chunkBytes) {
      const bytes = await segment.read(at, Math.min(2 * chunkBytes, size - at));
      for (let i = 1; i < Math.min(bytes.length, chunkBytes); i++) {
        const header = readRecordHeader(bytes, i);
        if (header !== undefined && header.write > latest && isIntact(bytes, i, recordLength(header), this.#salt ?? 0))
          return true;
      }
      await yieldToEventLoop();
    }
    return false;
  }
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

function damaged(path: string, what: string): StorageUnusableError {
  return new StorageUnusableError(
    `the data file ${path} is damaged, missing ${what}: restore the directory from a backup, or move it away to start ` +
      'with an empty store',
  );
}
