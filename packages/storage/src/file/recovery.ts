import { type FileHandle, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { StorageUnusableError } from '../errors.ts';
import { decodeFileHead, type FileHead, fileHeadBytes, format } from './file-head.ts';
import { baseName, logName, readFolder, sync } from './folder.ts';
import { isWhole, lengthOf, readHead } from './record.ts';
import { Segment } from './segment.ts';
import type { State } from './state.ts';
import { StateBuilder } from './state-builder.ts';
import { RecordReader, type Found } from './record-reader.ts';

export interface Recovered {
  readonly state: State;
  /** Undefined for a folder without a store. */
  readonly salt: number | undefined;
  /** Number of the last write. */
  readonly write: number;
  /** Set when something was cut off: a sentence for the log. */
  readonly repaired: string | undefined;
}

/** How much is looked through at a time for what stands behind a damage. */
const chunkBytes = 4 << 20;

/**
 * Reads the folder.
 *
 * The base comes first, its records in the order of their revisions; then the logs. Every record is checked. Revisions in
 * the logs have no gaps, so a file that is missing or was cut short before the last one is noticed. The last log may end
 * within a write that was never acknowledged: that end is cut off. Anything else that is not whole had been acknowledged,
 * and the folder is refused rather than served with a hole.
 */
export async function recover(folder: string): Promise<Recovered> {
  const { base, logs, stale } = await readFolder(folder);
  for (const path of stale) await unlink(path);
  if (stale.length > 0) await sync(folder);
  const recovery = new Recovery(folder);
  try {
    if (base !== undefined) await recovery.readBase(base);
    for (const [i, id] of logs.entries()) await recovery.readLog(id, i === logs.length - 1);
    return recovery.result();
  } catch (error) {
    await recovery.close();
    throw error;
  }
}

class Recovery {
  readonly #folder: string;
  readonly #builder = new StateBuilder();
  readonly #opened: Segment[] = [];
  #write = 0;
  #salt: number | undefined;
  #repaired: string | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  result(): Recovered {
    return { state: this.#builder.build(), salt: this.#salt, write: this.#write, repaired: this.#repaired };
  }

  /** After a failure. */
  async close(): Promise<void> {
    for (const segment of this.#opened) await segment.file.close();
  }

  async readBase(id: number): Promise<void> {
    const path = join(this.#folder, baseName(id));
    const segment = await this.#open(id, path);
    const head = await readFileHead(segment.file);
    const { size } = await segment.file.stat();
    if (head === undefined || head.kind !== 'base' || head.id !== id) throw damaged(path, 'its beginning');
    if (head.size > size) throw damaged(path, `${head.size - size} bytes at its end`);
    segment.size = head.size;
    this.#salt = head.salt;
    let remembered = 0;
    const records = new RecordReader(segment, head.salt, head.size);
    for (let found = await records.next(); found !== undefined; found = records.take() ?? (await records.next())) {
      this.#builder.add(found.entry, found.head.keyBytes);
      if (found.entry.revision > head.oldest) remembered++;
    }
    if (records.at !== head.size) throw damaged(path, `the record at ${records.at}`);
    this.#builder.segments.push(segment);
    this.#builder.reach(head.revision);
    this.#builder.forget(head.oldest);
    if (remembered !== head.revision - head.oldest) throw damaged(path, 'some of the history');
  }

  async readLog(id: number, last: boolean): Promise<void> {
    const path = join(this.#folder, logName(id));
    const segment = await this.#open(id, path);
    const head = await readFileHead(segment.file);
    const { size } = await segment.file.stat();
    if (head === undefined && last && size <= fileHeadBytes) {
      // It was being made; nothing had been written to it.
      this.#opened.pop();
      await segment.retire(true);
      return;
    }
    if (head === undefined || head.kind !== 'log' || head.id !== id) throw damaged(path, 'its beginning');
    if (head.revision !== this.#builder.revision) {
      throw damaged(
        path,
        `what comes before it: it follows revision ${head.revision}, before it ends ${this.#builder.revision}`,
      );
    }
    if (this.#salt !== undefined && head.salt !== this.#salt) throw damaged(path, 'the mark of this store');
    this.#salt = head.salt;
    const records = new RecordReader(segment, head.salt, size);
    let endOfWrite = fileHeadBytes;
    for (let found = await records.next(); found !== undefined; found = records.take() ?? (await records.next())) {
      this.#take(found, path);
      endOfWrite = records.at - found.entry.bytes + found.head.left;
    }
    segment.size = records.at;
    this.#builder.segments.push(segment);
    if (records.at === size) return;
    if (!last || (await this.#isFollowed(segment, records.at, size, endOfWrite))) {
      throw damaged(path, `the record at ${records.at}`);
    }
    await segment.file.truncate(records.at);
    await segment.file.sync();
    this.#repaired = `${size - records.at} bytes at the end of ${path} were cut off: a write that was not finished`;
  }

  async #open(id: number, path: string): Promise<Segment> {
    const segment = await Segment.open(id, path, 0);
    this.#opened.push(segment);
    return segment;
  }

  #take({ head, entry }: Found, path: string): void {
    this.#write = head.write;
    if (head.kind === 'compact') {
      this.#builder.forget(head.revision);
      return;
    }
    if (head.revision !== this.#builder.revision + 1) {
      throw damaged(path, `revision ${this.#builder.revision + 1}: ${head.revision} comes instead`);
    }
    this.#builder.add(entry, head.keyBytes);
  }

  /** True when behind a damage stands a whole record of a later write, so that the damaged one had been durable. */
  async #isFollowed(segment: Segment, from: number, size: number, endOfWrite: number): Promise<boolean> {
    // The damage is in the last write that was seen, or begins the one after it.
    const latest = from < endOfWrite ? this.#write : this.#write + 1;
    for (let at = from; at < size; at += chunkBytes) {
      const bytes = await segment.read(at, Math.min(2 * chunkBytes, size - at));
      for (let i = 1; i < Math.min(bytes.length, chunkBytes); i++) {
        const head = readHead(bytes, i);
        if (head !== undefined && head.write > latest && isWhole(bytes, i, lengthOf(head), this.#salt ?? 0))
          return true;
      }
      await nextTurn();
    }
    return false;
  }
}

async function readFileHead(file: FileHandle): Promise<FileHead | undefined> {
  const bytes = Buffer.alloc(fileHeadBytes);
  const { bytesRead } = await file.read(bytes, 0, fileHeadBytes, 0);
  const head = decodeFileHead(bytes.subarray(0, bytesRead));
  if (head !== undefined && 'format' in head) {
    throw new StorageUnusableError(
      `the data is of format ${head.format}, this program knows ${format}: use the version of the program that wrote it`,
    );
  }
  return head;
}

function damaged(path: string, what: string): StorageUnusableError {
  return new StorageUnusableError(
    `the data file ${path} is damaged, it lacks ${what}: restore the folder from a backup, or move it away to begin ` +
      'with an empty store',
  );
}
