import type {
  ListOptions,
  ListResult,
  Storage,
  StoredValue,
  WatchBatch,
  WatchOptions,
  WriteOptions,
} from '../interface.ts';
import { MemoryStorage } from '../memory/memory-storage.ts';
import { Signal } from '../signal.ts';

/**
 * TEST ONLY: a store in memory with switches for what backends do on bad days. Unlike memory it does not tell its
 * revision without asking, unless `local` is set.
 */
export class ScriptedBackend implements Storage {
  readonly store: MemoryStorage;
  /** Behaves as a store with one writer process. */
  local = false;
  /** Asked before each question; a test makes it wait or throw. */
  beforeQuestion: () => Promise<void> = async () => undefined;
  beforeList: (options: ListOptions) => Promise<void> = async () => undefined;
  /** What the watch does to each batch on its way; a test holds it back, doubles it, throws. */
  onBatch: (batch: WatchBatch) => Promise<readonly WatchBatch[]> = async (batch) => [batch];
  /** Told when a watch begins; a test may throw. */
  onWatch: (after: number) => void = () => undefined;
  questions = 0;
  watches = 0;
  readonly #broken = new Signal();
  #breakWith = new Error('nothing is broken');

  constructor(expiryIntervalMs = 0) {
    this.store = new MemoryStorage({ expiryIntervalMs });
  }

  get localRevision(): number | undefined {
    return this.local ? this.store.localRevision : undefined;
  }

  /** Ends all present watches with an error. */
  breakWatches(error: Error): void {
    this.#breakWith = error;
    this.#broken.notify();
  }

  get(key: string): Promise<StoredValue | undefined> {
    return this.store.get(key);
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    await this.beforeList(options);
    return await this.store.list(prefix, options);
  }

  create(key: string, value: Buffer, options?: WriteOptions): Promise<number> {
    return this.store.create(key, value, options);
  }

  update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number> {
    return this.store.update(key, value, expected, options);
  }

  delete(key: string, expected: number): Promise<number> {
    return this.store.delete(key, expected);
  }

  async *watch(prefix: string, options: WatchOptions): AsyncGenerator<WatchBatch, void, undefined> {
    this.watches++;
    this.onWatch(options.after);
    const broken = new AbortController();
    const signal = AbortSignal.any([options.signal, broken.signal]);
    void this.#broken.wait(options.signal).then(() => broken.abort());
    for await (const batch of this.store.watch(prefix, { after: options.after, signal })) {
      for (const sent of await this.onBatch(batch)) yield sent;
    }
    if (broken.signal.aborted && !options.signal.aborted) throw this.#breakWith;
  }

  async currentRevision(): Promise<number> {
    this.questions++;
    await this.beforeQuestion();
    return await this.store.currentRevision();
  }

  compact(revision: number): Promise<void> {
    return this.store.compact(revision);
  }

  check(): Promise<void> {
    return this.store.check();
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
