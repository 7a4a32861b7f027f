/** Each part grows on its own in a fraction of a millisecond; growing the whole map would block the event loop. */
const parts = 256;

/**
 * A map between short Latin-1 strings (names of logical clusters and workspaces, at most 65,535 characters each) for millions
 * of entries. Entries are stored outside of the JavaScript heap, so an entry costs its characters plus about 20 bytes and no
 * work of the garbage collector; a Map of strings takes four times as much memory.
 */
export class CompactStringMap {
  readonly #parts: (MapPart | undefined)[] = Array.from({ length: parts });
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): string | undefined {
    const hash = hashOf(key);
    return this.#parts[hash & (parts - 1)]?.get(hash, key);
  }

  has(key: string): boolean {
    const hash = hashOf(key);
    return this.#parts[hash & (parts - 1)]?.has(hash, key) === true;
  }

  set(key: string, value: string): void {
    const hash = hashOf(key);
    const at = hash & (parts - 1);
    let part = this.#parts[at];
    if (part === undefined) {
      part = new MapPart();
      this.#parts[at] = part;
    }
    if (part.set(hash, key, value)) this.#size++;
  }

  delete(key: string): void {
    const hash = hashOf(key);
    if (this.#parts[hash & (parts - 1)]?.delete(hash, key) === true) this.#size--;
  }
}

const minSlots = 8;
const deleted = 0xffffffff;
/** The lengths of key and value at the start of a record. */
const headBytes = 4;

/**
 * One part of the map: a hash table with open addressing over records in one buffer.
 *
 * A slot holds the hash of a key and the offset of its record plus one; 0 marks a free slot, {@link deleted} a tombstone that
 * does not end a search. Records are append-only; replaced and deleted records become garbage. When garbage exceeds half of
 * the buffer, or slots run out, both are rebuilt from the live records.
 */
class MapPart {
  #slots = new Uint32Array(2 * minSlots);
  #records = Buffer.alloc(0);
  #used = 0;
  #garbage = 0;
  #count = 0;
  /** Entries and tombstones. */
  #usedSlots = 0;

  has(hash: number, key: string): boolean {
    return this.#find(hash, key) >= 0;
  }

  get(hash: number, key: string): string | undefined {
    const slot = this.#find(hash, key);
    return slot < 0 ? undefined : this.#valueAt((this.#slots[slot + 1] as number) - 1);
  }

  /** Returns true if the key is new. */
  set(hash: number, key: string, value: string): boolean {
    const slot = this.#find(hash, key);
    if (slot >= 0) {
      const offset = (this.#slots[slot + 1] as number) - 1;
      if (this.#valueAt(offset) === value) return false;
      this.#garbage += this.#lengthAt(offset);
      this.#slots[slot + 1] = this.#append(key, value) + 1;
      return false;
    }
    if ((this.#usedSlots + 1) * 3 > this.#slots.length) this.#rebuild();
    this.#insert(hash, this.#append(key, value));
    this.#count++;
    return true;
  }

  delete(hash: number, key: string): boolean {
    const slot = this.#find(hash, key);
    if (slot < 0) return false;
    this.#garbage += this.#lengthAt((this.#slots[slot + 1] as number) - 1);
    this.#slots[slot + 1] = deleted;
    this.#count--;
    if (this.#garbage * 2 > this.#used) this.#rebuild();
    return true;
  }

  /** Index of the slot of a key; negative if the key is absent. */
  #find(hash: number, key: string): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let at = (hash >>> 7) & mask & ~1; ; at = (at + 2) & mask) {
      const offset = slots[at + 1] as number;
      if (offset === 0) return -1;
      if (slots[at] === hash && offset !== deleted && this.#isKeyAt(offset - 1, key)) return at;
    }
  }

  #isKeyAt(offset: number, key: string): boolean {
    const records = this.#records;
    if (records.readUInt16LE(offset) !== key.length) return false;
    const start = offset + headBytes;
    for (let i = 0; i < key.length; i++) if (records[start + i] !== key.charCodeAt(i)) return false;
    return true;
  }

  #valueAt(offset: number): string {
    const start = offset + headBytes + this.#records.readUInt16LE(offset);
    return this.#records.toString('latin1', start, start + this.#records.readUInt16LE(offset + 2));
  }

  #lengthAt(offset: number): number {
    return headBytes + this.#records.readUInt16LE(offset) + this.#records.readUInt16LE(offset + 2);
  }

  #insert(hash: number, offset: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = (hash >>> 7) & mask & ~1;
    while (slots[at + 1] !== 0) at = (at + 2) & mask;
    slots[at] = hash;
    slots[at + 1] = offset + 1;
    this.#usedSlots++;
  }

  #append(key: string, value: string): number {
    const length = headBytes + key.length + value.length;
    if (this.#used + length > this.#records.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(256, Math.ceil((this.#used + length) * 1.25)));
      this.#records.copy(larger, 0, 0, this.#used);
      this.#records = larger;
    }
    const offset = this.#used;
    this.#records.writeUInt16LE(key.length, offset);
    this.#records.writeUInt16LE(value.length, offset + 2);
    this.#records.write(key, offset + headBytes, 'latin1');
    this.#records.write(value, offset + headBytes + key.length, 'latin1');
    this.#used += length;
    return offset;
  }

  #rebuild(): void {
    const slots = this.#slots;
    const records = this.#records;
    let size = 2 * minSlots;
    // At most half full afterwards, so that the next rebuild is not imminent.
    while (size < this.#count * 4 + 2) size *= 2;
    this.#slots = new Uint32Array(size);
    this.#records = Buffer.allocUnsafeSlow(Math.max(256, Math.ceil((this.#used - this.#garbage) * 1.25)));
    this.#usedSlots = 0;
    let used = 0;
    for (let at = 0; at < slots.length; at += 2) {
      const offset = slots[at + 1] as number;
      if (offset === 0 || offset === deleted) continue;
      const end = offset - 1 + headBytes + records.readUInt16LE(offset - 1) + records.readUInt16LE(offset + 1);
      records.copy(this.#records, used, offset - 1, end);
      this.#insert(slots[at] as number, used);
      used += end - offset + 1;
    }
    this.#used = used;
    this.#garbage = 0;
  }
}

/** FNV-1a with a final mix, so that both low and high bits can be used. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
