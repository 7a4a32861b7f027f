import { CompactedError, MemoryStorage, type Storage, type WatchBatch } from '@multiplane/storage';

/** A store of replicas that can be lost altogether: it is empty then, counts from the beginning, and says that history is gone. */
export class SharedStore implements Storage {
  #inner = new MemoryStorage();
  #lost = Promise.withResolvers<never>();
  /** Writes that took place. */
  writes = 0;
  /** Told of every replica that was put. */
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

/** What becomes of a write. */
export type Fate = 'done' | 'refused' | 'unanswered' | 'late';
