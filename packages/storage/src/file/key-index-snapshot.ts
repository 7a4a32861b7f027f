import { crc32 } from 'node:zlib';
import { open, type FileHandle } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { OrderedTree, type OrderedView } from '../cacher/ordered-tree.ts';
import { ByteSink, ByteSource } from './byte-sink.ts';
import type { Expiry } from './expiry-queue.ts';
import { fileHeadBytes } from './file-head.ts';
import type { Change } from './history.ts';
import { BlockReader, BlockWriter, flagsOf, writePlace } from './key-blocks.ts';
import { writeAll } from './log-writer.ts';
import type { Entry } from './record.ts';
import type { Segment } from './segment.ts';
import { StoredHistory } from './stored-history.ts';

/*
 * The file of keys: what a store knew of its files at one moment, so that a start need not read them.
 *
 *   head       128 bytes: sums, counts and lengths of what follows, and the moment
 *   blocks     the entries of the index, in order (key-blocks.ts)
 *   starts     u32 for each block: where it begins
 *   tail       the files with how far they were written, the keys that go some time, the history
 *   changes    u32 for each change of the history: where it begins; then two for each: what it holds
 *
 * It says nothing that the files of records do not say, and is believed only while each of them is what it was: one of the
 * same head, with the same last bytes before the place up to which it was known. Behind that place the last of them, and
 * files after it, are read as ever. In all other cases it is as if it was not there.
 */

const headBytes = 128;
const magic = 'MPKEYS';
/** Raised with the layout: another number is not understood. */
const format = 2;
/** The end of what was known of a file of records, by which it is known again. */
const endBytes = 4096;
/** Entries that are written in one turn of the event loop, and what is written to the disk at once. */
const entriesPerTurn = 2000;
const writeBytes = 1 << 20;
/** How much is read and summed up at once. */
const readBytes = 4 << 20;
/** Places in the file are numbers of 32 bits. */
const maxBytes = 2 ** 31;

/** One moment of a store. */
export interface KeyFileContent {
  readonly salt: number;
  /** Number of the last write. */
  readonly write: number;
  readonly revision: number;
  readonly oldest: number;
  /** In order, each with how much of it counts and how much of that somebody may still want. */
  readonly files: readonly CoveredFile<Segment>[];
  readonly view: OrderedView<Entry>;
  /** Of each revision after `oldest`. */
  readonly changes: readonly Change[];
}

export interface CoveredFile<T> {
  readonly file: T;
  readonly size: number;
  readonly live: number;
}

/** A file of records as the file of keys knows it. */
export interface FileMark {
  readonly id: number;
  readonly isBase: boolean;
  /** Sum of its head, and of its last bytes. */
  readonly sum: number;
}

/** What was read; the rest is read when the files have been recognised. */
export interface KeyFile {
  readonly salt: number;
  readonly write: number;
  readonly revision: number;
  readonly oldest: number;
  readonly files: readonly CoveredFile<FileMark>[];
  /** With the files in the order of {@link files}. */
  build(files: readonly Segment[]): KeyFileState;
}

export interface KeyFileState {
  readonly index: OrderedTree<Entry>;
  readonly changes: StoredHistory;
  readonly expiring: readonly Expiry[];
}

/** By what a file of records is known again, up to a size that it has. */
export async function sumOf(segment: Segment, size: number): Promise<number> {
  const from = Math.max(fileHeadBytes, size - endBytes);
  const head = await segment.read(0, fileHeadBytes);
  return crc32(await segment.read(from, size - from), crc32(head));
}

/** Writes all of it; the records must stay where they are meanwhile. False when there would be too much, or it is not wanted any more. */
export async function writeKeyFile(
  file: FileHandle,
  content: KeyFileContent,
  isWanted: () => boolean,
): Promise<boolean> {
  const { salt, write, revision, oldest, view, changes } = content;
  const numbers = new Map(content.files.map(({ file: segment }, i) => [segment, i]));
  const fileOf = (segment: Segment): number => {
    const number = numbers.get(segment);
    if (number === undefined) throw new TypeError(`a record is in a file that is not known: ${segment.path}`);
    return number;
  };
  const sink = new ByteSink();
  let sum = 0;
  let at = headBytes;
  const flush = async (): Promise<void> => {
    const bytes = sink.take();
    sum = crc32(bytes, sum);
    await writeAll(file, bytes, at);
    at += bytes.length;
  };
  const flushIfMuch = async (): Promise<boolean> => {
    if (sink.pending >= writeBytes) await flush();
    else await nextTurn();
    return isWanted() && at < maxBytes;
  };

  const blocks = new BlockWriter(sink, fileOf);
  const expiring: Entry[] = [];
  for (let from = ''; ;) {
    const entries = view.scan(from, undefined, entriesPerTurn);
    for (const entry of entries) {
      blocks.add(entry);
      if (entry.expiresAt !== undefined) expiring.push(entry);
    }
    if (!(await flushIfMuch())) return false;
    const last = entries.at(-1);
    if (last === undefined) break;
    from = `${last.key}\0`;
  }
  const blockBytes = sink.length;
  const { buffer } = Uint32Array.from(blocks.starts);
  sink.bytes(Buffer.from(buffer));
  sink.number(content.files.length);
  for (const { file: segment, size, live } of content.files) {
    sink.byte(segment.path.endsWith('.base') ? 1 : 0);
    sink.number(segment.id);
    sink.number(size);
    sink.number(live);
    sink.double(await sumOf(segment, size));
  }
  sink.number(expiring.length);
  for (const { key, expiresAt } of expiring) {
    sink.text(key);
    sink.double(expiresAt as number);
  }
  const starts = new Uint32Array(changes.length);
  const weights = new Uint32Array(2 * changes.length);
  for (const [i, { entry, previous }] of changes.entries()) {
    starts[i] = headBytes + sink.length;
    weights[2 * i] = entry.key.length;
    weights[2 * i + 1] = previous?.bytes ?? 0;
    // What an earlier change wrote is told there.
    const known = previous !== undefined && previous.revision > oldest;
    sink.byte(flagsOf(entry));
    sink.text(entry.key);
    writePlace(sink, entry, fileOf);
    sink.byte(previous === undefined ? 0 : known ? 1 : 2);
    if (known) sink.number(previous.revision - oldest - 1);
    else if (previous !== undefined) {
      sink.byte(flagsOf(previous));
      writePlace(sink, previous, fileOf);
    }
    if (i % entriesPerTurn === 0 && !(await flushIfMuch())) return false;
  }
  sink.bytes(Buffer.from(starts.buffer));
  sink.bytes(Buffer.from(weights.buffer));
  await flush();

  const head = Buffer.alloc(headBytes);
  head.write(magic, 4, 'latin1');
  head.writeUInt32LE(format, 12);
  head.writeDoubleLE(revision, 16);
  head.writeDoubleLE(oldest, 24);
  head.writeUInt32LE(salt, 32);
  head.writeUInt32LE(write, 36);
  head.writeUInt32LE(blocks.count, 40);
  head.writeUInt32LE(blocks.starts.length, 44);
  head.writeDoubleLE(blockBytes, 48);
  head.writeDoubleLE(at, 56);
  head.writeUInt32LE(sum, 64);
  head[68] = view.isWide ? 1 : 0;
  head.writeUInt32LE(crc32(head.subarray(4)), 0);
  await writeAll(file, head, 0);
  return at < maxBytes;
}

/** Undefined when there is none, it is of another format, or not whole. */
export async function readKeyFile(path: string): Promise<KeyFile | undefined> {
  const bytes = await readWhole(path);
  if (bytes === undefined || bytes.toString('latin1', 4, 4 + magic.length) !== magic) return undefined;
  const oldest = bytes.readDoubleLE(24);
  const count = bytes.readUInt32LE(40);
  const blockBytes = bytes.readDoubleLE(48);
  const startBytes = 4 * bytes.readUInt32LE(44);
  const blocks = bytes.subarray(headBytes, headBytes + blockBytes);
  const revision = bytes.readDoubleLE(16);
  const source = new ByteSource(bytes, headBytes + blockBytes);
  const starts = numbersAt(bytes, source.at, startBytes / 4);
  source.at += startBytes;
  const files = Array.from({ length: source.number() }, () => {
    const isBase = source.byte() === 1;
    const id = source.number();
    const size = source.number();
    const live = source.number();
    return { file: { id, isBase, sum: source.double() }, size, live };
  });
  const expiring = Array.from({ length: source.number() }, () => ({ key: source.text(), at: source.double() }));
  const length = revision - oldest;
  const changeStarts = numbersAt(bytes, bytes.length - 12 * length, length);
  const weights = numbersAt(bytes, bytes.length - 8 * length, 2 * length);
  const build = (segments: readonly Segment[]): KeyFileState => {
    const changes = new StoredHistory({ bytes, starts: changeStarts, weights, oldest, files: segments });
    const known = (of: number): Entry | undefined => (of > oldest ? changes.entry(of) : undefined);
    const runs = new BlockReader({ blocks, count, files: segments, known }).runs(starts);
    return { index: OrderedTree.fromRuns(runs, bytes[68] === 1), changes, expiring };
  };
  return { salt: bytes.readUInt32LE(32), write: bytes.readUInt32LE(36), revision, oldest, files, build };
}

/** Numbers of 32 bits, wherever they begin. */
function numbersAt({ buffer, byteOffset }: Buffer, at: number, length: number): Uint32Array {
  const from = byteOffset + at;
  return new Uint32Array(buffer.slice(from, from + 4 * length));
}

/** Everything, when its sums are right. While a piece is summed up, the next is being read. */
async function readWhole(path: string): Promise<Buffer | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const { size } = await file.stat();
    if (size < headBytes || size > maxBytes) return undefined;
    const bytes = Buffer.allocUnsafeSlow(size);
    const read = async (from: number): Promise<Buffer> => {
      const piece = bytes.subarray(from, from + readBytes);
      const { bytesRead } = await file.read(piece, 0, piece.length, from);
      return piece.subarray(0, bytesRead);
    };
    let sum = 0;
    let coming = read(0);
    for (let from = 0; from < size; from += readBytes) {
      const piece = await coming;
      if (piece.length !== Math.min(readBytes, size - from)) return undefined;
      if (from + readBytes < size) coming = read(from + readBytes);
      // Whoever comes so far is told.
      coming.catch(() => undefined);
      if (from === 0) {
        if (crc32(piece.subarray(4, headBytes)) !== piece.readUInt32LE(0)) return undefined;
        if (piece.readUInt32LE(12) !== format || piece.readDoubleLE(56) !== size) return undefined;
        sum = crc32(piece.subarray(headBytes), sum);
      } else sum = crc32(piece, sum);
    }
    return sum === bytes.readUInt32LE(64) ? bytes : undefined;
  } catch {
    // Whatever the disk has against it: the files of records say the same.
    return undefined;
  } finally {
    await file.close();
  }
}
