import { StreamFollower } from './stream-follower.ts';
import type { Interruptions } from '../interruptions.ts';
import type { StreamClient } from './stream-client.ts';
import type { Floor, StreamFloor } from './stream-floor.ts';
import { recordOf } from './stream-records.ts';
import type { StreamSubjects } from './stream-subjects.ts';

export interface TombstoneSweeperOptions {
  /** Between two looks; 0: somebody else sweeps. */
  readonly intervalMs: number;
  /** How long a tombstone stands at least. */
  readonly keepMs: number;
}

/** Tombstones removed in one turn at most; the next turn goes on. */
const tombstonesPerTurn = 20_000;
/** Readers in a row that bring nothing; the next turn looks again. */
const attempts = 3;
/** Removals under way at the same time. */
const parallel = 32;

/**
 * Removes tombstones that everybody has had time to see, as the only one of however many processes share the stream.
 *
 *   1. look     headers of everything above `swept`, up to what is too young, for tombstones
 *   2. raise    the floor to the last of them, by compare-and-set: who fails has been overtaken and stops. From now on
 *               nobody continues a watch from below.
 *   3. remove   each by its sequence, so a key that has come back is not touched
 *   4. settle   `swept` becomes the place where the look ended. A sweeper that died before this is followed by one that
 *               looks again.
 */
export class TombstoneSweeper {
  readonly #options: TombstoneSweeperOptions;
  readonly #client: StreamClient;
  readonly #floor: StreamFloor;
  readonly #subjects: StreamSubjects;
  readonly #interruptions: Interruptions;
  readonly #now: () => number;
  /** No further turns. */
  readonly close: () => void;

  constructor(
    options: TombstoneSweeperOptions,
    modules: {
      readonly client: StreamClient;
      readonly floor: StreamFloor;
      readonly subjects: StreamSubjects;
      readonly interruptions: Interruptions;
      readonly now: () => number;
    },
  ) {
    this.#options = options;
    this.#client = modules.client;
    this.#floor = modules.floor;
    this.#subjects = modules.subjects;
    this.#interruptions = modules.interruptions;
    this.#now = modules.now;
    this.close = modules.interruptions.everyInterval(
      options.intervalMs,
      () => this.turn(),
      modules.client.closed.signal,
    );
  }

  /** One turn; returns how many tombstones it removed. */
  async turn(): Promise<number> {
    const known = await this.#floor.read();
    if (this.#now() - known.time < this.#options.intervalMs) return 0;
    const { tombstones, end } = await this.#look(known);
    if (end === known.swept) return 0;
    const floor = Math.max(known.floor, tombstones.at(-1) ?? 0);
    if (tombstones.length > 0 && !(await this.#floor.write(known, { floor, swept: known.swept }))) return 0;
    let removed = 0;
    for (let i = 0; i < tombstones.length; i += parallel) {
      const results = await Promise.all(tombstones.slice(i, i + parallel).map((sequence) => this.#remove(sequence)));
      removed += results.filter(Boolean).length;
    }
    const raised = await this.#floor.read();
    await this.#floor.write(raised, { floor: raised.floor, swept: Math.max(raised.swept, end) });
    return removed;
  }

  #remove(sequence: number): Promise<boolean> {
    return this.#client.read(() => this.#client.remove(sequence));
  }

  /** Tombstones from `swept` on that are old enough, and up to where that is all of them. */
  async #look({ swept, floor }: Floor): Promise<{ readonly tombstones: readonly number[]; readonly end: number }> {
    const oldest = this.#now() - this.#options.keepMs;
    const tombstones: number[] = [];
    let end = swept;
    const { signal } = new AbortController();
    const { state } = await this.#client.info();
    const follower = new StreamFollower(
      {
        after: swept,
        settled: floor,
        filter: this.#subjects.all,
        target: state.last_seq,
        headersOnly: true,
        attempts,
        signal,
      },
      { client: this.#client, floor: this.#floor, interruptions: this.#interruptions },
    );
    for await (const { messages, complete } of follower.batches()) {
      for (const message of messages) {
        if (message.time > oldest || tombstones.length === tombstonesPerTurn) return { tombstones, end };
        // The floor moves on with every turn: alone it is no reason for one.
        if (message.subject !== this.#subjects.floor) end = message.sequence;
        if (recordOf(message).removed) tombstones.push(message.sequence);
      }
      if (complete) break;
    }
    return { tombstones, end };
  }
}
