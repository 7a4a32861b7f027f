import { ByteSource } from './byte-sink.ts';
import type { Change, StoredChanges } from './history.ts';
import { readPlace } from './key-blocks.ts';
import type { Entry } from './record.ts';
import type { Segment } from './segment.ts';

export interface StoredHistoryOptions {
  readonly bytes: Buffer;
  /** Where each change begins. */
  readonly starts: Uint32Array;
  /** Of each change the length of its key, and of the record that was replaced. */
  readonly weights: Uint32Array;
  readonly oldest: number;
  readonly files: readonly Segment[];
}

/**
 * The history in a file of keys. Each record is made once, whoever comes to it first: the history, a later change that
 * replaced it, or the index that holds it.
 */
export class StoredHistory implements StoredChanges {
  readonly length: number;
  readonly #options: StoredHistoryOptions;
  readonly #entries: (Entry | undefined)[];
  #forgotten = 0;

  constructor(options: StoredHistoryOptions) {
    this.#options = options;
    this.length = options.starts.length;
    this.#entries = Array.from({ length: this.length });
  }

  /** What a revision wrote; undefined: it is not in the history. */
  entry(revision: number): Entry | undefined {
    const index = revision - this.#options.oldest - 1;
    if (index < this.#forgotten) return undefined;
    return (this.#entries[index] ??= this.#read(index, new ByteSource(this.#options.bytes)));
  }

  change(revision: number): Change {
    const { oldest, bytes, files } = this.#options;
    const index = revision - oldest - 1;
    const source = new ByteSource(bytes);
    const read = this.#read(index, source);
    const entry = (this.#entries[index] ??= read);
    const how = source.byte();
    if (how === 0) return { entry, previous: undefined };
    if (how === 2) return { entry, previous: readPlace(source, source.byte(), entry.key, files) };
    const before = source.number();
    // Forgotten as a change, it is made for this one alone.
    const previous = this.entry(oldest + before + 1) ?? this.#read(before, new ByteSource(bytes));
    return { entry, previous };
  }

  weight(revision: number): [number, number] {
    const index = 2 * (revision - this.#options.oldest - 1);
    const { weights } = this.#options;
    return [weights[index] as number, weights[index + 1] as number];
  }

  forget(revision: number): void {
    const end = Math.min(revision - this.#options.oldest, this.length);
    while (this.#forgotten < end) this.#entries[this.#forgotten++] = undefined;
  }

  /** The entry of a change; the source stands behind it then. */
  #read(index: number, source: ByteSource): Entry {
    source.at = this.#options.starts[index] as number;
    const flags = source.byte();
    return readPlace(source, flags, source.text(), this.#options.files);
  }
}
