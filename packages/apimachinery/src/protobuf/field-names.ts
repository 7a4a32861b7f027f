export const emptyHash = 0x811c9dc5 | 0;
/** FNV-1a, one byte. */
export const hashByte = (hash: number, byte: number): number => Math.imul(hash ^ byte, 0x01000193);

/** Finds the fields of a message by the bytes of their names: an open-addressing hash table with at most half of its places used. */
export class FieldNames {
  /** Two numbers per place: the hash of a name and its index plus one; 0 if the place is free. */
  readonly #places: Int32Array;
  readonly #mask: number;
  readonly #names: readonly Buffer[];
  /** By the index of a name plus one: the index of the name that followed it in the last object, or -1. */
  readonly #followers: Int16Array;

  /** The index of a name is its place in `names`. */
  constructor(names: readonly string[]) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(2, names.length * 2)));
    this.#mask = size - 1;
    this.#places = new Int32Array(size * 2);
    this.#names = names.map((name) => Buffer.from(name));
    this.#followers = new Int16Array(names.length + 1).fill(-1);
    for (const [index, name] of this.#names.entries()) {
      const hash = name.reduce(hashByte, emptyHash);
      let place = hash & this.#mask;
      while (this.#places[place * 2 + 1] !== 0) place = (place + 1) & this.#mask;
      this.#places[place * 2] = hash;
      this.#places[place * 2 + 1] = index + 1;
    }
  }

  /**
   * The index of the name that starts here if it is the one that followed `previous` (an index, -1 for the first member) in the last
   * object; else -1. Objects of one list mostly have the same members in the same order, and comparing them with these takes half the time of
   * hashing them.
   */
  follower(bytes: Buffer, start: number, previous: number): number {
    const index = this.#followers[previous + 1] as number;
    if (index < 0) return -1;
    const name = this.#names[index] as Buffer;
    const { length } = name;
    for (let at = 0; at < length; at++) if (name[at] !== bytes[start + at]) return -1;
    return bytes[start + length] === 0x22 ? index : -1;
  }

  /** Remembers that a name followed another one. */
  setFollower(previous: number, index: number): void {
    this.#followers[previous + 1] = index;
  }

  lengthOf(index: number): number {
    return (this.#names[index] as Buffer).length;
  }

  /** The index of the name in `bytes` from `start` to `end`, which has this hash; -1 if there is none. */
  find(bytes: Buffer, start: number, end: number, hash: number): number {
    for (let place = hash & this.#mask; ; place = (place + 1) & this.#mask) {
      const index = (this.#places[place * 2 + 1] as number) - 1;
      if (index < 0) return -1;
      if (this.#places[place * 2] === hash && isEqual(this.#names[index] as Buffer, bytes, start, end)) return index;
    }
  }
}

/** Whether these are the bytes from `start` to `end`. */
export function isEqual(name: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let index = 0; index < name.length; index++) if (name[index] !== bytes[start + index]) return false;
  return true;
}
