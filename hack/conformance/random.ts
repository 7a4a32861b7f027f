/**
 * Choices of a generator, all of them derived from a text: the same text gives the same scenario on every machine
 * (mulberry32 over a 32-bit FNV-1a hash).
 */
export class Random {
  #state: number;
  constructor(seed: string) {
    let hash = 0x811c9dc5;
    for (const byte of Buffer.from(seed)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
    this.#state = hash;
  }

  /** In [0, 1). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** In [0, bound). */
  int(bound: number): number {
    return Math.floor(this.fraction() * bound);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.int(values.length)] as T;
  }

  /** Each entry is `[weight, value]`. */
  weighted<T>(entries: readonly (readonly [number, T])[]): T {
    let rest = this.fraction() * entries.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of entries) {
      rest -= weight;
      if (rest < 0) return value;
    }
    return (entries.at(-1) as readonly [number, T])[1];
  }

  /** Between 0 and `most` different values. */
  some<T>(values: readonly T[], most: number): T[] {
    const left = [...values];
    const chosen: T[] = [];
    for (let count = this.int(most + 1); count > 0 && left.length > 0; count--)
      chosen.push(...left.splice(this.int(left.length), 1));
    return chosen;
  }

  list<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.int(most + 1) }, make);
  }

  /** The object with each of the optional members or without it. */
  optional(probability: number, members: Readonly<Record<string, () => unknown>>): Record<string, unknown> {
    const chosen: Record<string, unknown> = {};
    for (const [name, make] of Object.entries(members)) if (this.chance(probability)) chosen[name] = make();
    return chosen;
  }
}
