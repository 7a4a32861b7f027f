/** The lane of the server's own work: storage, caches, controllers. */
export const systemLane = '';

interface Lane {
  readonly name: string;
  readonly callbacks: (() => void)[];
  /** Index of the first callback that was not taken. */
  first: number;
  /** Milliseconds that its callbacks have used, counted from {@link FairLanes} `#now` at its first one. */
  usedMs: number;
  /** Index in the heap, -1: no callback waits. */
  place: number;
}

/** Lanes without callbacks that are kept for what they have used. */
const maxIdleLanes = 1_000;

/**
 * Callbacks by lane, a lane per logical cluster, with start-time fair queuing: the lane that has used the least time is next,
 * and a lane that becomes active starts at the time of the lane served last, so that an idle past gives no credit.
 *
 * The server's own work is a lane beside all others together: events of the storage must reach caches within an iteration
 * or two of the event loop however many tenants compute, and a long catch-up must not stop the tenants.
 *
 * Callbacks of one lane are taken in FIFO order. Adding and taking one costs O(log lanes).
 */
export class FairLanes {
  readonly #lanes = new Map<string, Lane>();
  /** Tenants' lanes with callbacks: a binary heap by {@link Lane.usedMs}. */
  readonly #heap: Lane[] = [];
  readonly #system = newLane(systemLane, 0);
  /** Used time of the tenant's lane that was served last. */
  #now = 0;
  /** Time that all tenants together have used, comparable with that of the system's lane. */
  #tenantsMs = 0;
  #taken: Lane | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(callback: () => void, name: string): void {
    this.#size++;
    if (name === systemLane) {
      if (isEmpty(this.#system)) this.#system.usedMs = Math.max(this.#system.usedMs, this.#tenantsMs);
      this.#system.callbacks.push(callback);
      return;
    }
    if (this.#heap.length === 0) this.#tenantsMs = Math.max(this.#tenantsMs, this.#system.usedMs);
    const lane = this.#lanes.get(name) ?? this.#newLane(name);
    lane.callbacks.push(callback);
    if (lane.place >= 0) return;
    if (lane.usedMs < this.#now) lane.usedMs = this.#now;
    lane.place = this.#heap.length;
    this.#heap.push(lane);
    this.#siftUp(lane);
  }

  /** The next callback; its time is charged by {@link charge}. */
  take(): (() => void) | undefined {
    if (this.#size === 0) return undefined;
    this.#size--;
    const tenant = this.#heap[0];
    const isSystem = tenant === undefined || (!isEmpty(this.#system) && this.#system.usedMs <= this.#tenantsMs);
    const lane = isSystem ? this.#system : tenant;
    const callback = lane.callbacks[lane.first++];
    this.#taken = lane;
    if (isEmpty(lane)) {
      lane.callbacks.length = 0;
      lane.first = 0;
    } else if (lane.first > 1_000) {
      lane.callbacks.splice(0, lane.first);
      lane.first = 0;
    }
    if (!isSystem) {
      this.#now = lane.usedMs;
      if (isEmpty(lane)) this.#removeFirst();
    }
    // Debts matter only while others wait.
    if (this.#size === 0) this.#reset();
    return callback;
  }

  /** Milliseconds that the callback taken last and its microtasks have used. */
  charge(ms: number): void {
    const lane = this.#taken;
    this.#taken = undefined;
    if (lane === undefined) return;
    lane.usedMs += ms;
    if (lane === this.#system) return;
    this.#tenantsMs += ms;
    if (lane.place >= 0) this.#siftDown(lane);
  }

  #newLane(name: string): Lane {
    if (this.#lanes.size > this.#heap.length * 2 + maxIdleLanes) {
      for (const lane of this.#lanes.values())
        if (lane.place < 0 && lane.usedMs <= this.#now) this.#lanes.delete(lane.name);
    }
    const lane = newLane(name, this.#now);
    this.#lanes.set(name, lane);
    return lane;
  }

  #reset(): void {
    this.#lanes.clear();
    this.#taken = undefined;
    this.#now = 0;
    this.#tenantsMs = 0;
    this.#system.usedMs = 0;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const first = heap[0] as Lane;
    const last = heap.pop() as Lane;
    first.place = -1;
    if (last === first) return;
    heap[0] = last;
    last.place = 0;
    this.#siftDown(last);
  }

  #siftUp(lane: Lane): void {
    const heap = this.#heap;
    while (lane.place > 0) {
      const parent = heap[(lane.place - 1) >> 1] as Lane;
      if (parent.usedMs <= lane.usedMs) return;
      this.#swap(parent, lane);
    }
  }

  #siftDown(lane: Lane): void {
    const heap = this.#heap;
    for (;;) {
      let child = heap[2 * lane.place + 1];
      if (child === undefined) return;
      const right = heap[2 * lane.place + 2];
      if (right !== undefined && right.usedMs < child.usedMs) child = right;
      // A lane that has used as much as another one goes behind it.
      if (child.usedMs > lane.usedMs) return;
      this.#swap(lane, child);
    }
  }

  #swap(upper: Lane, lower: Lane): void {
    const { place } = upper;
    upper.place = lower.place;
    lower.place = place;
    this.#heap[upper.place] = upper;
    this.#heap[lower.place] = lower;
  }
}

function newLane(name: string, usedMs: number): Lane {
  return { name, callbacks: [], first: 0, usedMs, place: -1 };
}

const isEmpty = ({ callbacks, first }: Lane): boolean => first === callbacks.length;
