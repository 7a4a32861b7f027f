import type { StorageEvent } from '../interface.ts';
import { ConditionVariable } from '../condition-variable.ts';

/** Bytes of an event in addition to its key and value. */
const eventOverhead = 100;

/**
 * The newest events in memory, shared by all watches: a watch has a revision as its position, not a queue. Every revision
 * has exactly one event, so the index of an event follows from its revision. Watches behind the buffer read the history
 * from the segments. Events leave it when it exceeds `maxBytes`, and after one to two calls of {@link dropAged}.
 */
export class EventBuffer {
  readonly changed = new ConditionVariable();
  readonly #maxBytes: number;
  #events: StorageEvent[] = [];
  #start = 0;
  #bytes = 0;
  #revision: number;
  /** The newest revision at the last call of {@link dropAged}. */
  #agedRevision = 0;

  constructor(revision: number, maxBytes: number) {
    this.#revision = revision;
    this.#maxBytes = maxBytes;
  }

  /** Revision of the newest event. */
  get revision(): number {
    return this.#revision;
  }

  /** Appends events with consecutive revisions. */
  publish(events: readonly StorageEvent[]): void {
    for (const event of events) {
      this.#events.push(event);
      this.#bytes += cost(event);
      this.#revision = event.revision;
    }
    while (this.#bytes > this.#maxBytes) this.#dropOldest();
    this.#compact();
    if (events.length > 0) this.changed.notifyAll();
  }

  /** Drops the events that were there at the previous call, so that an idle store does not hold a second copy of its last writes. */
  dropAged(): void {
    while (
      this.#start < this.#events.length &&
      (this.#events[this.#start] as StorageEvent).revision <= this.#agedRevision
    )
      this.#dropOldest();
    this.#agedRevision = this.#revision;
    this.#compact();
  }

  #dropOldest(): void {
    this.#bytes -= cost(this.#events[this.#start] as StorageEvent);
    // Frees the value immediately; the array is copied when half of it is empty.
    this.#events[this.#start++] = undefined as never;
  }

  #compact(): void {
    if (this.#start <= 1024 || this.#start * 2 <= this.#events.length) return;
    this.#events.splice(0, this.#start);
    this.#start = 0;
  }

  /** At most `limit` events after a revision; undefined when the first of them is no longer in memory. */
  after(revision: number, limit: number): StorageEvent[] | undefined {
    const held = this.#events.length - this.#start;
    const skipped = revision - (this.#revision - held);
    if (skipped < 0) return undefined;
    const first = this.#start + skipped;
    return this.#events.slice(first, first + limit);
  }
}

function cost({ key, value }: StorageEvent): number {
  return eventOverhead + key.length + (value?.length ?? 0);
}
