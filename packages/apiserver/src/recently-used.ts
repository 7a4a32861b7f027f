interface Kept<V> {
  readonly value: V;
  readonly weight: number;
  used: boolean;
}

/**
 * Keeps values up to a total weight, those that were used lately rather than others ("second chance"):
 *
 *   looking one up marks it, and moves nothing: a Map that is reordered at every look is rebuilt every few thousand looks
 *   beyond the limit the oldest go, but a marked one loses its mark and counts as new instead
 *
 * A whole share goes at once, so that the walk over those that stay is rare. What was put in last always stays.
 */
export class RecentlyUsed<K, V> {
  readonly #capacity: number;
  readonly #weigh: (value: V, key: K) => number;
  readonly #kept = new Map<K, Kept<V>>();
  #weight = 0;

  constructor(capacity: number, weigh: (value: V, key: K) => number = () => 1) {
    this.#capacity = capacity;
    this.#weigh = weigh;
  }

  /** What is kept, together. */
  get weight(): number {
    return this.#weight;
  }

  get(key: K): V | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    kept.used = true;
    return kept.value;
  }

  /** The same, but this is no use. */
  peek(key: K): V | undefined {
    return this.#kept.get(key)?.value;
  }

  set(key: K, value: V): void {
    const weight = this.#weigh(value, key);
    this.#weight += weight - (this.#kept.get(key)?.weight ?? 0);
    this.#kept.set(key, { value, weight, used: false });
    if (this.#weight > this.#capacity) this.#shrink(key);
  }

  delete(key: K): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#kept.delete(key);
    this.#weight -= kept.weight;
  }

  clear(): void {
    this.#kept.clear();
    this.#weight = 0;
  }

  /** Ends: what is put back at the end of the map has no mark any more. */
  #shrink(last: K): void {
    const enough = this.#capacity - this.#capacity / 8;
    for (const [key, kept] of this.#kept) {
      if (this.#weight <= enough) return;
      if (key === last) continue;
      this.#kept.delete(key);
      if (kept.used) {
        kept.used = false;
        this.#kept.set(key, kept);
      } else this.#weight -= kept.weight;
    }
  }
}
