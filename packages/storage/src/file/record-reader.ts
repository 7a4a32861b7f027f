import { fileHeadBytes } from './file-head.ts';
import { type Entry, headBytes, isWhole, lengthOf, readHead, type RecordHead } from './record.ts';
import type { Segment } from './segment.ts';

export interface Found {
  readonly head: RecordHead;
  readonly entry: Entry;
}

/** How much is read at a time; a larger record makes it more. */
const chunkBytes = 4 << 20;
/** Room before a piece for the record that the one before it cut. */
const headroom = 64 << 10;

/**
 * Goes through a file record by record, and stops at the first that is not whole. While records are taken from one piece of
 * the file, the next is being read.
 */
export class RecordReader {
  /** The end of the last whole record. */
  at: number;
  readonly #segment: Segment;
  readonly #salt: number;
  readonly #end: number;
  #chunk: Buffer = Buffer.alloc(0);
  #chunkAt = 0;
  /** The memory of the chunk, the memory of the one before it, and the next one, which begins after its headroom. */
  #whole: Buffer = this.#chunk;
  #spare: Buffer = this.#chunk;
  #coming: Promise<Buffer> | undefined;

  constructor(segment: Segment, salt: number, end: number, from = fileHeadBytes) {
    this.at = from;
    this.#segment = segment;
    this.#salt = salt;
    this.#end = end;
  }

  async next(): Promise<Found | undefined> {
    if (!(await this.#have(headBytes))) return undefined;
    const head = readHead(this.#chunk, this.at - this.#chunkAt);
    if (head === undefined || !(await this.#have(lengthOf(head)))) return undefined;
    return this.take();
  }

  /** The next one, when it is in memory; undefined: ask {@link next}. */
  take(): Found | undefined {
    const start = this.at - this.#chunkAt;
    const head = readHead(this.#chunk, start);
    if (head === undefined) return undefined;
    const bytes = lengthOf(head);
    if (!isWhole(this.#chunk, start, bytes, this.#salt)) return undefined;
    const entry: Entry = {
      key: this.#chunk.toString('utf8', start + headBytes, start + headBytes + head.keyBytes),
      kind: head.kind,
      revision: head.revision,
      expiresAt: head.expiresAt,
      bytes,
      segment: this.#segment,
      offset: this.at,
      dead: false,
    };
    this.at += bytes;
    return { head, entry };
  }

  async #have(bytes: number): Promise<boolean> {
    const read = this.#chunkAt + this.#chunk.length;
    if (this.at + bytes <= read) return true;
    if (this.at + bytes > this.#end) return false;
    const rest = this.#chunk.subarray(this.at - this.#chunkAt);
    const coming = await this.#coming;
    this.#coming = undefined;
    if (coming !== undefined && rest.length <= headroom && rest.length + coming.length - headroom >= bytes) {
      // The beginning of the record that was cut goes before the rest of it.
      const begin = headroom - rest.length;
      rest.copy(coming, begin);
      this.#spare = this.#whole;
      this.#whole = coming;
      this.#chunk = coming.subarray(begin);
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
    this.#coming = this.#segment.readInto(room.subarray(headroom), from).then(() => room);
    // Whoever comes so far is told; after a damage nobody does.
    this.#coming.catch(() => undefined);
  }
}
