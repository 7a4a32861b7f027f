/**
 * What was built for a surface (the set of resources of a logical cluster), by its hash: tenants that serve the same
 * share it. Keeps the most recently used up to a total weight; a single entry beyond it is not kept.
 */
export class SurfaceCache<V> {
  readonly #capacity: number;
  readonly #weigh: (value: V) => number;
  readonly #entries = new Map<string, { readonly value: V; weight: number }>();
  #total = 0;

  constructor(capacity: number, weigh: (value: V) => number = () => 1) {
    this.#capacity = capacity;
    this.#weigh = weigh;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(hash: string): boolean {
    return this.#entries.has(hash);
  }

  /** The value for `hash`, made when it is not there. */
  get(hash: string, make: () => V): V {
    const found = this.#entries.get(hash);
    if (found !== undefined) {
      // A Map keeps the order of insertion: the first is always the least recently used.
      this.#entries.delete(hash);
      this.#entries.set(hash, found);
      return found.value;
    }
    const value = make();
    this.#entries.set(hash, { value, weight: 0 });
    this.reweigh(hash);
    return value;
  }

  delete(hash: string): void {
    const found = this.#entries.get(hash);
    if (found === undefined) return;
    this.#entries.delete(hash);
    this.#total -= found.weight;
  }

  /** Weighs an entry again, after it grew. */
  reweigh(hash: string): void {
    const found = this.#entries.get(hash);
    if (found === undefined) return;
    const weight = this.#weigh(found.value);
    if (weight > this.#capacity) {
      this.delete(hash);
      return;
    }
    this.#total += weight - found.weight;
    found.weight = weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#total <= this.#capacity) return;
      this.delete(oldest);
    }
  }
}
