import type {
  ListOptions,
  ListResult,
  Storage,
  StoredValue,
  WatchBatch,
  WatchOptions,
  WriteOptions,
} from '../../src/interface.ts';
import { MemoryStorage } from '../../src/memory/memory-storage.ts';
import { ConditionVariable } from '../../src/condition-variable.ts';

/**
 * TEST ONLY: a store in memory with switches for failures of backends. Unlike memory it has no local revision, unless
 * `local` is set.
 */
export class ScriptedBackend implements Storage {
  readonly store: MemoryStorage;
  /** Behaves as a store with one writer process. */
  local = false;
  /** Called before each request for the current revision; a test makes it wait or throw. */
  beforeCurrentRevision: () => Promise<void> = async () => undefined;
  beforeList: (options: ListOptions) => Promise<void> = async () => undefined;
  /** Transforms each batch of the watch; a test delays it, repeats it, or throws. */
  onBatch: (batch: WatchBatch) => Promise<readonly WatchBatch[]> = async (batch) => [batch];
  /** Called when a watch starts; a test may throw. */
  onWatch: (after: number) => void = () => undefined;
  revisionRequests = 0;
  watches = 0;
  readonly #broken = new ConditionVariable();
  #breakWith = new Error('nothing is broken');

  constructor(expiryIntervalMs = 0) {
    this.store = new MemoryStorage({ expiryIntervalMs });
  }

  get localRevision(): number | undefined {
    return this.local ? this.store.localRevision : undefined;
  }

  /** Ends all watches with an error. */
  breakWatches(error: Error): void {
    this.#breakWith = error;
    this.#broken.notifyAll();
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
    this.revisionRequests++;
    await this.beforeCurrentRevision();
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
