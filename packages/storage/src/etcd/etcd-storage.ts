import { errorText } from '@multiplane/apimachinery';
import { CompactedError, FutureRevisionError, StorageFullError, StorageUnavailableError } from '../errors.ts';
import type {
  ListOptions,
  ListResult,
  Storage,
  StoredValue,
  WatchBatch,
  WatchOptions,
  WriteOptions,
} from '../interface.ts';
import type { WatchFailureReporter } from '../watch-failure-reporter.ts';
import { compareKeys } from '../key-order.ts';
import type { Compactor } from './compactor.ts';
import type { EtcdClient } from './etcd-client.ts';
import { isRevisionError, revisionError } from './etcd-errors.ts';
import type { EtcdKeys } from './etcd-keys.ts';
import { EtcdWatch } from './etcd-watch.ts';
import type { EtcdWriter } from './etcd-writer.ts';
import type { ProgressMarker } from './progress-marker.ts';
import type { RangeRequest, RangeResponse } from './transport/etcd-messages.ts';

export interface EtcdStorageModules {
  readonly client: EtcdClient;
  readonly keys: EtcdKeys;
  readonly writer: EtcdWriter;
  readonly marker: ProgressMarker;
  readonly compactor: Compactor;
  readonly watchFailures: WatchFailureReporter;
}

/** Maximum number of keys per response, which etcd reads and encodes as a whole. */
const pageKeys = 500;
const healthTimeoutMs = 2000;

/** The store in etcd: any number of processes; revisions are those of etcd. Created by `openEtcdStorage`. */
export class EtcdStorage implements Storage {
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  readonly #writer: EtcdWriter;
  readonly #marker: ProgressMarker;
  readonly #compactor: Compactor;
  readonly #watchFailures: WatchFailureReporter;

  constructor({ client, keys, writer, marker, compactor, watchFailures }: EtcdStorageModules) {
    this.#client = client;
    this.#keys = keys;
    this.#writer = writer;
    this.#marker = marker;
    this.#compactor = compactor;
    this.#watchFailures = watchFailures;
  }

  async get(key: string): Promise<StoredValue | undefined> {
    const { kvs } = await this.#client.range({ key: this.#keys.encode(key) });
    const [found] = kvs;
    return found === undefined ? undefined : { key, value: found.value, revision: found.mod_revision };
  }

  async list(prefix: string, { limit = 0, from = '', revision }: ListOptions = {}): Promise<ListResult> {
    const start = compareKeys(from, prefix) > 0 ? from : prefix;
    const range = this.#keys.range(prefix, start);
    if (Buffer.compare(range.key, range.range_end) >= 0 && range.range_end.length > 1) {
      return { items: [], revision: await this.#revisionOf(revision), remaining: 0 };
    }
    const items: StoredValue[] = [];
    let at = revision;
    let total = 0;
    let key = range.key;
    for (;;) {
      const wanted = limit === 0 ? pageKeys : Math.min(pageKeys, limit - items.length);
      const page = await this.#page({ ...range, key, limit: wanted, revision: at ?? 0 }, prefix);
      at ??= page.revision;
      if (items.length === 0) total = page.count;
      for (const item of page.items) items.push(item);
      if (!page.more || (limit !== 0 && items.length >= limit)) break;
      key = page.next;
    }
    return { items, revision: at, remaining: Math.max(0, total - items.length) };
  }

  async create(key: string, value: Buffer, options?: WriteOptions): Promise<number> {
    return await this.#writer.create(key, value, options);
  }

  async update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number> {
    return await this.#writer.update(key, value, expected, options);
  }

  async delete(key: string, expected: number): Promise<number> {
    return await this.#writer.delete(key, expected);
  }

  async *watch(prefix: string, options: WatchOptions): AsyncGenerator<WatchBatch, void, undefined> {
    if (options.signal.aborted) return;
    this.#client.assertOpen();
    const watch = new EtcdWatch(prefix, options, {
      client: this.#client,
      keys: this.#keys,
      assertNotCompacted: (revision) => this.#assertNotCompacted(revision),
      watchFailures: this.#watchFailures,
    });
    if (this.#keys.coversHidden(prefix)) this.#marker.add(watch);
    try {
      yield* watch.batches(options.signal);
    } finally {
      this.#marker.remove(watch);
    }
  }

  async currentRevision(): Promise<number> {
    const { header } = await this.#client.range({ ...this.#keys.hidden, count_only: true });
    const revision = header.revision;
    this.#marker.observed(revision);
    return revision;
  }

  async compact(revision: number): Promise<void> {
    try {
      await this.#client.compact(revision);
    } catch (error) {
      const known = revisionError(error, revision, revision, await this.currentRevision());
      // etcd refuses to compact a compacted revision again.
      if (known?.code !== 'Compacted') throw known ?? error;
    }
  }

  async check(): Promise<void> {
    this.#client.assertOpen();
    try {
      const { alarms } = await this.#client.maintenance.alarm(
        { action: 'Get' },
        this.#client.deadline(healthTimeoutMs),
      );
      if (alarms.some(({ alarm }) => alarm === 'Nospace')) throw new StorageFullError();
      const success = [{ request_range: { ...this.#keys.hidden, count_only: true } }];
      await this.#client.transaction({ success }, 'other', healthTimeoutMs);
    } catch (error) {
      if (error instanceof StorageFullError) throw error;
      throw new StorageUnavailableError(`etcd does not respond: ${errorText(error)}`, error);
    }
  }

  async close(): Promise<void> {
    this.#compactor.close();
    this.#marker.close();
    this.#client.close();
  }

  /** One response without the hidden keys, which may make it one key longer or shorter than requested. */
  async #page(request: RangeRequest, prefix: string): Promise<Page> {
    const wanted = Number(request.limit);
    const covers = this.#keys.coversHidden(prefix);
    const { response, hidden } = covers
      ? await this.#rangeWithHidden(request)
      : { response: await this.#range(request), hidden: 0 };
    const items: StoredValue[] = [];
    for (const { key, value, mod_revision } of response.kvs) {
      const decoded = this.#keys.decode(key);
      if (!covers || !this.#keys.isHidden(decoded)) {
        items.push({ key: decoded, value, revision: mod_revision });
      }
    }
    const last = response.kvs.at(-1)?.key ?? request.key;
    return {
      items: items.slice(0, wanted),
      revision: response.header.revision,
      count: response.count - hidden,
      more: response.more || items.length > wanted,
      next: Buffer.concat([
        items.length > wanted ? this.#keys.encode((items[wanted - 1] as StoredValue).key) : last,
        nul,
      ]),
    };
  }

  /** Reads a range and the number of its hidden keys at the same revision. */
  async #rangeWithHidden(
    request: RangeRequest,
  ): Promise<{ readonly response: RangeResponse; readonly hidden: number }> {
    const { hidden } = this.#keys;
    const start = Buffer.compare(request.key, hidden.key) > 0 ? request.key : hidden.key;
    const counts = { key: start, range_end: hidden.range_end, count_only: true, revision: request.revision ?? 0 };
    const past = Buffer.compare(start, hidden.range_end) >= 0;
    if (past) return { response: await this.#range(request), hidden: 0 };
    const { responses, header } = await this.#reading(Number(request.revision), () =>
      this.#client.readTransaction({ success: [{ request_range: request }, { request_range: counts }] }),
    );
    const [response, counted] = responses.map(({ response_range }) => response_range);
    if (response === undefined || counted === undefined) throw new TypeError('unexpected response of etcd');
    // Responses within a transaction have no header.
    return { response: { ...response, header }, hidden: counted.count };
  }

  #range(request: RangeRequest): Promise<RangeResponse> {
    return this.#reading(Number(request.revision), () => this.#client.range(request, 'list'));
  }

  async #reading<T>(revision: number, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      throw await this.#readError(error, revision);
    }
  }

  async #readError(error: unknown, revision: number): Promise<unknown> {
    if (!isRevisionError(error)) return error;
    const current = await this.currentRevision();
    return revisionError(error, revision, await this.#oldest(revision, current), current);
  }

  /** The oldest readable revision, found by bisection: etcd only returns it to watches. */
  async #oldest(below: number, current: number): Promise<number> {
    let low = below;
    let high = current;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (await this.#isKept(middle)) high = middle;
      else low = middle;
    }
    return high;
  }

  async #isKept(revision: number): Promise<boolean> {
    try {
      await this.#client.range({ ...this.#keys.hidden, count_only: true, revision });
      return true;
    } catch (error) {
      if (!isRevisionError(error)) throw error;
      return false;
    }
  }

  async #assertNotCompacted(revision: number): Promise<void> {
    try {
      await this.#client.range({ ...this.#keys.hidden, count_only: true, revision });
    } catch (error) {
      const known = await this.#readError(error, revision);
      // A watch may start at a future revision.
      if (!(known instanceof FutureRevisionError)) throw known;
    }
  }

  async #revisionOf(revision: number | undefined): Promise<number> {
    const current = await this.currentRevision();
    if (revision === undefined) return current;
    if (revision > current) throw new FutureRevisionError(revision, current);
    if (!(await this.#isKept(revision))) throw new CompactedError(revision, await this.#oldest(revision, current));
    return revision;
  }
}

interface Page {
  readonly items: readonly StoredValue[];
  readonly revision: number;
  /** Keys from the start of the page to the end of the range. */
  readonly count: number;
  readonly more: boolean;
  /** Start of the next page. */
  readonly next: Buffer;
}

const nul = Buffer.from([0]);
