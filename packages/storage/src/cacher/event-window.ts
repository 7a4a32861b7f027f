import { CompactedError } from '../errors.ts';
import type { CachedEntry } from './cached-entry.ts';
import { CachedEvent } from './cached-event.ts';
import { FrameBudget } from './frame-memo.ts';
import { inScope, resourcePrefixOf } from './scope.ts';

export interface EventWindowOptions {
  /** Events beyond this many bytes are forgotten, however young. */
  readonly maxBytes: number;
  /** Events younger than this are kept as long as `maxBytes` allows. */
  readonly minAgeSeconds: number;
}

/** These many latest events stay whatever their age, so that a quiet store does not send its clients away. */
const minEvents = 1000;
/** Old events dropped per new one: the window shrinks twice as fast as it grows, without ever holding the loop. */
const dropPerEvent = 3;

/** What one resource prefix has in the store and in the window. */
interface ResourceRecord {
  keys: number;
  /** Sequence of its latest event; −1: none. */
  latest: number;
}

/**
 * The latest events, in order, from `oldestRevision` (exclusive) on without a gap.
 *
 * A queue with a moving head. Events of one resource are chained backwards by their sequence numbers, so that a
 * subscription that starts late reads the events of its own resource, not those of the whole shard. Numbers and not
 * references: a reference would keep forgotten events alive.
 */
export class EventWindow {
  readonly #options: EventWindowOptions;
  readonly #onForgotten: (entry: CachedEntry) => void;
  readonly #frames = new FrameBudget();
  readonly #resources = new Map<string, ResourceRecord>();
  #events: (CachedEvent | undefined)[] = [];
  #head = 0;
  /** Sequence of `#events[0]`. */
  #base = 0;
  #bytes = 0;
  #oldestRevision = 0;

  /** `onForgotten` is told of each replaced or removed entry when the event that did it leaves the window. */
  constructor(options: EventWindowOptions, onForgotten: (entry: CachedEntry) => void) {
    this.#options = options;
    this.#onForgotten = onForgotten;
  }

  /** Whoever has seen everything up to here can be told everything that came later. */
  get oldestRevision(): number {
    return this.#oldestRevision;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get frameBytes(): number {
    return this.#frames.bytes;
  }

  get length(): number {
    return this.#events.length - this.#head;
  }

  /** Sequence of the oldest event, or the next one's when there is none. */
  get firstSequence(): number {
    return this.#base + this.#head;
  }

  /** Sequence that the next event will have. */
  get nextSequence(): number {
    return this.#base + this.#events.length;
  }

  get resources(): ReadonlyMap<string, { readonly keys: number }> {
    return this.#resources;
  }

  /** Forgets everything: the content was loaded at `revision` and has so many keys of each resource. */
  reset(revision: number, resources: ReadonlyMap<string, number>): void {
    for (let i = this.#head; i < this.#events.length; i++) {
      const previous = this.#events[i]?.previous;
      if (previous !== undefined) this.#onForgotten(previous);
    }
    this.#base = this.nextSequence;
    this.#events = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#oldestRevision = revision;
    this.#resources.clear();
    for (const [resource, keys] of resources) this.#resources.set(resource, { keys, latest: -1 });
  }

  append(
    current: CachedEntry | undefined,
    previous: CachedEntry | undefined,
    revision: number,
    second: number,
  ): CachedEvent {
    const key = (current ?? previous)?.key ?? '';
    const record = this.#record(resourcePrefixOf(key) ?? key);
    if (previous === undefined) record.keys++;
    if (current === undefined) record.keys--;
    const sequence = this.nextSequence;
    const olderSequence = record.latest;
    const event = new CachedEvent({
      current,
      previous,
      revision,
      sequence,
      olderSequence,
      second,
      frames: this.#frames,
    });
    record.latest = sequence;
    this.#events.push(event);
    this.#bytes += event.bytes;
    return event;
  }

  /** Forgets what is too old or too much. Called after each revision, so that no revision is cut in two. */
  trim(second: number): void {
    const { maxBytes, minAgeSeconds } = this.#options;
    for (let dropped = 0; this.length > 0; dropped++) {
      const oldest = this.#events[this.#head] as CachedEvent;
      const tooMuch = this.#bytes > maxBytes;
      const tooOld = second - oldest.second > minAgeSeconds && this.length > minEvents && dropped < dropPerEvent;
      // The rest of a revision that was begun must follow.
      if (!tooMuch && !tooOld && oldest.revision > this.#oldestRevision) break;
      this.#drop(oldest);
    }
    this.#compactQueue();
  }

  /** Forgets everything up to `revision`. */
  compact(revision: number): void {
    for (;;) {
      const oldest = this.#events[this.#head];
      if (oldest === undefined || oldest.revision > revision) break;
      this.#drop(oldest);
    }
    this.#oldestRevision = Math.max(this.#oldestRevision, revision);
    this.#compactQueue();
  }

  /** Events of the scope with a revision in (after, upTo], oldest first. Throws CompactedError. */
  since(scope: string, after: number, upTo = Infinity): CachedEvent[] {
    if (after < this.#oldestRevision) throw new CompactedError(after, this.#oldestRevision);
    const resource = resourcePrefixOf(scope);
    return resource === undefined
      ? this.#sinceOfAll(scope, after, upTo)
      : this.#sinceOfResource(resource, scope, after, upTo);
  }

  /** The event of a sequence number, while it is in the window. */
  at(sequence: number): CachedEvent | undefined {
    const index = sequence - this.#base;
    return index >= this.#head ? this.#events[index] : undefined;
  }

  #sinceOfResource(resource: string, scope: string, after: number, upTo: number): CachedEvent[] {
    const found: CachedEvent[] = [];
    let sequence = this.#resources.get(resource)?.latest ?? -1;
    for (;;) {
      const event = this.at(sequence);
      if (event === undefined || event.revision <= after) break;
      if (event.revision <= upTo && inScope(scope, event.key)) found.push(event);
      sequence = event.olderSequence;
    }
    return found.toReversed();
  }

  #sinceOfAll(scope: string, after: number, upTo: number): CachedEvent[] {
    let low = this.#head;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle] as CachedEvent).revision <= after) low = middle + 1;
      else high = middle;
    }
    const found: CachedEvent[] = [];
    for (let i = low; i < this.#events.length; i++) {
      const event = this.#events[i] as CachedEvent;
      if (event.revision > upTo) break;
      if (inScope(scope, event.key)) found.push(event);
    }
    return found;
  }

  #drop(event: CachedEvent): void {
    this.#events[this.#head++] = undefined;
    this.#bytes -= event.bytes;
    this.#oldestRevision = event.revision;
    if (event.previous !== undefined) this.#onForgotten(event.previous);
    const resource = resourcePrefixOf(event.key) ?? event.key;
    const record = this.#resources.get(resource);
    if (record?.latest === event.sequence) {
      record.latest = -1;
      if (record.keys === 0) this.#resources.delete(resource);
    }
  }

  #compactQueue(): void {
    if (this.#head < 1024 || this.#head * 2 < this.#events.length) return;
    this.#events = this.#events.slice(this.#head);
    this.#base += this.#head;
    this.#head = 0;
  }

  #record(resource: string): ResourceRecord {
    let record = this.#resources.get(resource);
    if (record === undefined) this.#resources.set(resource, (record = { keys: 0, latest: -1 }));
    return record;
  }
}
