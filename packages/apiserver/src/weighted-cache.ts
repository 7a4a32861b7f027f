import { LRUCache } from 'lru-cache';

/**
 * Values by the hash of what they were computed from, so that logical clusters that serve the same APIs share them. Keeps
 * the most recently used values up to a total weight; a value that exceeds it alone is not kept.
 */
export class WeightedCache<V extends object> {
  readonly #cache: LRUCache<string, V>;

  constructor(capacity: number, weigh: (value: V) => number = () => 1) {
    // lru-cache requires positive sizes; a value that is still being computed weighs 0.
    this.#cache = new LRUCache({ maxSize: capacity, sizeCalculation: (value) => Math.max(1, weigh(value)) });
  }

  get size(): number {
    return this.#cache.size;
  }

  has(hash: string): boolean {
    return this.#cache.has(hash);
  }

  /** The value for `hash`, computed on a miss. */
  get(hash: string, compute: () => V): V {
    const cached = this.#cache.get(hash);
    if (cached !== undefined) return cached;
    const value = compute();
    this.#cache.set(hash, value);
    return value;
  }

  delete(hash: string): void {
    this.#cache.delete(hash);
  }

  /** Weighs a value again after it grew. */
  reweigh(hash: string): void {
    const value = this.#cache.peek(hash);
    if (value === undefined) return;
    // lru-cache keeps the size of an entry that is set to the same value.
    this.#cache.delete(hash);
    this.#cache.set(hash, value);
  }
}
