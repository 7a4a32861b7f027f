import { fileHeaderBytes } from './file-header.ts';
import {
  type Entry,
  recordHeaderBytes,
  isIntact,
  recordLength,
  readRecordHeader,
  type RecordHeader,
} from './record.ts';
import type { Segment } from './segment.ts';

export interface ScannedRecord {
  readonly header: RecordHeader;
  readonly entry: Entry;
}

/** Bytes per read; more for a larger record. */
const chunkBytes = 4 << 20;
/** Space before a chunk for the first part of a record that the previous chunk split. */
const headroom = 64 << 10;

/**
 * Scans a segment record by record and stops at the first one that is not intact. The next chunk is read while records of
 * the current one are decoded (sequential recovery: docs/adr/0064-sequential-recovery.md).
 */
export class RecordReader {
  /** The end of the last intact record. */
  at: number;
  readonly #segment: Segment;
  readonly #salt: number;
  readonly #end: number;
  #chunk: Buffer = Buffer.alloc(0);
  #chunkAt = 0;
  /** Memory of the current chunk, of the previous chunk (reused), and the next chunk, which starts after its headroom. */
  #whole: Buffer = this.#chunk;
  #spare: Buffer = this.#chunk;
  #nextRead: Promise<Buffer> | undefined;

  constructor(segment: Segment, salt: number, end: number, from = fileHeaderBytes) {
    this.at = from;
    this.#segment = segment;
    this.#salt = salt;
    this.#end = end;
  }

  async next(): Promise<ScannedRecord | undefined> {
    if (!(await this.#have(recordHeaderBytes))) return undefined;
    const header = readRecordHeader(this.#chunk, this.at - this.#chunkAt);
    if (header === undefined || !(await this.#have(recordLength(header)))) return undefined;
    return this.take();
  }

  /** The next record when it is in memory; undefined: call {@link next}. */
  take(): ScannedRecord | undefined {
    const start = this.at - this.#chunkAt;
    const header = readRecordHeader(this.#chunk, start);
    if (header === undefined) return undefined;
    const bytes = recordLength(header);
    if (!isIntact(this.#chunk, start, bytes, this.#salt)) return undefined;
    const entry: Entry = {
      key: this.#chunk.toString('utf8', start + recordHeaderBytes, start + recordHeaderBytes + header.keyBytes),
      kind: header.kind,
      revision: header.revision,
      expiresAt: header.expiresAt,
      bytes,
      segment: this.#segment,
      offset: this.at,
      dead: false,
    };
    this.at += bytes;
    return { header, entry };
  }

  async #have(bytes: number): Promise<boolean> {
    const read = this.#chunkAt + this.#chunk.length;
    if (this.at + bytes <= read) return true;
    if (this.at + bytes > this.#end) return false;
    const rest = this.#chunk.subarray(this.at - this.#chunkAt);
    const nextChunk = await this.#nextRead;
    this.#nextRead = undefined;
    if (nextChunk !== undefined && rest.length <= headroom && rest.length + nextChunk.length - headroom >= bytes) {
      // Copies the first part of the split record before the rest of it.
      const begin = headroom - rest.length;
      rest.copy(nextChunk, begin);
      this.#spare = this.#whole;
      this.#whole = nextChunk;
      this.#chunk = nextChunk.subarray(begin);
    } else {
      this.#chunk = await this.#segment.read(this.at, Math.min(Math.max(chunkBytes, bytes), this.#end - this.at));
    }
    this.#chunkAt = this.at;
    this.#readAhead();
    return true;
  }

  #readAhead(): void {
    const from = this.#chunkAt + this.#chunk.length;
    const bytes = headroom + Math.min(chunkBytes, this.#end - from);
    if (bytes === headroom) return;
    const room = this.#spare.length >= bytes ? this.#spare.subarray(0, bytes) : Buffer.allocUnsafeSlow(bytes);
    this.#nextRead = this.#segment.readInto(room.subarray(headroom), from).then(() => room);
    // The rejection is observed when the chunk is awaited, which does not happen after damage.
    this.#nextRead.catch(() => undefined);
  }
}
