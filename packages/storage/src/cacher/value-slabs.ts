/** Room for about 250 values of 1 KiB; big enough that a slab's own objects do not count, small enough to come and go. */
const slabSize = 256 * 1024;
/** A value above this gets memory of its own: it would waste the rest of a slab. */
const ownSlabFrom = slabSize / 4;
/** Tidying begins when this share of what is in use is wasted, and ends at half of it. */
const wastedShare = 1 / 5;
/** Waste below this is not worth any work. */
const wasteFloor = 8 * 1024 * 1024;
/** Emptying a slab with more than this in use would win too little. */
const sparseShare = 0.9;

/** One piece of memory with many values in it. */
export interface Slab {
  readonly bytes: Buffer;
  /** Whose values lie here, in the order they came; undefined: released or moved away. */
  readonly holders: (ValueHolder | undefined)[];
  /** Bytes of the values of `holders`. */
  live: number;
}

/** Offset of a holder whose value has not been read yet: its slab is what reads it. */
export const notRead = -1;

/** Whose value lies in a slab. It may be moved at any time, never changed. */
export interface ValueHolder {
  readonly length: number;
  slab: Slab;
  offset: number;
  /** Position among the holders of the slab. */
  index: number;
}

function newSlab(size: number): Slab {
  // Slow: the fast one would cut small sizes from Node's shared pool.
  return { bytes: Buffer.allocUnsafeSlow(size), holders: [], live: 0 };
}

/** Where a holder stands before its value is stored. */
export const noSlab: Slab = newSlab(0);

/**
 * Memory for values. A Buffer of its own costs a value nearly 400 bytes beside its bytes (typed array, ArrayBuffer,
 * backing store, heap block), a slice of a network message keeps the whole message; here it costs five words.
 *
 * Values are appended to the open slab. Releasing one only lowers its slab's `live`; the memory goes when nothing refers
 * to the slab any more (a reader's snapshot or Buffer keeps it, so a view never changes under its reader).
 *
 * When too much of all slabs together is waste, {@link tidy} empties slabs, those with most waste first, by moving what
 * is live to the open slab: a step with each write, so that it keeps up with what writes waste and never holds the loop.
 */
export class ValueSlabs {
  readonly #slabs = new Set<Slab>();
  #open = noSlab;
  /** Bytes of the open slab that are taken. */
  #used = 0;
  #allocated = 0;
  #live = 0;
  /** Slabs to be emptied, the sparsest last. */
  #sparse: Slab[] = [];
  /** Next holder of the last of `#sparse`. */
  #next = 0;

  /** Bytes of the values that were not released. */
  get liveBytes(): number {
    return this.#live;
  }

  /** Bytes of slabs that still have such a value in them. */
  get allocatedBytes(): number {
    return this.#allocated;
  }

  /** Copies a value in; give it back with {@link release}. */
  store(holder: ValueHolder, value: Buffer): void {
    this.#live += holder.length;
    this.#place(holder, value);
  }

  release(holder: ValueHolder): void {
    if (holder.offset === notRead) return;
    this.#live -= holder.length;
    this.#leave(holder);
  }

  /** A step of tidying: looks at up to `steps` values. */
  tidy(steps: number): void {
    const waste = this.#allocated - this.#live - wasteFloor;
    if (this.#sparse.length === 0) {
      if (waste <= this.#live * wastedShare) return;
      this.#findSparse();
    } else if (waste <= (this.#live * wastedShare) / 2) {
      this.#sparse = [];
      this.#next = 0;
      return;
    }
    for (let i = 0; i < steps; i++) {
      const slab = this.#sparse.at(-1);
      if (slab === undefined) return;
      if (this.#next === slab.holders.length || slab.live === 0) {
        this.#sparse.pop();
        this.#next = 0;
        continue;
      }
      const holder = slab.holders[this.#next++];
      if (holder === undefined) continue;
      const value = slab.bytes.subarray(holder.offset, holder.offset + holder.length);
      this.#leave(holder);
      this.#place(holder, value);
    }
  }

  #findSparse(): void {
    this.#sparse = [...this.#slabs].filter(
      (slab) => slab !== this.#open && slab.live < slab.bytes.length * sparseShare,
    );
    this.#sparse.sort((a, b) => b.live - a.live);
    this.#next = 0;
  }

  #place(holder: ValueHolder, value: Buffer): void {
    const { length } = holder;
    let slab = this.#open;
    let offset = 0;
    if (length > ownSlabFrom) {
      slab = this.#add(length);
    } else {
      if (this.#used + length > slab.bytes.length) {
        const full = slab;
        slab = this.#open = this.#add(slabSize);
        this.#used = 0;
        if (full.live === 0) this.#drop(full);
      }
      offset = this.#used;
      this.#used += length;
    }
    value.copy(slab.bytes, offset);
    holder.slab = slab;
    holder.offset = offset;
    holder.index = slab.holders.push(holder) - 1;
    slab.live += length;
  }

  #leave(holder: ValueHolder): void {
    const { slab } = holder;
    slab.holders[holder.index] = undefined;
    slab.live -= holder.length;
    if (slab.live === 0 && slab !== this.#open) this.#drop(slab);
  }

  #add(size: number): Slab {
    const slab = newSlab(size);
    this.#slabs.add(slab);
    this.#allocated += size;
    return slab;
  }

  #drop(slab: Slab): void {
    if (this.#slabs.delete(slab)) this.#allocated -= slab.bytes.length;
  }
}
