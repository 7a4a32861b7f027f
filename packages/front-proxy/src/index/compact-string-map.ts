/** Each part grows by itself, within a fraction of a millisecond; all of it at once would hold the event loop. */
const parts = 256;

/**
 * A map from short texts to short texts, for millions of them: names of logical clusters and workspaces, Latin-1, of at
 * most 65,535 characters each. Keys and values are bytes outside of the heap, so that an entry costs its characters and
 * about 20 bytes, and the garbage collector sees none of them; a Map of strings costs four times as much.
 */
export class NameMap {
  readonly #parts: (NamePart | undefined)[] = Array.from({ length: parts });
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
      part = new NamePart();
      this.#parts[at] = part;
    }
    if (part.set(hash, key, value)) this.#size++;
  }

  delete(key: string): void {
    const hash = hashOf(key);
    if (this.#parts[hash & (parts - 1)]?.delete(hash, key) === true) this.#size--;
  }
}

const smallest = 8;
const deleted = 0xffffffff;
/** Two lengths stand before the characters of a key and its value. */
const headBytes = 4;

/**
 * One part: a hash table with open addressing over records in one block of bytes.
 *
 * A slot is the hash of a key and the place of its record plus one; a place of 0 is a free slot, {@link deleted} one that
 * was freed and must not end a search. Records are only ever appended; what is replaced or deleted leaves garbage, and
 * when that is half of the block, or slots run out, both are made anew from the records that are left.
 */
class NamePart {
  #slots = new Uint32Array(2 * smallest);
  #records = Buffer.alloc(0);
  #used = 0;
  #garbage = 0;
  #count = 0;
  /** Slots that are not free: entries and deleted ones. */
  #taken = 0;

  has(hash: number, key: string): boolean {
    return this.#find(hash, key) >= 0;
  }

  get(hash: number, key: string): string | undefined {
    const slot = this.#find(hash, key);
    return slot < 0 ? undefined : this.#valueAt((this.#slots[slot + 1] as number) - 1);
  }

  /** True when the key is new. */
  set(hash: number, key: string, value: string): boolean {
    const known = this.#find(hash, key);
    if (known >= 0) {
      const place = (this.#slots[known + 1] as number) - 1;
      if (this.#valueAt(place) === value) return false;
      this.#garbage += this.#lengthAt(place);
      this.#slots[known + 1] = this.#append(key, value) + 1;
      return false;
    }
    if ((this.#taken + 1) * 3 > this.#slots.length) this.#rebuild();
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

  /** Index of the slot of a key; negative when it has none. */
  #find(hash: number, key: string): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let at = (hash >>> 7) & mask & ~1; ; at = (at + 2) & mask) {
      const place = slots[at + 1] as number;
      if (place === 0) return -1;
      if (slots[at] === hash && place !== deleted && this.#isKeyAt(place - 1, key)) return at;
    }
  }

  #isKeyAt(place: number, key: string): boolean {
    const records = this.#records;
    if (records.readUInt16LE(place) !== key.length) return false;
    const start = place + headBytes;
    for (let i = 0; i < key.length; i++) if (records[start + i] !== key.charCodeAt(i)) return false;
    return true;
  }

  #valueAt(place: number): string {
    const start = place + headBytes + this.#records.readUInt16LE(place);
    return this.#records.toString('latin1', start, start + this.#records.readUInt16LE(place + 2));
  }

  #lengthAt(place: number): number {
    return headBytes + this.#records.readUInt16LE(place) + this.#records.readUInt16LE(place + 2);
  }

  #insert(hash: number, place: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = (hash >>> 7) & mask & ~1;
    while (slots[at + 1] !== 0) at = (at + 2) & mask;
    slots[at] = hash;
    slots[at + 1] = place + 1;
    this.#taken++;
  }

  #append(key: string, value: string): number {
    const length = headBytes + key.length + value.length;
    if (this.#used + length > this.#records.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(256, Math.ceil((this.#used + length) * 1.25)));
      this.#records.copy(larger, 0, 0, this.#used);
      this.#records = larger;
    }
    const place = this.#used;
    this.#records.writeUInt16LE(key.length, place);
    this.#records.writeUInt16LE(value.length, place + 2);
    this.#records.write(key, place + headBytes, 'latin1');
    this.#records.write(value, place + headBytes + key.length, 'latin1');
    this.#used += length;
    return place;
  }

  #rebuild(): void {
    const slots = this.#slots;
    const records = this.#records;
    let size = 2 * smallest;
    // At most half full after it, so that it does not come again at once.
    while (size < this.#count * 4 + 2) size *= 2;
    this.#slots = new Uint32Array(size);
    this.#records = Buffer.allocUnsafeSlow(Math.max(256, Math.ceil((this.#used - this.#garbage) * 1.25)));
    this.#taken = 0;
    let used = 0;
    for (let at = 0; at < slots.length; at += 2) {
      const place = slots[at + 1] as number;
      if (place === 0 || place === deleted) continue;
      const end = place - 1 + headBytes + records.readUInt16LE(place - 1) + records.readUInt16LE(place + 1);
      records.copy(this.#records, used, place - 1, end);
      this.#insert(slots[at] as number, used);
      used += end - place + 1;
    }
    this.#used = used;
    this.#garbage = 0;
  }
}

/** FNV-1a, mixed once more so that its low and its high bits are of use both. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
