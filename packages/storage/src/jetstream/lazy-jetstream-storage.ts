import type { StreamingListStorage } from '../capabilities/streaming-list.ts';
import { StorageUnavailableError } from '../errors.ts';
import type { ListOptions, ListResult, StoredValue, WatchBatch, WatchOptions, WriteOptions } from '../interface.ts';
import type { JetStreamStorage } from './jetstream-storage.ts';

/**
 * A store that is opened on first use and, after a failure, on the next use, so that a server without NATS starts and
 * reports it in its readiness. Until it is open every method throws the error of opening it.
 */
export class LazyJetStreamStorage implements StreamingListStorage {
  readonly #open: () => Promise<JetStreamStorage>;
  #opening: Promise<JetStreamStorage> | undefined;
  #closed = false;

  constructor(modules: { readonly open: () => Promise<JetStreamStorage> }) {
    this.#open = modules.open;
  }

  async get(key: string): Promise<StoredValue | undefined> {
    return (await this.#opened()).get(key);
  }
  async list(prefix: string, options?: ListOptions): Promise<ListResult> {
    return (await this.#opened()).list(prefix, options);
  }
  async *streamList(prefix: string, signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    yield* (await this.#opened()).streamList(prefix, signal);
  }
  async create(key: string, value: Buffer, options?: WriteOptions): Promise<number> {
    return (await this.#opened()).create(key, value, options);
  }
  async update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number> {
    return (await this.#opened()).update(key, value, expected, options);
  }
  async delete(key: string, expected: number): Promise<number> {
    return (await this.#opened()).delete(key, expected);
  }
  async *watch(prefix: string, options: WatchOptions): AsyncGenerator<WatchBatch, void, undefined> {
    yield* (await this.#opened()).watch(prefix, options);
  }
  async currentRevision(): Promise<number> {
    return (await this.#opened()).currentRevision();
  }
  async compact(revision: number): Promise<void> {
    await (await this.#opened()).compact(revision);
  }
  async check(): Promise<void> {
    await (await this.#opened()).check();
  }

  async close(): Promise<void> {
    this.#closed = true;
    // A store that failed to open need not be closed.
    const storage = await this.#opening?.catch(() => undefined);
    await storage?.close();
  }

  #opened(): Promise<JetStreamStorage> {
    if (this.#opening !== undefined) return this.#opening;
    if (this.#closed) return Promise.reject(new StorageUnavailableError('the store is closed'));
    const opening = this.#open();
    this.#opening = opening;
    opening.catch(() => (this.#opening = undefined));
    return opening;
  }
}
