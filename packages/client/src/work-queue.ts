import { lowPriorityQueue, type Clock, type Timer, type TimeSlicedQueue } from '@multiplane/component-base';

type QueueClock = Pick<Clock, 'after' | 'monotonic'>;

interface WorkQueueModules {
  readonly clock: QueueClock;
  /** Grants the time for keys of low priority; the process-wide low-priority queue by default. */
  readonly lowPriorityQueue?: Pick<TimeSlicedQueue, 'add' | 'hasTimeLeft'> | undefined;
}

interface WorkQueueOptions {
  /** Delay after the first failure in milliseconds, doubled with each consecutive one. */
  readonly baseDelayMs?: number;
  readonly maxDelayMs?: number;
}

/** At least one of so many keys is of low priority while there are any, so that they are not starved. */
const lowPriorityShare = 32;

/**
 * The work queue of a controller, with the guarantees of client-go's `workqueue`:
 *
 * - a key is queued at most once, however often it is added;
 * - a key in progress is not handed out again: if it is added meanwhile, it is requeued when it is done;
 * - a failed key is requeued after a delay that doubles with each consecutive failure, until {@link forget}.
 *
 * So a controller never reconciles a key twice at the same time, and never misses a change that occurs meanwhile.
 *
 * A second lane holds keys of low priority, as in controller-runtime's priority queue: the objects of the initial list,
 * most of which are reconciled already. They are handed out when no other key is queued, in time slices of the low-priority
 * queue, which all work queues of the process share; so that reconciling a large store after a start does not delay new
 * work. Adding a key at normal priority moves it out of that lane. One key in 32 is of low priority even under constant
 * load.
 */
export class WorkQueue<K extends string = string> {
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #clock: QueueClock;
  readonly #queue = new Fifo<K>();
  /** Keys of low priority, and their order, in which keys that have left the set are skipped. */
  readonly #lowPriority = new Set<K>();
  readonly #lowPriorityOrder = new Fifo<K>();
  #handedOut = 0;
  #hasRequestedSlice = false;
  readonly #slices: Pick<TimeSlicedQueue, 'add' | 'hasTimeLeft'>;
  readonly #dirty = new Set<K>();
  readonly #processing = new Set<K>();
  readonly #failures = new Map<K, number>();
  /** When keys were added that have not been reconciled since, the oldest first; a failed key stays. */
  readonly #pendingSince = new Map<K, number>();
  readonly #timers = new Map<K, { readonly at: number; readonly timer: Timer }>();
  readonly #waiters: ((key: K | undefined) => void)[] = [];
  #stopped = false;
  #adds = 0;
  #retries = 0;

  constructor(options: WorkQueueOptions, modules: WorkQueueModules) {
    this.#baseDelayMs = options.baseDelayMs ?? 5;
    this.#maxDelayMs = options.maxDelayMs ?? 60_000;
    this.#clock = modules.clock;
    this.#slices = modules.lowPriorityQueue ?? lowPriorityQueue;
  }

  /** Number of queued keys. */
  get length(): number {
    return this.#queue.length + this.#lowPriority.size;
  }

  /** Keys that were added so far while they were not queued. */
  get adds(): number {
    return this.#adds;
  }

  /** Calls of {@link addRateLimited} so far. */
  get retries(): number {
    return this.#retries;
  }

  /** Milliseconds since the key was added that waits longest for its reconciliation, failures and their delays included; 0 without one. */
  get oldestPendingMs(): number {
    const [since] = this.#pendingSince.values();
    return since === undefined ? 0 : this.#clock.monotonic() - since;
  }

  /** True while a key is queued or in progress; delayed keys do not count. */
  get busy(): boolean {
    return this.length > 0 || this.#processing.size > 0;
  }

  /** True while no key is queued, in progress or delayed. */
  get idle(): boolean {
    return !this.busy && this.#timers.size === 0;
  }

  /** `isLowPriority`: for objects of the initial list (`isInInitialList`). */
  add(key: K, isLowPriority = false): void {
    if (this.#stopped) return;
    if (isLowPriority) {
      this.#addLowPriority(key);
      return;
    }
    if (this.#lowPriority.delete(key)) {
      this.#push(key);
      return;
    }
    if (this.#dirty.has(key)) return;
    this.#markDirty(key);
    if (!this.#processing.has(key)) this.#push(key);
  }

  #markDirty(key: K): void {
    this.#dirty.add(key);
    this.#adds++;
    if (!this.#pendingSince.has(key)) this.#pendingSince.set(key, this.#clock.monotonic());
  }

  #addLowPriority(key: K): void {
    if (this.#dirty.has(key)) return;
    this.#markDirty(key);
    if (this.#processing.has(key)) return;
    this.#lowPriority.add(key);
    this.#lowPriorityOrder.push(key);
    this.#requestSlice();
  }

  /** Adds a key after a delay. Of several delays of a key the one that ends first counts, as in client-go. */
  addAfter(key: K, milliseconds: number): void {
    if (this.#stopped) return;
    if (milliseconds <= 0) {
      this.add(key);
      return;
    }
    const at = this.#clock.monotonic() + milliseconds;
    const pending = this.#timers.get(key);
    if (pending !== undefined && pending.at <= at) return;
    pending?.timer.cancel();
    const timer = this.#clock.after(milliseconds, () => {
      this.#timers.delete(key);
      this.add(key);
    });
    this.#timers.set(key, { at, timer });
  }

  /** Requeues a key after a failure, with exponential backoff. */
  addRateLimited(key: K): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.#retries++;
    this.addAfter(key, Math.min(this.#maxDelayMs, this.#baseDelayMs * 2 ** Math.min(failures, 30)));
  }

  /** Consecutive failures of a key. */
  failuresOf(key: K): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Resets the backoff of a key, after a success. */
  forget(key: K): void {
    this.#failures.delete(key);
    this.#pendingSince.delete(key);
    // It was added again meanwhile; that change waits from now on.
    if (this.#dirty.has(key)) this.#pendingSince.set(key, this.#clock.monotonic());
  }

  /** The next key; undefined once the queue is stopped. The caller ends every key with {@link done}. */
  async get(): Promise<K | undefined> {
    const key = this.#next();
    if (key !== undefined) return key;
    if (this.#stopped) return undefined;
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.#requestSlice();
    });
  }

  done(key: K): void {
    this.#processing.delete(key);
    if (this.#dirty.has(key)) this.#push(key);
  }

  /** Ends all {@link get}s; queued keys are dropped. */
  stop(): void {
    this.#stopped = true;
    for (const { timer } of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    this.#queue.clear();
    this.#lowPriority.clear();
    this.#lowPriorityOrder.clear();
    this.#dirty.clear();
    this.#pendingSince.clear();
    for (const resolve of this.#waiters.splice(0)) resolve(undefined);
  }

  #push(key: K): void {
    const waiter = this.#waiters.shift();
    if (waiter === undefined) {
      this.#queue.push(key);
    } else {
      this.#take(key);
      waiter(key);
    }
  }

  #next(): K | undefined {
    if (this.#lowPriority.size === 0) return this.#shift();
    if (++this.#handedOut % lowPriorityShare === 0) return this.#shiftLowPriority();
    return this.#shift() ?? (this.#slices.hasTimeLeft ? this.#shiftLowPriority() : undefined);
  }

  /** Hands a key of low priority to a waiter in the next low-priority slice, and so on while there are both. */
  #requestSlice(): void {
    if (this.#hasRequestedSlice || this.#lowPriority.size === 0 || this.#waiters.length === 0) return;
    this.#hasRequestedSlice = true;
    this.#slices.add(() => {
      this.#hasRequestedSlice = false;
      // A waiter implies that no key of normal priority is queued.
      const key = this.#waiters.length === 0 ? undefined : this.#shiftLowPriority();
      if (key !== undefined) this.#waiters.shift()?.(key);
      this.#requestSlice();
    });
  }

  #shiftLowPriority(): K | undefined {
    for (;;) {
      const key = this.#lowPriorityOrder.shift();
      if (key === undefined) return undefined;
      if (!this.#lowPriority.delete(key)) continue;
      this.#take(key);
      return key;
    }
  }

  #shift(): K | undefined {
    const key = this.#queue.shift();
    if (key !== undefined) this.#take(key);
    return key;
  }

  #take(key: K): void {
    this.#dirty.delete(key);
    this.#processing.add(key);
  }
}

/** A FIFO queue with amortized O(1) shift. */
class Fifo<K> {
  #keys: K[] = [];
  #head = 0;

  get length(): number {
    return this.#keys.length - this.#head;
  }

  push(key: K): void {
    this.#keys.push(key);
  }

  shift(): K | undefined {
    if (this.#head >= this.#keys.length) return undefined;
    const key = this.#keys[this.#head++];
    if (this.#head > 1024 && this.#head * 2 > this.#keys.length) {
      this.#keys = this.#keys.slice(this.#head);
      this.#head = 0;
    }
    return key;
  }

  clear(): void {
    this.#keys = [];
    this.#head = 0;
  }
}
