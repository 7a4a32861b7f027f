import { isRefusal } from './api-error.ts';
import { LiveList, type LiveListModules } from './live-list.ts';
import type { ReflectorOptions } from './reflector.ts';

interface Entry {
  readonly list: LiveList<unknown>;
  users: number;
}

/** A page that is left and opened again within this time finds its list still running. */
const lingerMs = 5000;

/** One reflector per collection and selector, however many components show it; it stops when the last one has left. */
export class LiveListPool {
  readonly #modules: LiveListModules<never>;
  readonly #entries = new Map<string, Entry>();
  readonly #connectionListeners = new Set<() => void>();

  constructor(modules: LiveListModules<never>) {
    this.#modules = modules;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Some list cannot be kept current, because the server is not reached. */
  get isInterrupted(): boolean {
    return [...this.#entries.values()].some(({ list }) => {
      const { failure } = list.snapshot();
      return failure !== undefined && !isRefusal(failure);
    });
  }

  /** Calls the listener when `isInterrupted` may have changed, until the returned function is called. */
  readonly onConnection = (listener: () => void): (() => void) => {
    this.#connectionListeners.add(listener);
    return () => this.#connectionListeners.delete(listener);
  };

  static keyOf<T>({ path, labelSelector = '', fieldSelector = '', codec }: ReflectorOptions<T>): string {
    return JSON.stringify([path, labelSelector, fieldSelector, codec.accept]);
  }

  /** The list runs until the returned function is called by every user. */
  subscribe<T>(options: ReflectorOptions<T>, listener: () => void): () => void {
    const key = LiveListPool.keyOf(options);
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      // The key contains the codec, so that the type of the items of an entry never changes.
      entry = { list: new LiveList(options, this.#modules), users: 0 };
      this.#entries.set(key, entry);
      entry.list.subscribe(() => this.#connectionChanged());
      entry.list.start();
    }
    entry.users++;
    const used = entry;
    const unsubscribe = used.list.subscribe(listener);
    return () => {
      unsubscribe();
      used.users--;
      if (used.users === 0) void this.#endUnlessUsed(key, used);
    };
  }

  find<T>(options: ReflectorOptions<T>): LiveList<T> | undefined {
    return this.#entries.get(LiveListPool.keyOf(options))?.list as LiveList<T> | undefined;
  }

  async #endUnlessUsed(key: string, entry: Entry): Promise<void> {
    await this.#modules.clock.sleep(lingerMs, new AbortController().signal);
    if (entry.users > 0 || this.#entries.get(key) !== entry) return;
    this.#entries.delete(key);
    entry.list.stop();
    this.#connectionChanged();
  }

  #connectionChanged(): void {
    for (const listener of this.#connectionListeners) listener();
  }
}
