import { ByteReader } from './byte-writer.ts';
import type { Change, LazyChanges } from './history.ts';
import { readLocation } from './index-blocks.ts';
import type { Entry } from './record.ts';
import type { Segment } from './segment.ts';

export interface SnapshotHistoryOptions {
  readonly bytes: Buffer;
  /** Offset of each change. */
  readonly starts: Uint32Array;
  /** For each change the length of its key and the bytes of the replaced record. */
  readonly weights: Uint32Array;
  readonly oldest: number;
  readonly files: readonly Segment[];
}

/**
 * The history in a key index snapshot, decoded on access. Each entry is created once and shared by the history, the later
 * change that replaced it, and the index.
 */
export class SnapshotHistory implements LazyChanges {
  readonly length: number;
  readonly #options: SnapshotHistoryOptions;
  readonly #entries: (Entry | undefined)[];
  #dropped = 0;

  constructor(options: SnapshotHistoryOptions) {
    this.#options = options;
    this.length = options.starts.length;
    this.#entries = Array.from({ length: this.length });
  }

  /** The record of a revision; undefined when it is not in the history. */
  entry(revision: number): Entry | undefined {
    const index = revision - this.#options.oldest - 1;
    if (index < this.#dropped) return undefined;
    return (this.#entries[index] ??= this.#read(index, new ByteReader(this.#options.bytes)));
  }

  change(revision: number): Change {
    const { oldest, bytes, files } = this.#options;
    const index = revision - oldest - 1;
    const source = new ByteReader(bytes);
    const read = this.#read(index, source);
    const entry = (this.#entries[index] ??= read);
    const how = source.byte();
    if (how === 0) return { entry, previous: undefined };
    if (how === 2) return { entry, previous: readLocation(source, source.byte(), entry.key, files) };
    const before = source.number();
    // The earlier change is dropped: its record is decoded for this change only.
    const previous = this.entry(oldest + before + 1) ?? this.#read(before, new ByteReader(bytes));
    return { entry, previous };
  }

  weight(revision: number): [number, number] {
    const index = 2 * (revision - this.#options.oldest - 1);
    const { weights } = this.#options;
    return [weights[index] as number, weights[index + 1] as number];
  }

  drop(revision: number): void {
    const end = Math.min(revision - this.#options.oldest, this.length);
    while (this.#dropped < end) this.#entries[this.#dropped++] = undefined;
  }

  /** Decodes the entry of a change and leaves the reader behind it. */
  #read(index: number, source: ByteReader): Entry {
    source.at = this.#options.starts[index] as number;
    const flags = source.byte();
    return readLocation(source, flags, source.text(), this.#options.files);
  }
}
