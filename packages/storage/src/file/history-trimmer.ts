import { FutureRevisionError } from '../errors.ts';
import type { Committer } from './committer.ts';
import type { DataFile } from './data-file.ts';
import { decodeLogRecord } from './log-record.ts';
import type { RoomGuard } from './room-guard.ts';
import { empty } from './tables.ts';

export interface HistoryTrimmerOptions {
  readonly file: DataFile;
  readonly committer: Committer;
  readonly room: RoomGuard;
  readonly oldest: number;
  readonly now: () => number;
  /** How long history is kept, and how many bytes of it. */
  readonly keepMs: number;
  readonly maxBytes: number;
  readonly onTrimmed: () => void;
}

/** Entries of the log that one commit drops. */
const entriesPerCommit = 500;
/** How fine the times of revisions are known. */
const sampleMs = 1000;
const sampleBytes = 1 << 20;
/** A file below this is never worth a rewrite; a rewrite above that would hold up writers for too long. */
const rewriteAboveBytes = 1 << 20;
const rewriteBelowLiveBytes = 128 << 20;

interface Sample {
  readonly revision: number;
  readonly at: number;
  /** Bytes of history that were written up to here. */
  readonly bytes: number;
}

/**
 * Forgets history: what is older than `keepMs`, and the oldest part when there are more than `maxBytes`.
 *
 * First the new oldest revision becomes durable, from then on nobody reads below it; then the log up to it is dropped, a
 * few hundred entries with each commit, and with every entry the value that it had replaced. A crash in between leaves
 * entries below `oldest`, which the next start drops. When little of the file is live afterwards it is rewritten.
 */
export class HistoryTrimmer {
  readonly #options: HistoryTrimmerOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #samples: Sample[] = [];
  #oldest: number;
  #written = 0;
  #work: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: HistoryTrimmerOptions) {
    this.#options = options;
    this.#oldest = options.oldest;
    this.#sample();
    const interval = Math.max(50, Math.min(10_000, options.keepMs / 5));
    this.#timer = setInterval(() => this.#onTime(), interval).unref();
  }

  /** The oldest revision that can be read. */
  get oldest(): number {
    return this.#oldest;
  }

  /** So many bytes were written. */
  wrote(bytes: number): void {
    this.#written += bytes;
    const last = this.#samples.at(-1);
    if (last === undefined || this.#written - last.bytes >= sampleBytes || this.#options.now() - last.at >= sampleMs) {
      this.#sample();
      if (this.#kept() > this.#options.maxBytes) this.#onTime();
    }
  }

  /** Forgets what is older than the revision; resolves when that is done. */
  async compact(revision: number): Promise<void> {
    const { revision: current } = this.#options.committer;
    if (revision > current) throw new FutureRevisionError(revision, current);
    await this.#queue(() => this.#trim(revision));
  }

  /** Drops what an earlier process had begun to drop. */
  async resume(): Promise<void> {
    await this.#queue(async () => {
      await this.#dropEntries();
      await this.#rewriteIfSparse();
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
    // A failure is the store's as a whole, which writers and readiness see; the next time tries again.
    if (target > this.#oldest) this.#queue(() => this.#trim(target)).catch(() => undefined);
  }

  #kept(): number {
    return this.#written - (this.#samples[0]?.bytes ?? 0);
  }

  #sample(): void {
    const sample = { revision: this.#options.committer.revision, at: this.#options.now(), bytes: this.#written };
    this.#samples.push(sample);
  }

  /** One piece of work after the other. */
  #queue(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(() => (this.#closed ? undefined : work()));
    this.#work = done.catch(() => undefined);
    return done;
  }

  async #trim(revision: number): Promise<void> {
    if (revision <= this.#oldest) return;
    const { file, committer } = this.#options;
    await committer.chore(() => void file.tables.meta.put('oldest', empty, revision));
    this.#oldest = revision;
    this.#options.onTrimmed();
    await this.#dropEntries();
    await this.#rewriteIfSparse();
  }

  async #dropEntries(): Promise<void> {
    while (!this.#closed && (await this.#dropSome()) === entriesPerCommit);
  }

  /** Drops with one commit; returns how many. */
  async #dropSome(): Promise<number> {
    const { file, committer } = this.#options;
    let dropped = 0;
    await committer.chore(() => {
      const { log, versions } = file.tables;
      const entries = [...log.getRange({ start: 0, end: this.#oldest + 1, limit: entriesPerCommit })];
      for (const { key: revision, value } of entries) {
        const { previous, key } = decodeLogRecord(value);
        if (previous !== 0) void versions.remove({ key, revision: previous });
        void log.remove(revision);
      }
      dropped = entries.length;
    });
    return dropped;
  }

  async #rewriteIfSparse(): Promise<void> {
    const { file, committer, room } = this.#options;
    const { file: bytes, live } = await file.size();
    if (this.#closed || bytes < rewriteAboveBytes || bytes < 2 * live || live > rewriteBelowLiveBytes) return;
    // Both files stand side by side for a moment.
    if (room.freeBytes() < 2 * live) return;
    await committer.exclusively(() => file.rewrite());
  }
}
