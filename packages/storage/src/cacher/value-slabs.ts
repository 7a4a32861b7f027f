/** Room for about 200 values of 1 KiB; big enough that a slab's own objects do not count, small enough to come and go. */
const slabSize = 256 * 1024;
/** A value above this gets memory of its own: it would waste the rest of a slab. */
const ownSlabFrom = slabSize / 4;
/** A slab of which less is in use is emptied by moving its values away. */
const sparseShare = 0.88;
/** Tidying begins when this share of what is in use is wasted. A byte that is removed costs about five bytes moved. */
const wastedShare = 1 / 5;
/** Waste below this is not worth any work. */
const wasteFloor = 8 * 1024 * 1024;

const nothing = Buffer.alloc(0);

/** One piece of memory with many values in it. */
export interface Slab {
  readonly bytes: Buffer;
  /** Bytes of values that were not released. */
  live: number;
}

/** Where a value lies. Whoever holds one may see it moved, never changed. */
export interface ValueHolder {
  slab: Slab;
  offset: number;
  readonly length: number;
}

/**
 * Memory for values. A Buffer of its own costs a value some 400 bytes beside its bytes (typed array, ArrayBuffer,
 * backing store, heap block), a slice of a network message keeps the whole message; here it costs two numbers and a
 * reference.
 *
 * Values are appended to the open slab. Releasing one only lowers its slab's `live`; a slab goes when nothing refers to
 * it any more (a reader's snapshot or Buffer keeps it). When too much of all slabs together is
 * waste, the owner moves the live values out of sparse slabs, step by step ({@link wasteful}, {@link relocate}), after
 * which less is wasted than it takes to begin again.
 */
export class ValueSlabs {
  #open: Slab = { bytes: nothing, live: 0 };
  #used = 0;
  #allocated = 0;
  #live = 0;

  /** Bytes of the values that were not released. */
  get liveBytes(): number {
    return this.#live;
  }

  /** Bytes of slabs that still have such a value in them. */
  get allocatedBytes(): number {
    return this.#allocated;
  }

  /** True when moving values out of sparse slabs pays. */
  get wasteful(): boolean {
    return this.#allocated - this.#live > this.#live * wastedShare + wasteFloor;
  }

  /** Copies a value in; the holder must be given back with {@link release}. */
  store(value: Buffer): { readonly slab: Slab; readonly offset: number } {
    const { length } = value;
    const place = this.#room(length);
    value.copy(place.slab.bytes, place.offset);
    place.slab.live += length;
    this.#live += length;
    return place;
  }

  release(holder: ValueHolder): void {
    const { slab, length } = holder;
    slab.live -= length;
    this.#live -= length;
    if (slab.live === 0 && slab !== this.#open) this.#allocated -= slab.bytes.length;
  }

  /** Moves the value when it lies in a sparse slab; returns the bytes moved. */
  relocate(holder: ValueHolder): number {
    const { slab, offset, length } = holder;
    if (slab === this.#open || slab.live >= slab.bytes.length * sparseShare || length === 0) return 0;
    const place = this.store(slab.bytes.subarray(offset, offset + length));
    this.release(holder);
    holder.slab = place.slab;
    holder.offset = place.offset;
    return length;
  }

  #room(length: number): { slab: Slab; offset: number } {
    if (length > ownSlabFrom) {
      // Slow: the fast one would cut it from Node's shared pool.
      const slab: Slab = { bytes: Buffer.allocUnsafeSlow(length), live: 0 };
      this.#allocated += length;
      return { slab, offset: 0 };
    }
    if (this.#used + length > this.#open.bytes.length) {
      if (this.#open.live === 0) this.#allocated -= this.#open.bytes.length;
      this.#open = { bytes: Buffer.allocUnsafeSlow(slabSize), live: 0 };
      this.#allocated += slabSize;
      this.#used = 0;
    }
    const offset = this.#used;
    this.#used += length;
    return { slab: this.#open, offset };
  }
}
