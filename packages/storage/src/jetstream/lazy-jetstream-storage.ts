import { StorageUnavailableError } from '../errors.ts';
import type {
  ListOptions,
  ListResult,
  Storage,
  StoredValue,
  WatchBatch,
  WatchOptions,
  WriteOptions,
} from '../interface.ts';
import type { JetStreamStorage } from './jetstream-storage.ts';

/**
 * A store that is opened when it is first asked for something, and again until that has gone well: whoever is asked how
 * it is can then say that NATS is missing, instead of not being there. Until then everything throws what opening throws.
 */
export class LateJetStreamStorage implements Storage {
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
  async *load(prefix: string, signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    yield* (await this.#opened()).load(prefix, signal);
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
    // What cannot be opened needs not be closed.
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
