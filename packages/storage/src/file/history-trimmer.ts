import { setImmediate as nextTurn } from 'node:timers/promises';
import { FutureRevisionError } from '../errors.ts';
import type { LogWriter } from './log-writer.ts';
import type { Merger } from './merger.ts';
import type { State } from './state.ts';

export interface HistoryTrimmerOptions {
  readonly now: () => number;
  /** How long history is kept, and how many bytes of it. */
  readonly keepMs: number;
  readonly maxBytes: number;
  readonly onTrimmed: () => void;
}

export interface HistoryTrimmerModules {
  readonly state: State;
  readonly writer: LogWriter;
  readonly merger: Merger;
}

/** Changes that are forgotten in one turn of the event loop. */
const changesPerTurn = 5000;
/** How fine the times of revisions are known. */
const sampleMs = 1000;
const sampleBytes = 1 << 20;

/** What a change takes in memory. */
const changeBytes = 100;

/** What the history keeps of a change: a place in memory, and the record that was replaced. */
export function heldBytes(key: string, replaced: number): number {
  return changeBytes + key.length + replaced;
}

interface Sample {
  readonly revision: number;
  readonly at: number;
  /** Bytes of history that were written up to here. */
  readonly bytes: number;
}

/**
 * Forgets history: what is older than `keepMs`, and the oldest part when there are more than `maxBytes`. How old is what
 * was there when the store was opened, nobody knows: it counts from then on, so that whoever had begun something before a
 * restart, or loads the store after it, finds the history in place.
 *
 * First the new oldest revision becomes durable, so that no later process shows a history with holes; then the changes up
 * to it are dropped, and with each the record that it had replaced. When much of the files is garbage then, they are merged.
 */
export class HistoryTrimmer {
  readonly #options: HistoryTrimmerOptions;
  readonly #state: State;
  readonly #writer: LogWriter;
  readonly #merger: Merger;
  readonly #timer: NodeJS.Timeout;
  readonly #samples: Sample[] = [];
  #written = 0;
  #work: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: HistoryTrimmerOptions, { state, writer, merger }: HistoryTrimmerModules) {
    this.#options = options;
    this.#state = state;
    this.#writer = writer;
    this.#merger = merger;
    this.#adopt();
    const interval = Math.max(50, Math.min(10_000, options.keepMs / 5));
    this.#timer = setInterval(() => this.#onTime(), interval).unref();
  }

  /** Counts the history that is there, as {@link wrote} would have. */
  #adopt(): void {
    const { history } = this.#state;
    const at = this.#options.now();
    this.#samples.push({ revision: history.oldest, at, bytes: 0 });
    let sampled = 0;
    history.weigh((revision, keyLength, replaced) => {
      this.#written += changeBytes + keyLength + replaced;
      if (this.#written - sampled < sampleBytes) return;
      sampled = this.#written;
      this.#samples.push({ revision, at, bytes: sampled });
    });
    this.#sample();
  }

  /** So many bytes of history were written. */
  wrote(bytes: number): void {
    this.#written += bytes;
    const last = this.#samples.at(-1);
    if (last === undefined || this.#written - last.bytes >= sampleBytes || this.#options.now() - last.at >= sampleMs) {
      this.#sample();
      if (this.#kept() > this.#options.maxBytes) this.#onTime();
    }
  }

  /** Forgets what is older than the revision; resolves when that is done and the room is given back. */
  async compact(revision: number): Promise<void> {
    if (revision > this.#state.revision) throw new FutureRevisionError(revision, this.#state.revision);
    await this.#queue(async () => {
      await this.#trim(revision);
      await this.#merger.mergeIfSparse(0.3);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#work;
  }

  #onTime(): void {
    this.#sample();
    const { now, keepMs, maxBytes } = this.#options;
    const old = this.#samples.findLastIndex(({ at }) => at <= now() - keepMs);
    // Half of the allowance goes at once, so that the next write does not bring the next trimming.
    const heavy =
      this.#kept() > maxBytes ? this.#samples.findIndex(({ bytes }) => this.#written - bytes <= maxBytes / 2) : 0;
    const keep = Math.max(old, heavy, 0);
    const target = (this.#samples[keep] as Sample).revision;
    this.#samples.splice(0, keep);
    if (target <= this.#state.history.oldest) return;
    const work = this.#queue(async () => {
      await this.#trim(target);
      await this.#merger.mergeIfSparse();
    });
    // A failure is the store's as a whole, which writers and readiness see; the next time tries again.
    work.catch(() => undefined);
  }

  #kept(): number {
    return this.#written - (this.#samples[0]?.bytes ?? 0);
  }

  #sample(): void {
    this.#samples.push({ revision: this.#state.revision, at: this.#options.now(), bytes: this.#written });
  }

  /** One piece of work after the other. */
  #queue(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(() => (this.#closed ? undefined : work()));
    this.#work = done.catch(() => undefined);
    return done;
  }

  async #trim(revision: number): Promise<void> {
    const { history } = this.#state;
    if (revision <= history.oldest) return;
    await this.#writer.forget(revision);
    while (history.oldest < revision) {
      history.trim(revision, changesPerTurn);
      this.#options.onTrimmed();
      await nextTurn();
    }
  }
}
