import { CompactedError } from '../errors.ts';
import type { CachedEntry } from './cached-entry.ts';
import { CachedEvent } from './cached-event.ts';
import { FrameBudget } from './frame-memo.ts';
import { inScope, resourcePrefixOf } from './scope.ts';

export interface EventWindowOptions {
  /** Limit in bytes; it takes precedence over the age. */
  readonly maxBytes: number;
  /** Younger events are kept as long as `maxBytes` allows, unless the store has become quiet. */
  readonly minAgeSeconds: number;
}

/** The latest events are kept whatever their age, so that clients of an idle store can resume their watches. */
const minEvents = 1000;
/** Old events evicted per new one: the window shrinks twice as fast as it grows, without blocking the event loop. */
const evictionsPerEvent = 3;
/** The length of a period, of which the last two determine the rate of events. */
export const ratePeriodSeconds = 10;
/** Events of a store without writes that are kept whatever their age. */
const quietBytes = 4 * 1024 * 1024;

/** Keys and events of one resource prefix. */
interface ResourceRecord {
  /** Number of keys in the store. */
  keys: number;
  /** Sequence number of the latest event in the window; −1: none. */
  latest: number;
}

/**
 * The latest events without a gap after `oldestRevision`, for watches that resume and for snapshots of older revisions
 * (the watch cache's cyclic buffer in Kubernetes).
 *
 *   queue    an array with a moving head; it is copied when half of it is evicted
 *   chains   each event has the sequence number of the previous event of its resource, so that a resumed subscription
 *            reads the events of one resource instead of those of the whole shard. Numbers instead of references, which
 *            would keep evicted events alive.
 *   trim     after each revision: evicts events over `maxBytes`, then at most three that are over `minAgeSeconds`
 *   shrink   every `ratePeriodSeconds`: evicts what exceeds the bytes that the current rate of events makes in `minAgeSeconds`.
 *            A steady load is not affected; after its end the memory of its events is released within three periods.
 */
export class EventWindow {
  readonly #options: EventWindowOptions;
  readonly #onEvicted: (event: CachedEvent) => void;
  readonly #frames = new FrameBudget();
  readonly #resources = new Map<string, ResourceRecord>();
  #events: (CachedEvent | undefined)[] = [];
  #head = 0;
  /** Sequence number of `#events[0]`. */
  #base = 0;
  #bytes = 0;
  /** Bytes of the events of this period and of the previous one. */
  #appended = 0;
  #appendedBefore = 0;
  #oldestRevision = 0;

  /** `onEvicted` receives each evicted event, oldest first: the entry that it replaced is no longer needed. */
  constructor(options: EventWindowOptions, onEvicted: (event: CachedEvent) => void) {
    this.#options = options;
    this.#onEvicted = onEvicted;
  }

  /** A subscriber that has seen everything up to this revision can resume without loss. */
  get oldestRevision(): number {
    return this.#oldestRevision;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether {@link shrink} may have to evict events, now or later. */
  get isLarge(): boolean {
    return this.#bytes > quietBytes;
  }

  get frameBytes(): number {
    return this.#frames.bytes;
  }

  get length(): number {
    return this.#events.length - this.#head;
  }

  /** Sequence number of the oldest event; of the next event when the window is empty. */
  get firstSequence(): number {
    return this.#base + this.#head;
  }

  /** Sequence number of the next event. */
  get nextSequence(): number {
    return this.#base + this.#events.length;
  }

  get resources(): ReadonlyMap<string, { readonly keys: number }> {
    return this.#resources;
  }

  /** Evicts everything: the contents were loaded at `revision` with these numbers of keys per resource. */
  reset(revision: number, resources: ReadonlyMap<string, number>): void {
    for (let i = this.#head; i < this.#events.length; i++) {
      const event = this.#events[i];
      if (event !== undefined) this.#onEvicted(event);
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
    this.#appended += event.bytes;
    return event;
  }

  /** Evicts events over the limits. Called after each revision, so that the events of a revision stay together. */
  trim(second: number): void {
    const { maxBytes, minAgeSeconds } = this.#options;
    for (let evicted = 0; this.length > 0; evicted++) {
      const oldest = this.#events[this.#head] as CachedEvent;
      const exceedsBytes = this.#bytes > maxBytes;
      const exceedsAge =
        second - oldest.second > minAgeSeconds && this.length > minEvents && evicted < evictionsPerEvent;
      // The remaining events of a partly evicted revision are evicted too.
      if (!exceedsBytes && !exceedsAge && oldest.revision > this.#oldestRevision) break;
      this.#evict(oldest);
    }
    this.#compactQueue();
  }

  /** Starts the next period and evicts the events beyond what the rate of the last two allows; pauses after each revision. */
  *shrink(): Generator<void, void, void> {
    const { maxBytes, minAgeSeconds } = this.#options;
    const rate = (this.#appended + this.#appendedBefore) / (2 * ratePeriodSeconds);
    this.#appendedBefore = this.#appended;
    this.#appended = 0;
    const limit = Math.min(maxBytes, Math.max(quietBytes, rate * minAgeSeconds));
    while (this.#bytes > limit && this.length > minEvents) {
      const { revision } = this.#events[this.#head] as CachedEvent;
      for (let event = this.#events[this.#head]; event?.revision === revision; event = this.#events[this.#head])
        this.#evict(event);
      this.#compactQueue();
      yield;
    }
  }

  /** Evicts everything up to `revision`. */
  compact(revision: number): void {
    for (;;) {
      const oldest = this.#events[this.#head];
      if (oldest === undefined || oldest.revision > revision) break;
      this.#evict(oldest);
    }
    this.#oldestRevision = Math.max(this.#oldestRevision, revision);
    this.#compactQueue();
  }

  /** Events of the scope with a revision in (after, upTo], oldest first. Throws CompactedError below the window. */
  since(scope: string, after: number, upTo = Infinity): CachedEvent[] {
    if (after < this.#oldestRevision) throw new CompactedError(after, this.#oldestRevision);
    const resource = resourcePrefixOf(scope);
    return resource === undefined
      ? this.#sinceInAll(scope, after, upTo)
      : this.#sinceInResource(resource, scope, after, upTo);
  }

  /** The event with a sequence number; undefined when it is evicted. */
  at(sequence: number): CachedEvent | undefined {
    const index = sequence - this.#base;
    return index >= this.#head ? this.#events[index] : undefined;
  }

  #sinceInResource(resource: string, scope: string, after: number, upTo: number): CachedEvent[] {
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

  #sinceInAll(scope: string, after: number, upTo: number): CachedEvent[] {
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

  #evict(event: CachedEvent): void {
    this.#events[this.#head++] = undefined;
    this.#bytes -= event.bytes;
    this.#oldestRevision = event.revision;
    event.releaseFrames();
    this.#onEvicted(event);
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
