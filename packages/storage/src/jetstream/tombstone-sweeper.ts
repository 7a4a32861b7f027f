import { StreamFollower } from './stream-follower.ts';
import type { WatchFailureReporter } from '../watch-failure-reporter.ts';
import type { StreamClient } from './stream-client.ts';
import type { Watermark, CompactionWatermark } from './compaction-watermark.ts';
import { recordOf } from './stream-records.ts';
import type { StreamSubjects } from './stream-subjects.ts';

export interface TombstoneSweeperOptions {
  /** Milliseconds between sweeps; 0: another component sweeps. */
  readonly intervalMs: number;
  /** Milliseconds for which a tombstone is kept at least. */
  readonly keepMs: number;
}

/** Maximum number of tombstones per sweep; the next sweep continues. */
const tombstonesPerSweep = 20_000;
/** Consecutive consumers without a message before a sweep gives up. */
const attempts = 3;
/** Concurrent removals. */
const parallel = 32;

/**
 * Removes tombstones that all readers have had time to see; of all processes that share a stream, one sweeps at a time.
 *
 *   1. scan    the headers of all messages after `swept` that are old enough, for tombstones
 *   2. raise   the watermark to the last of them, by compare-and-set: a process that fails stops. From now on no watch can
 *              resume from below.
 *   3. remove  each tombstone by its sequence, so that a key that was created again is not affected
 *   4. settle  set `swept` to the end of the scan. After a crash before this step the next sweep scans again.
 */
export class TombstoneSweeper {
  readonly #options: TombstoneSweeperOptions;
  readonly #client: StreamClient;
  readonly #watermark: CompactionWatermark;
  readonly #subjects: StreamSubjects;
  readonly #watchFailures: WatchFailureReporter;
  readonly #now: () => number;
  /** Stops the periodic sweeps. */
  readonly close: () => void;

  constructor(
    options: TombstoneSweeperOptions,
    modules: {
      readonly client: StreamClient;
      readonly watermark: CompactionWatermark;
      readonly subjects: StreamSubjects;
      readonly watchFailures: WatchFailureReporter;
      readonly now: () => number;
    },
  ) {
    this.#options = options;
    this.#client = modules.client;
    this.#watermark = modules.watermark;
    this.#subjects = modules.subjects;
    this.#watchFailures = modules.watchFailures;
    this.#now = modules.now;
    this.close = modules.watchFailures.runPeriodically(
      options.intervalMs,
      () => this.sweepOnce(),
      modules.client.closed.signal,
    );
  }

  /** Returns the number of removed tombstones. */
  async sweepOnce(): Promise<number> {
    const known = await this.#watermark.read();
    if (this.#now() - known.time < this.#options.intervalMs) return 0;
    const { tombstones, end } = await this.#scan(known);
    if (end === known.swept) return 0;
    const compacted = Math.max(known.compacted, tombstones.at(-1) ?? 0);
    if (tombstones.length > 0 && !(await this.#watermark.write(known, { compacted, swept: known.swept }))) return 0;
    let removed = 0;
    for (let i = 0; i < tombstones.length; i += parallel) {
      const results = await Promise.all(tombstones.slice(i, i + parallel).map((sequence) => this.#remove(sequence)));
      removed += results.filter(Boolean).length;
    }
    const raised = await this.#watermark.read();
    await this.#watermark.write(raised, { compacted: raised.compacted, swept: Math.max(raised.swept, end) });
    return removed;
  }

  #remove(sequence: number): Promise<boolean> {
    return this.#client.read(() => this.#client.remove(sequence));
  }

  /** The expired tombstones after `swept`, and the sequence up to which these are all. */
  async #scan({
    swept,
    compacted,
  }: Watermark): Promise<{ readonly tombstones: readonly number[]; readonly end: number }> {
    const oldest = this.#now() - this.#options.keepMs;
    const tombstones: number[] = [];
    let end = swept;
    const { signal } = new AbortController();
    const { state } = await this.#client.info();
    const follower = new StreamFollower(
      {
        after: swept,
        acceptedDeletes: compacted,
        filter: this.#subjects.all,
        target: state.last_seq,
        headersOnly: true,
        attempts,
        signal,
      },
      { client: this.#client, watermark: this.#watermark, watchFailures: this.#watchFailures },
    );
    for await (const { messages, complete } of follower.batches()) {
      for (const message of messages) {
        if (message.time > oldest || tombstones.length === tombstonesPerSweep) return { tombstones, end };
        // The watermark message is rewritten by every sweep: it alone must not cause one.
        if (message.subject !== this.#subjects.watermark) end = message.sequence;
        if (recordOf(message).removed) tombstones.push(message.sequence);
      }
      if (complete) break;
    }
    return { tombstones, end };
  }
}
