/** About 250 values of 1 KiB: the overhead of a slab is small per value, and slabs are freed soon. */
const slabSize = 256 * 1024;
/** Larger values get a slab of their own, since they would waste the rest of a shared one. */
const dedicatedSlabBytes = slabSize / 4;
/** Compaction starts when waste exceeds this fraction of the live bytes, and ends at half of it. */
const maxWasteFraction = 1 / 5;
/** Waste up to this never starts a compaction. */
const minWasteBytes = 8 * 1024 * 1024;
/** Slabs with a larger fraction of live bytes are not compacted. */
const maxLiveFraction = 0.9;

/** A block of memory that holds many values. */
export interface Slab {
  readonly bytes: Buffer;
  /** The owners of the values, in the order of their positions; undefined: released or moved. */
  readonly holders: (ValueHolder | undefined)[];
  /** Bytes of the values of `holders`. */
  live: number;
}

/** Offset of a holder whose value is not in memory: its slab is a {@link LazySlab}. */
export const notLoaded = -1;

/** Takes the place of a slab for values that are not in memory. */
export interface LazySlab extends Slab {
  /** Reads the value of the holder and moves it to a real slab. Throws StorageUnavailableError. */
  load(holder: ValueHolder): void;
}

/** The owner of a value in a slab. Compaction may move the value at any time; its bytes never change. */
export interface ValueHolder {
  readonly length: number;
  slab: Slab;
  offset: number;
  /** Index in {@link Slab.holders}. */
  index: number;
}

function newSlab(size: number): Slab {
  // Buffer.allocUnsafe would take small sizes from Node's shared pool.
  return { bytes: Buffer.allocUnsafeSlow(size), holders: [], live: 0 };
}

/** The slab of holders whose value is not stored yet. */
export const emptySlab: Slab = newSlab(0);

/**
 * Slab allocator for values. A Buffer per value costs nearly 400 bytes in addition to the bytes (typed array, ArrayBuffer,
 * backing store, heap block), and a slice of a network message retains the whole message; a value in a slab costs five
 * words (docs/adr/0008-watch-cache-persistent-tree-and-slabs.md).
 *
 *   store        appends the value to the open slab
 *   release      decreases `live` of the slab; V8 frees the memory when nothing refers to the slab any more. Snapshots and
 *                Buffers of readers keep it alive, so the bytes under a view never change.
 *   compactStep  while too much of all slabs is waste: empties slabs, those with most waste first, by moving live values to
 *                the open slab. A bounded step with each write keeps up with the waste of writes without blocking the
 *                event loop.
 */
export class ValueSlabs {
  readonly #slabs = new Set<Slab>();
  #open = emptySlab;
  /** Used bytes of the open slab. */
  #used = 0;
  #allocated = 0;
  #live = 0;
  /** Slabs to compact, the sparsest last. */
  #sparse: Slab[] = [];
  /** Index of the next holder of the last of `#sparse`. */
  #next = 0;

  /** Bytes of the values that are not released. */
  get liveBytes(): number {
    return this.#live;
  }

  /** Bytes of the slabs that hold such a value. */
  get allocatedBytes(): number {
    return this.#allocated;
  }

  /** Copies a value into a slab; {@link release} frees it. */
  store(holder: ValueHolder, value: Buffer): void {
    this.#live += holder.length;
    this.#place(holder, value);
  }

  release(holder: ValueHolder): void {
    if (holder.offset === notLoaded) return;
    this.#live -= holder.length;
    this.#removeFromSlab(holder);
  }

  /** Examines up to `steps` values. Returns false when there is nothing to compact. */
  compactStep(steps: number): boolean {
    const waste = this.#allocated - this.#live - minWasteBytes;
    if (this.#sparse.length === 0) {
      if (waste <= this.#live * maxWasteFraction) return false;
      this.#findSparse();
    } else if (waste <= (this.#live * maxWasteFraction) / 2) {
      this.#sparse = [];
      this.#next = 0;
      return false;
    }
    for (let i = 0; i < steps; i++) {
      const slab = this.#sparse.at(-1);
      if (slab === undefined) return false;
      if (this.#next === slab.holders.length || slab.live === 0) {
        this.#sparse.pop();
        this.#next = 0;
        continue;
      }
      const holder = slab.holders[this.#next++];
      if (holder === undefined) continue;
      const value = slab.bytes.subarray(holder.offset, holder.offset + holder.length);
      this.#removeFromSlab(holder);
      this.#place(holder, value);
    }
    return true;
  }

  #findSparse(): void {
    this.#sparse = [...this.#slabs].filter(
      (slab) => slab !== this.#open && slab.live < slab.bytes.length * maxLiveFraction,
    );
    this.#sparse.sort((a, b) => b.live - a.live);
    this.#next = 0;
  }

  #place(holder: ValueHolder, value: Buffer): void {
    const { length } = holder;
    let slab = this.#open;
    let offset = 0;
    if (length > dedicatedSlabBytes) {
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

  #removeFromSlab(holder: ValueHolder): void {
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
