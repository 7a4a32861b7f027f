/** A Map doubles in one go; parts of this size do so within a fraction of a millisecond. */
const parts = 256;

/**
 * A map for millions of short ASCII keys: many small maps instead of a big one, so that no insertion holds the event
 * loop while all of it is laid out anew. Keys are copied out of the text they were parsed from, which they would
 * otherwise keep alive.
 */
export class NameMap<V> {
  readonly #parts: (Map<string, V> | undefined)[] = Array.from({ length: parts });
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    return this.#parts[partOf(key)]?.get(key);
  }

  has(key: string): boolean {
    return this.#parts[partOf(key)]?.has(key) === true;
  }

  set(key: string, value: V): void {
    const at = partOf(key);
    let part = this.#parts[at];
    if (part === undefined) {
      part = new Map();
      this.#parts[at] = part;
    }
    if (part.has(key)) {
      part.set(key, value);
      return;
    }
    part.set(ownCopy(key), value);
    this.#size++;
  }

  delete(key: string): void {
    if (this.#parts[partOf(key)]?.delete(key) === true) this.#size--;
  }
}

/** FNV-1a of the key. */
function partOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) & (parts - 1);
}

/** A text that shares no memory with another one: no slice of a longer text, no concatenation of shorter ones. */
export function ownCopy(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
