import type { LogicalClusterName } from '@multiplane/apimachinery';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { ContentObserver, ObservedEntry } from '../cacher/content-observer.ts';
import { compareKeys } from '../key-order.ts';
import { ownerOfKey } from './cluster-of-key.ts';

/** What the objects of one logical cluster amount to. */
export interface Usage {
  /** Stored objects without events. */
  readonly objects: number;
  /** Bytes of all stored values, events included. */
  readonly bytes: number;
  /** Events; they are no objects, as in kcp: an exhausted workspace must stay debuggable. */
  readonly events: number;
  /** Objects that define APIs. */
  readonly definitions: number;
  /** Their bytes. */
  readonly definitionBytes: number;
}
type Amounts = { -readonly [Field in keyof Usage]: number };

/** {@link Usage} of stored objects, with what tells the time of the last write. */
export interface StoredUsage extends Usage {
  /** When the last change was observed, in milliseconds of the clock; undefined: not since the start. */
  readonly lastWriteMs: number | undefined;
  /** Key of the object with the highest revision when it was counted; only for clusters without a change since. */
  readonly latestKey: string | undefined;
}

type UsageClass = 'objects' | 'events' | 'definitions';

interface Record {
  readonly stored: Amounts;
  /** Of writes in flight. */
  readonly reserved: Amounts;
  lastWriteMs: number | undefined;
  latestKey: string | undefined;
  latestRevision: number;
}

/** Room for a write that is in flight. */
class Reservation {
  readonly key: string;
  readonly amounts: Usage;
  readonly record: Record;
  /** An earlier reservation of the same key. */
  next: Reservation | undefined;
  isReleased = false;

  constructor(key: string, amounts: Usage, record: Record, next: Reservation | undefined) {
    this.key = key;
    this.amounts = amounts;
    this.record = record;
    this.next = next;
  }
}

export interface ClusterUsageOptions {
  /** Resources (`<group or core>/<resource>`) that are not counted as plain objects. */
  readonly classes: ReadonlyMap<string, Exclude<UsageClass, 'objects'>>;
}

export interface ClusterUsageModules {
  readonly clock: { now(): number };
  /** The contents are counted after this; absent: at once. */
  readonly countAfter?: Promise<unknown> | undefined;
}

/** Entries counted between two yields to the event loop. */
const entriesPerSlice = 2000;
const none: Usage = Object.freeze({ objects: 0, bytes: 0, events: 0, definitions: 0, definitionBytes: 0 });

/**
 * Counts the objects and bytes of each logical cluster, exactly and in constant time per write.
 *
 *   count     after a load the contents are counted once, in key order and in time slices. A change before the position
 *             of the count is added at once; a change after it is found by the count itself.
 *   follow    each change of the cache adds the difference of its entry to the previous one
 *   reserve   the writes of this process are added before they are sent to the store, so that concurrent writers cannot
 *             exceed a limit together. A reservation ends when the cache observes a write of its key, or when its write
 *             has failed; so an object is counted by its reservation or by the contents, never by both or neither.
 *             If the outcome of a write is unknown, only its observation counts.
 *
 * Writes of other processes to the same store (replicas of a shard) count as soon as the cache observes them.
 * A logical cluster without objects costs nothing.
 */
export class ClusterUsage implements ContentObserver {
  readonly #options: ClusterUsageOptions;
  readonly #modules: ClusterUsageModules;
  #records = new Map<string, Record>();
  readonly #reservations = new Map<string, Reservation>();
  /** Everything up to this key is counted; undefined: everything. */
  #position: string | undefined = '';
  #counted = Promise.withResolvers<void>();
  #generation = 0;

  constructor(options: ClusterUsageOptions, modules: ClusterUsageModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** False after a load, until all contents are counted; {@link of} returns too little meanwhile. */
  get isCounted(): boolean {
    return this.#position === undefined;
  }

  /** Resolves when {@link isCounted} is true. */
  get counted(): Promise<void> {
    return this.#counted.promise;
  }

  /** Number of logical clusters with objects. */
  get size(): number {
    return this.#records.size;
  }

  /** What is stored in a logical cluster. */
  stored(cluster: LogicalClusterName): StoredUsage {
    const record = this.#records.get(cluster);
    if (record === undefined) return { ...none, lastWriteMs: undefined, latestKey: undefined };
    return { ...record.stored, lastWriteMs: record.lastWriteMs, latestKey: record.latestKey };
  }

  /** One amount of a logical cluster with that of writes in flight. */
  charged(cluster: LogicalClusterName, field: keyof Usage): number {
    const record = this.#records.get(cluster);
    return record === undefined ? 0 : record.stored[field] + record.reserved[field];
  }

  /** What a write of a key adds; `oldBytes` undefined: it creates the key. Never negative. */
  amountsOf(key: string, bytes: number, oldBytes: number | undefined): Usage {
    const usageClass = this.#options.classes.get(ownerOfKey(key)?.resource ?? '') ?? 'objects';
    const growth = Math.max(0, bytes - (oldBytes ?? 0));
    const created = oldBytes === undefined ? 1 : 0;
    return {
      objects: usageClass === 'events' ? 0 : created,
      events: usageClass === 'events' ? created : 0,
      definitions: usageClass === 'definitions' ? created : 0,
      bytes: growth,
      definitionBytes: usageClass === 'definitions' ? growth : 0,
    };
  }

  /**
   * Counts a write before it is sent. The returned function is called when the write has completed, with true if it
   * succeeded: then the reservation lasts until the write is observed.
   */
  reserve(cluster: LogicalClusterName, key: string, amounts: Usage): (succeeded: boolean) => void {
    const record = this.#record(cluster);
    add(record.reserved, amounts, 1);
    const reservation = new Reservation(key, amounts, record, this.#reservations.get(key));
    this.#reservations.set(key, reservation);
    return (succeeded) => {
      if (succeeded) return;
      // Its place was taken when the write of another one was observed, which has ended it in its stead.
      const open = reservation.isReleased ? this.#reservations.get(key) : reservation;
      if (open !== undefined) this.#release(open);
    };
  }

  replaced(scan: (from: string, limit: number) => readonly ObservedEntry[]): void {
    this.#generation++;
    if (this.#position === undefined) this.#counted = Promise.withResolvers<void>();
    this.#position = '';
    this.#records = new Map();
    // Acknowledged writes are in the new contents. Those in flight may be, and are observed otherwise.
    this.#reservations.clear();
    void this.#count(scan, this.#generation);
  }

  changed(current: ObservedEntry | undefined, previous: ObservedEntry | undefined, isRecent: boolean): void {
    const key = (current ?? previous)?.key ?? '';
    if (current !== undefined && this.#reservations.size > 0) {
      const reservation = this.#reservations.get(key);
      if (reservation !== undefined) this.#release(reservation);
    }
    if (this.#position !== undefined && compareKeys(key, this.#position) > 0) return;
    const owner = ownerOfKey(key);
    if (owner === undefined) return;
    const record = this.#record(owner.cluster);
    const { stored } = record;
    const bytes = (current?.length ?? 0) - (previous?.length ?? 0);
    const count = (current === undefined ? 0 : 1) - (previous === undefined ? 0 : 1);
    this.#add(stored, owner.resource, count, bytes);
    if (isRecent) {
      record.lastWriteMs = this.#modules.clock.now();
      record.latestKey = undefined;
    } else if (current !== undefined) noteLatest(record, current);
    if (isEmpty(stored) && isEmpty(record.reserved)) this.#records.delete(owner.cluster);
  }

  async #count(scan: (from: string, limit: number) => readonly ObservedEntry[], generation: number): Promise<void> {
    if (this.#modules.countAfter !== undefined) await this.#modules.countAfter.catch(() => undefined);
    for (let from = ''; ;) {
      if (generation !== this.#generation) return;
      const slice = scan(from, entriesPerSlice);
      for (const entry of slice) this.#countEntry(entry);
      const last = slice.at(-1);
      if (last === undefined || slice.length < entriesPerSlice) break;
      this.#position = last.key;
      from = `${last.key}\0`;
      await yieldToEventLoop();
    }
    this.#position = undefined;
    this.#counted.resolve();
  }

  #countEntry({ key, length, revision }: ObservedEntry): void {
    const owner = ownerOfKey(key);
    if (owner === undefined) return;
    const record = this.#record(owner.cluster);
    this.#add(record.stored, owner.resource, 1, length);
    noteLatest(record, { key, revision });
  }

  #add(amounts: Amounts, resource: string, count: number, bytes: number): void {
    const usageClass = this.#options.classes.get(resource);
    amounts.bytes += bytes;
    if (usageClass === 'events') amounts.events += count;
    else amounts.objects += count;
    if (usageClass !== 'definitions') return;
    amounts.definitions += count;
    amounts.definitionBytes += bytes;
  }

  /** A copy of the name: a slice of a key would keep the key in memory. */
  #record(cluster: string): Record {
    let record = this.#records.get(cluster);
    if (record === undefined) {
      record = {
        stored: { ...none },
        reserved: { ...none },
        lastWriteMs: undefined,
        latestKey: undefined,
        latestRevision: 0,
      };
      this.#records.set(Buffer.from(cluster).toString(), record);
    }
    return record;
  }

  #release(reservation: Reservation): void {
    if (reservation.isReleased) return;
    reservation.isReleased = true;
    add(reservation.record.reserved, reservation.amounts, -1);
    const { key } = reservation;
    const latest = this.#reservations.get(key);
    if (latest === reservation) {
      if (reservation.next === undefined) this.#reservations.delete(key);
      else this.#reservations.set(key, reservation.next);
      return;
    }
    for (let each = latest; each !== undefined; each = each.next)
      if (each.next === reservation) each.next = reservation.next;
  }
}

function add(to: Amounts, amounts: Usage, sign: 1 | -1): void {
  to.objects += sign * amounts.objects;
  to.bytes += sign * amounts.bytes;
  to.events += sign * amounts.events;
  to.definitions += sign * amounts.definitions;
  to.definitionBytes += sign * amounts.definitionBytes;
}

function noteLatest(record: Record, { key, revision }: Pick<ObservedEntry, 'key' | 'revision'>): void {
  if (record.lastWriteMs !== undefined || revision <= record.latestRevision) return;
  record.latestRevision = revision;
  record.latestKey = key;
}

const isEmpty = ({ objects, events, bytes }: Usage): boolean => objects === 0 && events === 0 && bytes === 0;
