import type { LocalRevisionStorage } from '../capabilities/local-revision.ts';
import {
  CompactedError,
  FutureRevisionError,
  KeyExistsError,
  RevisionConflictError,
  StorageUnavailableError,
  ValueTooLargeError,
} from '../errors.ts';
import type {
  ListOptions,
  ListResult,
  StorageEvent,
  StoredValue,
  WatchBatch,
  WatchOptions,
  WriteOptions,
} from '../interface.ts';
import { compareKeys, lowerBound } from '../key-order.ts';
import { ConditionVariable } from '../condition-variable.ts';

export interface MemoryStorageOptions {
  /** Milliseconds since the epoch; for key expiry. */
  readonly now?: () => number;
  /** Milliseconds between checks for expired keys; 0: only {@link MemoryStorage.expire} deletes them. */
  readonly expiryIntervalMs?: number;
}

/** Maximum number of events in one batch, so that a long catch-up yields. */
const batchLimit = 1000;

/** The default limit of etcd. */
const maxValueBytes = 1.5 * 2 ** 20;

/** A value that was current in the revisions [revision, end). */
interface Version extends StoredValue {
  /** Revision that replaced or deleted it. */
  end: number;
}

/**
 * The simplest implementation of the whole contract, for tests and as a model for other backends.
 *
 * Every version of every key is kept until it is compacted: `versions` by key, oldest first, each valid in
 * [revision, end). The log has one event per revision after `oldest` without gaps, so the event of revision r has the index
 * r − oldest − 1, and the position of a watch is a revision.
 */
export class MemoryStorage implements LocalRevisionStorage {
  readonly #versions = new Map<string, Version[]>();
  readonly #keys: string[] = [];
  readonly #expiry = new Map<string, number>();
  readonly #changed = new ConditionVariable();
  readonly #closed = new AbortController();
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout | undefined;
  #log: StorageEvent[] = [];
  #oldest = 1;
  #revision = 1;

  constructor(options: MemoryStorageOptions = {}) {
    this.#now = options.now ?? Date.now;
    const interval = options.expiryIntervalMs ?? 500;
    if (interval > 0) this.#timer = setInterval(() => this.expire(), interval).unref();
  }

  get localRevision(): number {
    return this.#revision;
  }

  async get(key: string): Promise<StoredValue | undefined> {
    this.#assertOpen();
    return this.#current(key);
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    this.#assertOpen();
    const { limit = 0, from = '', revision = this.#revision } = options;
    if (revision > this.#revision) throw new FutureRevisionError(revision, this.#revision);
    if (revision < this.#oldest) throw new CompactedError(revision, this.#oldest);
    const items: StoredValue[] = [];
    let remaining = 0;
    const start = compareKeys(from, prefix) > 0 ? from : prefix;
    for (let i = lowerBound(this.#keys, start, (key) => key); i < this.#keys.length; i++) {
      const key = this.#keys[i] as string;
      if (!key.startsWith(prefix)) break;
      const found = this.#versions.get(key)?.findLast((version) => version.revision <= revision);
      if (found === undefined || found.end <= revision) continue;
      if (limit === 0 || items.length < limit) items.push(publicValue(found));
      else remaining++;
    }
    return { items, revision, remaining };
  }

  async create(key: string, value: Buffer, options: WriteOptions = {}): Promise<number> {
    this.#assertOpen();
    if (this.#current(key) !== undefined) throw new KeyExistsError(key);
    return this.#put(key, value, options, true);
  }

  async update(key: string, value: Buffer, expected: number, options: WriteOptions = {}): Promise<number> {
    this.#assertOpen();
    this.#expect(key, expected);
    return this.#put(key, value, options, false);
  }

  async delete(key: string, expected: number): Promise<number> {
    this.#assertOpen();
    this.#expect(key, expected);
    return this.#remove(key);
  }

  async *watch(prefix: string, options: WatchOptions): AsyncGenerator<WatchBatch, void, undefined> {
    const signal = AbortSignal.any([options.signal, this.#closed.signal]);
    let cursor = options.after;
    while (!signal.aborted) {
      if (cursor < this.#oldest) throw new CompactedError(cursor, this.#oldest);
      if (cursor >= this.#revision) {
        await this.#changed.wait(signal);
        continue;
      }
      const first = cursor - this.#oldest;
      const seen = this.#log.slice(first, first + batchLimit);
      cursor = (seen.at(-1) as StorageEvent).revision;
      yield { events: seen.filter((event) => event.key.startsWith(prefix)), revision: cursor };
    }
    if (!options.signal.aborted) throw new StorageUnavailableError('the store is closed');
  }

  async currentRevision(): Promise<number> {
    this.#assertOpen();
    return this.#revision;
  }

  async compact(revision: number): Promise<void> {
    this.#assertOpen();
    if (revision > this.#revision) throw new FutureRevisionError(revision, this.#revision);
    if (revision <= this.#oldest) return;
    for (const event of this.#log.splice(0, revision - this.#oldest)) {
      const kept = this.#versions.get(event.key)?.filter((version) => version.end > revision) ?? [];
      if (kept.length > 0) this.#versions.set(event.key, kept);
      else if (this.#versions.delete(event.key)) this.#keys.splice(this.#position(event.key), 1);
    }
    this.#oldest = revision;
    this.#changed.notifyAll();
  }

  async check(): Promise<void> {
    this.#assertOpen();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closed.abort();
  }

  /** Deletes expired keys; runs periodically unless the interval is 0. */
  expire(): void {
    const now = this.#now();
    for (const [key, at] of this.#expiry) if (at <= now) this.#remove(key);
  }

  #put(key: string, value: Buffer, options: WriteOptions, created: boolean): number {
    if (value.length > maxValueBytes) throw new ValueTooLargeError(key);
    const revision = ++this.#revision;
    const versions = this.#versions.get(key);
    if (versions === undefined) {
      this.#versions.set(key, [{ key, value, revision, end: Infinity }]);
      this.#keys.splice(this.#position(key), 0, key);
    } else {
      this.#endLast(versions, revision);
      versions.push({ key, value, revision, end: Infinity });
    }
    if (options.ttlSeconds !== undefined) this.#expiry.set(key, this.#now() + options.ttlSeconds * 1000);
    this.#publish({ type: 'put', key, value, revision, created });
    return revision;
  }

  #remove(key: string): number {
    const revision = ++this.#revision;
    const value = this.#current(key)?.value;
    this.#endLast(this.#versions.get(key) ?? [], revision);
    this.#expiry.delete(key);
    this.#publish({ type: 'delete', key, value, revision, created: false });
    return revision;
  }

  #endLast(versions: Version[], revision: number): void {
    const last = versions.at(-1);
    if (last !== undefined && last.end === Infinity) last.end = revision;
  }

  #publish(event: StorageEvent): void {
    this.#log.push(event);
    this.#changed.notifyAll();
  }

  #current(key: string): StoredValue | undefined {
    const last = this.#versions.get(key)?.at(-1);
    return last?.end === Infinity ? publicValue(last) : undefined;
  }

  #expect(key: string, expected: number): void {
    const current = this.#current(key)?.revision;
    if (current !== expected) throw new RevisionConflictError(key, expected, current);
  }

  #position(key: string): number {
    return lowerBound(this.#keys, key, (other) => other);
  }

  #assertOpen(): void {
    if (this.#closed.signal.aborted) throw new StorageUnavailableError('the store is closed');
  }
}

function publicValue({ key, value, revision }: Version): StoredValue {
  return { key, value, revision };
}
