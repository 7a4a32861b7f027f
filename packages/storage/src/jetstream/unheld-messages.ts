import type { StoredMessage } from './stream-client.ts';
import { recordOf } from './stream-records.ts';
import type { StreamSubjects } from './stream-subjects.ts';

/** Tombstones beyond this number are not counted. */
const maxTombstones = 100_000;

/**
 * The messages of a stream that are not the value of a key: tombstones that are not swept yet, and internal messages. Counts
 * what a reader of the whole stream has received, never more than the stream should have.
 */
export class UnheldMessages {
  readonly #subjects: StreamSubjects;
  /** Sequences of tombstones by subject, ascending. */
  readonly #tombstones = new Map<string, number>();
  readonly #internal = new Set<string>();

  constructor({ subjects }: { readonly subjects: StreamSubjects }) {
    this.#subjects = subjects;
  }

  get size(): number {
    return this.#tombstones.size + this.#internal.size;
  }

  /** Messages in the order of the stream. */
  observe(messages: readonly StoredMessage[]): void {
    for (const message of messages) {
      const { subject, sequence } = message;
      if (this.#subjects.isInternal(subject)) {
        this.#internal.add(subject);
        continue;
      }
      this.#tombstones.delete(subject);
      if (recordOf(message).removed && this.#tombstones.size < maxTombstones) this.#tombstones.set(subject, sequence);
    }
  }

  /** Forgets the tombstones up to the sequence, which may have been swept. */
  forget(compacted: number): void {
    for (const [subject, sequence] of this.#tombstones) {
      if (sequence > compacted) return;
      this.#tombstones.delete(subject);
    }
  }
}
