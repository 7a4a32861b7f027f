import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { FutureRevisionError } from '../errors.ts';
import type { LogWriter } from './log-writer.ts';
import type { SegmentCompactor } from './segment-compactor.ts';
import type { StoreState } from './store-state.ts';

export interface HistoryTrimmerOptions {
  readonly now: () => number;
  /** Limits of the history: age in milliseconds, and bytes. */
  readonly keepMs: number;
  readonly maxBytes: number;
  readonly onTrimmed: () => void;
}

export interface HistoryTrimmerModules {
  readonly state: StoreState;
  readonly writer: LogWriter;
  readonly compactor: SegmentCompactor;
}

/** Changes that are dropped between two yields to the event loop. */
const changesPerSlice = 5000;
/** Resolution of the times and sizes of revisions. */
const sampleMs = 1000;
const sampleBytes = 1 << 20;

/** The time over which the rate of writes is measured. */
const rateMs = 20_000;
/** History of a store without writes that is kept for all of `keepMs`. */
const quietBytes = 4 << 20;

/** Memory of a change, in bytes. */
const changeBytes = 100;

/** Bytes that the history retains for a change: its memory and the replaced record. */
export function retainedBytes(key: string, replaced: number): number {
  return changeBytes + key.length + replaced;
}

interface Sample {
  readonly revision: number;
  readonly at: number;
  /** Bytes of history that were written up to this revision. */
  readonly bytes: number;
}

/**
 * Drops history that is older than `keepMs`, and the oldest part of more than `maxBytes`. The age of history from before
 * a restart is unknown: it counts from the restart, so that clients that resume a watch or a paged list, and the load of
 * the watch cache, find it. After a load, history is dropped earlier: what exceeds the bytes that the current rate of writes makes in
 * `keepMs`, as the watch cache does with its events (`EventWindow`), because each change takes memory.
 *
 *   1. the new oldest revision is written durably, so that no later process serves a history with gaps
 *   2. the changes up to it are dropped, and the records that they replaced become dead
 *   3. segments with much dead data are compacted
 */
export class HistoryTrimmer {
  readonly #options: HistoryTrimmerOptions;
  readonly #state: StoreState;
  readonly #writer: LogWriter;
  readonly #compactor: SegmentCompactor;
  readonly #timer: NodeJS.Timeout;
  readonly #samples: Sample[] = [];
  #written = 0;
  #work: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: HistoryTrimmerOptions, { state, writer, compactor }: HistoryTrimmerModules) {
    this.#options = options;
    this.#state = state;
    this.#writer = writer;
    this.#compactor = compactor;
    this.#adopt();
    const interval = Math.max(50, Math.min(10_000, options.keepMs / 5));
    this.#timer = setInterval(() => this.#onTime(), interval).unref();
  }

  /** Accounts for the history from before the restart, as {@link wrote} does for new writes. */
  #adopt(): void {
    const { history } = this.#state;
    const at = this.#options.now();
    this.#samples.push({ revision: history.oldest, at, bytes: 0 });
    let sampled = 0;
    history.forEachSize((revision, keyLength, replaced) => {
      this.#written += changeBytes + keyLength + replaced;
      if (this.#written - sampled < sampleBytes) return;
      sampled = this.#written;
      this.#samples.push({ revision, at, bytes: sampled });
    });
    this.#sample();
  }

  /** Accounts for this many bytes of new history. */
  wrote(bytes: number): void {
    this.#written += bytes;
    const last = this.#samples.at(-1);
    if (last === undefined || this.#written - last.bytes >= sampleBytes || this.#options.now() - last.at >= sampleMs) {
      this.#sample();
      if (this.#kept() > this.#options.maxBytes) this.#onTime();
    }
  }

  /** Drops the history up to a revision; resolves when its disk space is reclaimed. */
  async compact(revision: number): Promise<void> {
    if (revision > this.#state.revision) throw new FutureRevisionError(revision, this.#state.revision);
    await this.#queue(async () => {
      await this.#trim(revision);
      await this.#compactor.compactIfSparse(0.3);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#work;
  }

  #onTime(): void {
    this.#sample();
    const { now, keepMs } = this.#options;
    const maxBytes = this.#limit();
    const old = this.#samples.findLastIndex(({ at }) => at <= now() - keepMs);
    // Drops to half of the limit, so that the next write does not start the next trim.
    const heavy =
      this.#kept() > maxBytes ? this.#samples.findIndex(({ bytes }) => this.#written - bytes <= maxBytes / 2) : 0;
    const keep = Math.max(old, heavy, 0);
    const target = (this.#samples[keep] as Sample).revision;
    this.#samples.splice(0, keep);
    if (target <= this.#state.history.oldest) return;
    const work = this.#queue(async () => {
      await this.#trim(target);
      await this.#compactor.compactIfSparse();
    });
    // Writers and readiness report the failure of the disk; the next run retries.
    work.catch(() => undefined);
  }

  /** Bytes of history to keep at the current rate of writes. */
  #limit(): number {
    const { now, keepMs, maxBytes } = this.#options;
    const before = this.#samples.findLast(({ at }) => at <= now() - rateMs);
    // A store that is younger, or that has just been opened.
    if (before === undefined) return maxBytes;
    // To half of the limit, as for `maxBytes`: twice the rate is kept.
    const rate = (2 * (this.#written - before.bytes)) / Math.max(rateMs, now() - before.at);
    return Math.min(maxBytes, Math.max(2 * quietBytes, rate * keepMs));
  }

  #kept(): number {
    return this.#written - (this.#samples[0]?.bytes ?? 0);
  }

  #sample(): void {
    this.#samples.push({ revision: this.#state.revision, at: this.#options.now(), bytes: this.#written });
  }

  /** Serializes trims. */
  #queue(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(() => (this.#closed ? undefined : work()));
    this.#work = done.catch(() => undefined);
    return done;
  }

  async #trim(revision: number): Promise<void> {
    const { history } = this.#state;
    if (revision <= history.oldest) return;
    await this.#writer.recordCompaction(revision);
    while (history.oldest < revision) {
      history.trim(revision, changesPerSlice);
      this.#options.onTrimmed();
      await yieldToEventLoop();
    }
  }
}
