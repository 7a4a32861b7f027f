import type { LazyRun } from '../ordered-tree.ts';
import { ByteReader, type ByteWriter } from './byte-writer.ts';
import { type Entry, maxKeyBytes, type RecordKind } from './record.ts';
import type { Segment } from './segment.ts';

/*
 * Entries in key order, in blocks that can be decoded separately. Each entry:
 *
 *   flags (kind, has expiry time) │ bytes of the key shared with the previous key │ remaining bytes of the key │ revision
 *   │ length of the record │ index of its segment │ offset in the segment │ expiry time
 */

/** Entries of a block, which is decoded as a whole. */
const blockEntries = 24;

const kinds: readonly RecordKind[] = ['create', 'update', 'delete'];
const expires = 4;

/** Encodes the fields of an entry after its key. */
export function writeLocation(sink: ByteWriter, entry: Entry, fileOf: (segment: Segment) => number): void {
  sink.number(entry.revision);
  sink.number(entry.bytes);
  sink.number(fileOf(entry.segment));
  sink.number(entry.offset);
  if (entry.expiresAt !== undefined) sink.double(entry.expiresAt);
}

export function entryFlags(entry: Entry): number {
  return kinds.indexOf(entry.kind) | (entry.expiresAt === undefined ? 0 : expires);
}

/** Decodes the fields after the key. */
export function readLocation(source: ByteReader, flags: number, key: string, files: readonly Segment[]): Entry {
  const revision = source.number();
  const bytes = source.number();
  const segment = files[source.number()] as Segment;
  const offset = source.number();
  const expiresAt = (flags & expires) === 0 ? undefined : source.double();
  return { key, kind: kinds[flags & 3] as RecordKind, revision, expiresAt, bytes, segment, offset, dead: false };
}

/** Encodes blocks; entries are added in key order. */
export class BlockWriter {
  /** Offset of each block. */
  readonly starts: number[] = [];
  readonly #sink: ByteWriter;
  readonly #fileOf: (segment: Segment) => number;
  readonly #begin: number;
  #count = 0;
  #key: Buffer = Buffer.alloc(maxKeyBytes);
  #before: Buffer = Buffer.alloc(maxKeyBytes);
  #beforeBytes = 0;

  constructor(sink: ByteWriter, fileOf: (segment: Segment) => number) {
    this.#sink = sink;
    this.#fileOf = fileOf;
    this.#begin = sink.length;
  }

  get count(): number {
    return this.#count;
  }

  add(entry: Entry): void {
    const sink = this.#sink;
    const key = this.#key;
    const before = this.#before;
    const length = key.write(entry.key, 0);
    let shared = 0;
    if (this.#count++ % blockEntries === 0) this.starts.push(sink.length - this.#begin);
    else {
      const end = Math.min(length, this.#beforeBytes);
      while (shared < end && key[shared] === before[shared]) shared++;
    }
    sink.byte(entryFlags(entry));
    sink.number(shared);
    sink.number(length - shared);
    sink.bytes(key.subarray(shared, length));
    writeLocation(sink, entry, this.#fileOf);
    this.#before = key;
    this.#beforeBytes = length;
    this.#key = before;
  }
}

export interface BlockReaderOptions {
  readonly blocks: Buffer;
  readonly count: number;
  readonly files: readonly Segment[];
  /** Entries that exist already, by revision. */
  readonly known: (revision: number) => Entry | undefined;
}

/** Decodes the first key of each block, and the rest of a block on access. */
export class BlockReader {
  readonly #options: BlockReaderOptions;
  readonly #key = Buffer.alloc(maxKeyBytes);

  constructor(options: BlockReaderOptions) {
    this.#options = options;
  }

  runs(starts: Uint32Array): LazyRun<Entry>[] {
    const { count } = this.#options;
    return Array.from(starts, (start, i) => {
      const size = Math.min(blockEntries, count - i * blockEntries);
      return { first: this.#first(start), size, make: () => this.#read(start, size) };
    });
  }

  #first(start: number): string {
    const source = new ByteReader(this.#options.blocks, start + 2);
    return source.text();
  }

  #read(start: number, size: number): Entry[] {
    const { blocks, files, known } = this.#options;
    const source = new ByteReader(blocks, start);
    const key = this.#key;
    const entries: Entry[] = [];
    for (let i = 0; i < size; i++) {
      const flags = source.byte();
      const shared = source.number();
      const added = source.number();
      blocks.copy(key, shared, source.at, source.at + added);
      source.at += added;
      const entry = readLocation(source, flags, key.toString('utf8', 0, shared + added), files);
      entries.push(known(entry.revision) ?? entry);
    }
    return entries;
  }
}
