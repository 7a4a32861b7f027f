import { type FileHandle, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { StorageUnusableError } from '../errors.ts';
import { decodeFileHead, type FileHead, fileHeadBytes, format } from './file-head.ts';
import { baseName, type FolderContent, keysName, logName, readFolder, sync } from './folder.ts';
import { type KeyFile, readKeyFile, sumOf } from './key-file.ts';
import { isWhole, lengthOf, readHead } from './record.ts';
import { Segment } from './segment.ts';
import { History } from './history.ts';
import { State } from './state.ts';
import { type RecordTaker, StateBuilder } from './state-builder.ts';
import { StateResumer } from './state-resumer.ts';
import { RecordReader, type Found } from './record-reader.ts';

export interface Recovered {
  readonly state: State;
  /** Undefined for a folder without a store. */
  readonly salt: number | undefined;
  /** Number of the last write. */
  readonly write: number;
  /** Set when something was cut off: a sentence for the log. */
  readonly repaired: string | undefined;
  /** Bytes that were read behind what the file of keys knew; undefined: all of them. */
  readonly behind: number | undefined;
}

export interface RecoveryOptions {
  readonly folder: string;
  /** A store of fewer bytes is read as a whole, whatever its file of keys knows. */
  readonly wholeBelowBytes: number;
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
 *
 * Of a large store the file of keys tells what stood in the files when it was written: when all of them are what they were
 * then, only what was written since is read. Their records are checked when they are asked for. If anything about it is not
 * as it must be, everything is read as if there was no such file, and it goes before anything else is written.
 */
export async function recover({ folder, wholeBelowBytes }: RecoveryOptions): Promise<Recovered> {
  const content = await readFolder(folder);
  const { base, logs, keys, stale } = content;
  for (const path of stale) await unlink(path);
  if (stale.length > 0) await sync(folder);
  const bytes = await bytesOf(folder, content);
  const resumed = keys && bytes >= wholeBelowBytes ? await resume(folder, content) : undefined;
  if (resumed !== undefined) return resumed;
  const recovery = new Recovery(folder);
  try {
    if (base !== undefined) await recovery.readBase(base);
    for (const [i, id] of logs.entries()) await recovery.readLog(id, i === logs.length - 1);
    if (keys) {
      await unlink(join(folder, keysName));
      await sync(folder);
    }
    return recovery.result();
  } catch (error) {
    await recovery.close();
    throw error;
  }
}

/** From where the file of keys ends on; undefined when it is not to be believed. */
async function resume(folder: string, content: FolderContent): Promise<Recovered | undefined> {
  const keys = await readKeyFile(join(folder, keysName));
  if (keys === undefined) return undefined;
  const { logs } = content;
  const recovery = new Recovery(folder);
  try {
    const from = await recovery.recognise(keys, content);
    if (from !== undefined) {
      for (const [i, id] of logs.entries()) if (id >= from) await recovery.readLog(id, i === logs.length - 1);
      return recovery.result();
    }
  } catch {
    // Whoever reads everything says what is wrong.
  }
  await recovery.close();
  return undefined;
}

async function bytesOf(folder: string, { base, logs }: FolderContent): Promise<number> {
  let bytes = 0;
  const names = logs.map(logName);
  if (base !== undefined) names.push(baseName(base));
  for (const name of names) bytes += (await stat(join(folder, name))).size;
  return bytes;
}

class Recovery {
  readonly #folder: string;
  readonly #opened: Segment[] = [];
  #taker: RecordTaker = new StateBuilder();
  /** The last file of which the beginning is known. */
  #begun: Segment | undefined;
  #write = 0;
  #salt: number | undefined;
  #repaired: string | undefined;
  #behind: number | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  result(): Recovered {
    const state = this.#taker.build();
    return { state, salt: this.#salt, write: this.#write, repaired: this.#repaired, behind: this.#behind };
  }

  /** After a failure. */
  async close(): Promise<void> {
    for (const segment of this.#opened) await segment.file.close();
  }

  /**
   * Takes what the file of keys knows, when the files are those it was written of; returns the number of the last of them,
   * from where on to read.
   */
  async recognise(keys: KeyFile, { base, logs }: FolderContent): Promise<number | undefined> {
    const names = logs.map((id) => ({ id, isBase: false }));
    if (base !== undefined) names.unshift({ id: base, isBase: true });
    const segments: Segment[] = [];
    for (const [i, { file, size, live }] of keys.files.entries()) {
      const { id, isBase } = names[i] ?? {};
      if (id === undefined || id !== file.id || isBase !== file.isBase) return undefined;
      const segment = await this.#open(id, join(this.#folder, isBase ? baseName(id) : logName(id)));
      const { size: present } = await segment.file.stat();
      const grows = i === keys.files.length - 1 || isBase;
      if (grows ? present < size : present !== size) return undefined;
      const head = await readFileHead(segment.file);
      if (head?.salt !== keys.salt || head.id !== id || (isBase && head.size !== size)) return undefined;
      if ((await sumOf(segment, size)) !== file.sum) return undefined;
      segment.size = size;
      segment.live = live;
      segments.push(segment);
    }
    const { index, changes, expiring } = keys.build(segments);
    const { oldest, revision } = keys;
    const state = new State({ index, history: new History(oldest, changes), revision, expiring: [...expiring] });
    state.segments = segments;
    this.#taker = new StateResumer(state);
    this.#begun = segments.at(-1);
    this.#write = keys.write;
    this.#salt = keys.salt;
    this.#behind = 0;
    return this.#begun?.id;
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
      this.#taker.add(found.entry, found.head.keyBytes);
      if (found.entry.revision > head.oldest) remembered++;
    }
    if (records.at !== head.size) throw damaged(path, `the record at ${records.at}`);
    this.#taker.segments.push(segment);
    this.#taker.reach(head.revision);
    this.#taker.forget(head.oldest);
    if (remembered !== head.revision - head.oldest) throw damaged(path, 'some of the history');
  }

  async readLog(id: number, last: boolean): Promise<void> {
    const path = join(this.#folder, logName(id));
    const begun = this.#begun?.id === id ? this.#begun : undefined;
    const segment = begun ?? (await this.#open(id, path));
    const head = await readFileHead(segment.file);
    const { size } = await segment.file.stat();
    if (head === undefined && last && size <= fileHeadBytes) {
      // It was being made; nothing had been written to it.
      this.#opened.pop();
      await segment.retire(true);
      return;
    }
    if (head === undefined || head.kind !== 'log' || head.id !== id) throw damaged(path, 'its beginning');
    if (begun === undefined && head.revision !== this.#taker.revision) {
      throw damaged(
        path,
        `what comes before it: it follows revision ${head.revision}, before it ends ${this.#taker.revision}`,
      );
    }
    if (this.#salt !== undefined && head.salt !== this.#salt) throw damaged(path, 'the mark of this store');
    this.#salt = head.salt;
    const records = new RecordReader(segment, head.salt, size, begun?.size);
    let endOfWrite = records.at;
    for (let found = await records.next(); found !== undefined; found = records.take() ?? (await records.next())) {
      this.#take(found, path);
      endOfWrite = records.at - found.entry.bytes + found.head.left;
    }
    if (this.#behind !== undefined) this.#behind += records.at - (begun?.size ?? fileHeadBytes);
    segment.size = records.at;
    if (begun === undefined) this.#taker.segments.push(segment);
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
      this.#taker.forget(head.revision);
      return;
    }
    if (head.revision !== this.#taker.revision + 1) {
      throw damaged(path, `revision ${this.#taker.revision + 1}: ${head.revision} comes instead`);
    }
    this.#taker.add(entry, head.keyBytes);
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
