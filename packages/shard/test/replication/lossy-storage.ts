import { CompactedError, MemoryStorage, type Storage, type WatchBatch } from '@multiplane/storage';

/** A cache storage that can lose all data: it is empty then, revisions restart, and watches fail with Compacted. */
export class LossyStorage implements Storage {
  #inner = new MemoryStorage();
  #lost = Promise.withResolvers<never>();
  /** Number of committed writes. */
  writes = 0;
  /** Called for every created or updated object. */
  onPut: (key: string, value: Buffer) => void = () => {};

  constructor() {
    this.#lost.promise.catch(() => {});
  }

  lose(): void {
    const { reject } = this.#lost;
    this.#inner = new MemoryStorage();
    this.#lost = Promise.withResolvers<never>();
    this.#lost.promise.catch(() => {});
    reject(new CompactedError(1, 2));
  }

  async create(...parameters: Parameters<Storage['create']>): Promise<number> {
    const revision = await this.#inner.create(...parameters);
    this.writes += 1;
    this.onPut(parameters[0], parameters[1]);
    return revision;
  }
  async update(...parameters: Parameters<Storage['update']>): Promise<number> {
    const revision = await this.#inner.update(...parameters);
    this.writes += 1;
    this.onPut(parameters[0], parameters[1]);
    return revision;
  }
  async delete(...parameters: Parameters<Storage['delete']>): Promise<number> {
    const revision = await this.#inner.delete(...parameters);
    this.writes += 1;
    return revision;
  }
  async *watch(...parameters: Parameters<Storage['watch']>): AsyncGenerator<WatchBatch> {
    const lost = this.#lost.promise;
    const batches = this.#inner.watch(...parameters)[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([batches.next(), lost]);
      if (next.done === true) return;
      yield next.value;
    }
  }
  get: Storage['get'] = (key) => this.#inner.get(key);
  list: Storage['list'] = (prefix, options) => this.#inner.list(prefix, options);
  currentRevision: Storage['currentRevision'] = () => this.#inner.currentRevision();
  compact: Storage['compact'] = (revision) => this.#inner.compact(revision);
  check: Storage['check'] = () => this.#inner.check();
  close: Storage['close'] = () => this.#inner.close();
}

/** The injected outcome of a write. */
export type WriteOutcome = 'done' | 'refused' | 'unanswered' | 'late';
