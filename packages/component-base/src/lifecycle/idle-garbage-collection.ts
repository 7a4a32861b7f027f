import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { type Clock, type Timer, systemClock } from '../clock/clock.ts';
import type { Runnable } from './runnable.ts';

/** Milliseconds between two evaluations. */
const intervalMs = 10_000;
/** The largest share of an interval in which the main thread worked that counts as idle. */
const maxUtilization = 0.1;
/** Garbage is at most what was allocated since the last collection; less than this is not worth one. */
const minGrowthBytes = 4 * 1024 * 1024;
/**
 * Collections after work: caches release what they hold for up to half a minute after the load, and a collection that V8 did
 * not start, or that ended before, does not free that.
 */
const collectionsAfterWork = 5;
/** More than the external memory that V8 lets a small heap allocate before it starts to mark. */
const minPressureBytes = 64 * 1024 * 1024;

export interface IdleGarbageCollectionModules {
  readonly clock?: Clock | undefined;
  /** Bytes that the heap and buffers take, garbage included. */
  readonly used?: (() => number) | undefined;
  /** The share of the time since the last call in which the thread worked. */
  readonly utilization?: (() => number) | undefined;
  /** Makes V8 start an incremental collection; `bytes`: {@link IdleGarbageCollectionModules.used}. */
  readonly collect?: ((bytes: number) => void) | undefined;
}

/**
 * Starts a garbage collection when the process has become idle after work.
 *
 * V8 collects when a process allocates, so the garbage of a load would stay until the next load: what the load left in the old
 * generation, and the buffers that caches released later. Every ten seconds: if more memory is in use than at the last
 * collection of this class, five collections are due. If one is due and the thread was idle, V8 is made to start it,
 * incrementally and with concurrent marking. Its memory reducer follows with further ones, which return free pages to the
 * operating system. The start counts as growth from nothing.
 */
export class IdleGarbageCollection implements Runnable {
  readonly name = 'idle-garbage-collection';
  readonly #clock: Clock;
  readonly #used: () => number;
  readonly #utilization: () => number;
  readonly #collect: (bytes: number) => void;
  #timer: Timer | undefined;
  /** The least that was in use since the last growth. */
  #floor = 0;
  /** Collections that are due. */
  #due = 0;

  constructor(modules: IdleGarbageCollectionModules = {}) {
    this.#clock = modules.clock ?? systemClock;
    this.#used = modules.used ?? usedBytes;
    this.#utilization = modules.utilization ?? utilizationSinceLastCall();
    this.#collect = modules.collect ?? pressV8;
  }

  start(): Promise<void> {
    this.#timer = this.#clock.after(intervalMs, () => {
      this.#evaluate();
      void this.start();
    });
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#timer?.cancel();
    return Promise.resolve();
  }

  #evaluate(): void {
    const isIdle = this.#utilization() <= maxUtilization;
    const used = this.#used();
    if (used - this.#floor >= minGrowthBytes) {
      this.#floor = used;
      this.#due = collectionsAfterWork;
    } else this.#floor = Math.min(this.#floor, used);
    if (!isIdle || this.#due === 0) return;
    this.#due--;
    this.#collect(used);
  }
}

function usedBytes(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

/** Processor time: a thread that waits for a processor is not at work, but its event loop counts as active. */
function utilizationSinceLastCall(): () => number {
  let at = performance.now();
  let worked = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(worked);
    const elapsedMs = performance.now() - at;
    at += elapsedMs;
    worked = process.threadCpuUsage();
    return (user + system) / 1000 / elapsedMs;
  };
}

/**
 * V8 starts an incremental collection when external memory grows beyond a limit. A buffer that is never touched takes
 * address space only. The collections that `--expose-gc` offers stop the process for all of their time. V8 reads
 * `--optimize-for-size` when it starts a collection: it then compacts all pages and returns those that it would keep in its pool.
 * The flag is reset at once, because it would also limit the memory of later work.
 */
function pressV8(bytes: number): void {
  setFlagsFromString('--optimize-for-size');
  try {
    void new ArrayBuffer(Math.max(minPressureBytes, bytes));
  } catch (error) {
    // No address space: memory is limited by other means.
    if (!(error instanceof RangeError)) throw error;
  } finally {
    setFlagsFromString('--no-optimize-for-size');
  }
}
