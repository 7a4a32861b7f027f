/**
 * A WeakMap that knows no more than its last entries: those set since the last two times that `size` were set.
 *
 * Marking follows an entry of a WeakMap only when it has found its key, so what only such entries lead to is found while
 * everything else stands still. Tens of thousands of them, each with a tree behind it, were most of the longest pauses of
 * a server. Here there are few, and still none outlives its key.
 */
export class RecentWeakMap<K extends object, V> {
  readonly #size: number;
  #young = new WeakMap<K, V>();
  #old = new WeakMap<K, V>();
  #count = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** What was found is used, and counts as new. */
  get(key: K): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: K, value: V): void {
    if (++this.#count > this.#size) {
      this.#old = this.#young;
      this.#young = new WeakMap();
      this.#count = 1;
    }
    this.#young.set(key, value);
  }
}
