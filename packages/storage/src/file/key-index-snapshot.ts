import { crc32 } from 'node:zlib';
import { open, type FileHandle } from 'node:fs/promises';
import { OrderedTree, type OrderedView } from '../ordered-tree.ts';
import { ByteReader } from './byte-writer.ts';
import type { Expiry } from './expiry-queue.ts';
import { fileHeaderBytes } from './file-header.ts';
import type { Change } from './history.ts';
import { BlockReader } from './index-blocks.ts';
import type { Entry } from './record.ts';
import type { Segment } from './segment.ts';
import { SnapshotHistory } from './snapshot-history.ts';

/*
 * The key index snapshot: the keys, the positions of their records and the history of a store at one moment, so that
 * recovery need not replay all segments.
 *
 *   header   128 bytes: checksums, counts and lengths of the following parts, revisions
 *   blocks   the entries of the index in key order (index-blocks.ts)
 *   starts   u32 per block: its offset
 *   tail     the segments with their sizes and fingerprints, the expiry times, the history
 *   changes  u32 per change of the history: its offset; then two u32 per change: length of its key, bytes of the replaced
 *            record
 *
 * It contains nothing that the segments do not contain. It is only used while each segment has the same header and the
 * same last bytes before the recorded size. The bytes after that size, and later segments, are replayed. A snapshot that
 * does not match is ignored.
 */

export const snapshotHeaderBytes = 128;
export const magic = 'MPKEYS';
/** Version of the layout; snapshots of other versions are ignored. */
export const format = 2;
/** Offsets in the file are numbers of 32 bits. */
export const maxBytes = 2 ** 31;
/** The last bytes of a segment that are part of its fingerprint. */
const fingerprintBytes = 4096;
/** Bytes per read. */
const readBytes = 4 << 20;

/** The state of a store at one moment. */
export interface KeyIndexContent {
  readonly salt: number;
  /** Number of the last write. */
  readonly write: number;
  readonly revision: number;
  readonly oldest: number;
  /** In order, each with its size and the bytes of its live records. */
  readonly files: readonly CoveredFile<Segment>[];
  readonly view: OrderedView<Entry>;
  /** One for each revision after `oldest`. */
  readonly changes: readonly Change[];
}

export interface CoveredFile<T> {
  readonly file: T;
  readonly size: number;
  readonly live: number;
}

/** A segment as the snapshot describes it. */
export interface FileFingerprint {
  readonly id: number;
  readonly isBase: boolean;
  /** Checksum of its header and its last bytes. */
  readonly sum: number;
}

/** A snapshot that was read; it is decoded when the segments match. */
export interface KeyIndexSnapshot {
  readonly salt: number;
  readonly write: number;
  readonly revision: number;
  readonly oldest: number;
  readonly files: readonly CoveredFile<FileFingerprint>[];
  /** `files`: the segments in the order of {@link files}. */
  build(files: readonly Segment[]): RestoredKeyIndex;
}

export interface RestoredKeyIndex {
  readonly index: OrderedTree<Entry>;
  readonly changes: SnapshotHistory;
  readonly expiring: readonly Expiry[];
}

/** Identifies the content of a segment up to a size. */
export async function fingerprintOf(segment: Segment, size: number): Promise<number> {
  const from = Math.max(fileHeaderBytes, size - fingerprintBytes);
  const header = await segment.read(0, fileHeaderBytes);
  return crc32(await segment.read(from, size - from), crc32(header));
}

/** Undefined when it does not exist, has another version, or is damaged. */
export async function readKeyIndexSnapshot(path: string): Promise<KeyIndexSnapshot | undefined> {
  const bytes = await readWhole(path);
  if (bytes === undefined || !isKeyIndexHeader(bytes)) return undefined;
  const oldest = bytes.readDoubleLE(24);
  const count = bytes.readUInt32LE(40);
  const blockBytes = bytes.readDoubleLE(48);
  const startBytes = 4 * bytes.readUInt32LE(44);
  const blocks = bytes.subarray(snapshotHeaderBytes, snapshotHeaderBytes + blockBytes);
  const revision = bytes.readDoubleLE(16);
  const source = new ByteReader(bytes, snapshotHeaderBytes + blockBytes);
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
  const build = (segments: readonly Segment[]): RestoredKeyIndex => {
    const changes = new SnapshotHistory({ bytes, starts: changeStarts, weights, oldest, files: segments });
    const known = (of: number): Entry | undefined => (of > oldest ? changes.entry(of) : undefined);
    const runs = new BlockReader({ blocks, count, files: segments, known }).runs(starts);
    return { index: OrderedTree.fromRuns(runs, bytes[68] === 1), changes, expiring };
  };
  const write = bytes.readUInt32LE(36) + bytes.readUInt32LE(72) * 2 ** 32;
  return { salt: bytes.readUInt32LE(32), write, revision, oldest, files, build };
}

/** Copies numbers of 32 bits from an unaligned offset. */
function numbersAt({ buffer, byteOffset }: Buffer, at: number, length: number): Uint32Array {
  const from = byteOffset + at;
  return new Uint32Array(buffer.slice(from, from + 4 * length));
}

/** Whether a file starts like a snapshot, of any version. */
export const isKeyIndexHeader = (head: Buffer): boolean => head.toString('latin1', 4, 4 + magic.length) === magic;

/** The file when its checksums match. The next piece is read while the checksum of the current one is computed. */
async function readWhole(path: string): Promise<Buffer | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const { size } = await file.stat();
    if (size < snapshotHeaderBytes || size > maxBytes) return undefined;
    const bytes = Buffer.allocUnsafeSlow(size);
    const read = async (from: number): Promise<Buffer> => {
      const piece = bytes.subarray(from, from + readBytes);
      const { bytesRead } = await file.read(piece, 0, piece.length, from);
      return piece.subarray(0, bytesRead);
    };
    let sum = 0;
    let nextRead = read(0);
    for (let from = 0; from < size; from += readBytes) {
      const piece = await nextRead;
      if (piece.length !== Math.min(readBytes, size - from)) return undefined;
      if (from + readBytes < size) nextRead = read(from + readBytes);
      // The rejection is observed when the piece is awaited.
      nextRead.catch(() => undefined);
      if (from === 0) {
        if (crc32(piece.subarray(4, snapshotHeaderBytes)) !== piece.readUInt32LE(0)) return undefined;
        if (piece.readUInt32LE(12) !== format || piece.readDoubleLE(56) !== size) return undefined;
        sum = crc32(piece.subarray(snapshotHeaderBytes), sum);
      } else sum = crc32(piece, sum);
    }
    return sum === bytes.readUInt32LE(64) ? bytes : undefined;
  } catch {
    // A snapshot that cannot be read is ignored: the segments contain the same.
    return undefined;
  } finally {
    await file.close();
  }
}
